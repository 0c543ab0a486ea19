// SPDX-License-Identifier: MIT
// Coloured lines in space: boxes of the tree, the ray under the mouse.
#ifdef VERTEX
uniform mat4 to_clip;
layout(location = 0) in vec3 position;
layout(location = 1) in vec4 colour;
out vec4 line_colour;
void main() {
  line_colour = colour;
  gl_Position = to_clip * vec4(position, 1.0);
}
#endif
#ifdef FRAGMENT
in vec4 line_colour;
out vec4 colour;
void main() { colour = line_colour; }
#endif
