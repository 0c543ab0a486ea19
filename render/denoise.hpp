// SPDX-License-Identifier: MIT
// Removes noise from pictures with few samples: an a-trous wavelet filter that stops at edges of
// albedo, normal and distance (Dammertz et al. 2010, "Edge-avoiding A-trous wavelet transform"),
// with the tolerance for brightness from the local variance (Schied et al. 2017, "Spatiotemporal
// variance-guided filtering", section 4.3; without its temporal part). Light is filtered without
// the albedo, so that textures stay sharp. Limit: what differs in light alone, such as a sharp
// shadow, gets a little softer.
#pragma once

#include "render/renderer.hpp"

namespace heapwood::render {

// Pictures of the same view without noise.
struct Guides {
  Film albedo, normals, depth;
};
Guides render_guides(const RenderJob& job, const Scene& scene);

// On CPU threads; 0: one per hardware thread. The result counts as one sample per pixel.
Film denoise(const Film& noisy, const Guides& guides, int threads = 0);

}  // namespace heapwood::render
