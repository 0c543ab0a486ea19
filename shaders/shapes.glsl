// SPDX-License-Identifier: MIT
// Draws coloured shapes in space: boxes of the tree and the ray under the mouse as lines; the
// triangles of a node and its plane, each lit by its normal as seen from the eye.
#ifdef VERTEX
uniform mat4 to_clip;
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 colour;
out vec4 shape_colour;
out vec3 place;
void main() {
  shape_colour = colour;
  place = position;
  gl_Position = to_clip * vec4(position, 1.0);
}
#endif
#ifdef FRAGMENT
uniform float opacity;
uniform bool lit;
in vec4 shape_colour;
in vec3 place;
out vec4 colour;
void main() {
  vec3 normal = cross(dFdx(place), dFdy(place));
  float size = length(normal);
  normal = size > 0.0 ? normal / size : vec3(0.0, 1.0, 0.0);
  float light = lit ? 0.62 + 0.38 * abs(dot(normal, normalize(vec3(0.45, 0.75, 0.48)))) : 1.0;
  colour = vec4(shape_colour.rgb * light, shape_colour.a * opacity);
}
#endif
