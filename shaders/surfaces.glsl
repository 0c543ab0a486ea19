// SPDX-License-Identifier: MIT
// Coloured triangles in space: those of a node of the tree, and its plane. Each is lit by its
// normal, as seen from the eye.
#ifdef VERTEX
uniform mat4 to_clip;
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 colour;
out vec4 surface_colour;
out vec3 place;
void main() {
  surface_colour = colour;
  place = position;
  gl_Position = to_clip * vec4(position, 1.0);
}
#endif
#ifdef FRAGMENT
uniform float opacity;
in vec4 surface_colour;
in vec3 place;
out vec4 colour;
void main() {
  vec3 normal = cross(dFdx(place), dFdy(place));
  float size = length(normal);
  normal = size > 0.0 ? normal / size : vec3(0.0, 1.0, 0.0);
  float light = 0.62 + 0.38 * abs(dot(normal, normalize(vec3(0.45, 0.75, 0.48))));
  colour = vec4(surface_colour.rgb * light, surface_colour.a * opacity);
}
#endif
