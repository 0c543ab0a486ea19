// SPDX-License-Identifier: MIT
// The frames of a scene for the Live tab: one mesh for a still scene, another one in each frame of
// a moving one (scenes/moving/).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/prepared_scene.hpp"
#include "scenes/mesh.hpp"

namespace heapwood::viewer {

class FrameSource {
 public:
  virtual ~FrameSource() = default;
  // Makes the mesh of a frame and copies it to the device; frames are shown over and over.
  virtual void advance(std::uint64_t number) = 0;
  virtual bool moves() const = 0;
  virtual std::string name() const = 0;
  // Of the current frame.
  virtual const scenes::Mesh& mesh() const = 0;
  virtual kdtree::Workspace& workspace() = 0;
  // Enlarges an automatic pool; false: the pool is fixed or at its limit.
  virtual bool enlarge_pool() = 0;
};

// Whether a source is a moving scene.
bool is_moving(const std::string& source);
// The scene of builds outside Live: the source itself, the first file of a sequence, the statue
// that stands; "" for a moving scene without a still one.
std::string still_source(const std::string& source);

// Loads the scene with its colours; its first frame is current. Throws what the loaders throw.
std::unique_ptr<FrameSource> open_frames(const std::string& source, const simt::DeviceInfo& device,
                                         const bench::BuildSettings& settings,
                                         const bench::PoolNeeds& needs);

}  // namespace heapwood::viewer
