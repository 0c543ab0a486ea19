// SPDX-License-Identifier: MIT
// Draws the picture over the whole viewport, with one triangle. Texture rows start at the top.
#ifdef VERTEX
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0);
  place = vec2(0.5 + 0.5 * corner.x, 0.5 - 0.5 * corner.y);
  gl_Position = vec4(corner, 0.0, 1.0);
}
#endif
#ifdef FRAGMENT
uniform sampler2D picture;
in vec2 place;
out vec4 colour;
void main() { colour = vec4(texture(picture, place).rgb, 1.0); }
#endif
