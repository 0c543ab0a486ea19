// SPDX-License-Identifier: MIT
#include "viewer/frame_source.hpp"

#include "bench/animate_scene.hpp"
#include "scenes/moving/moving_scene.hpp"

namespace heapwood::viewer {

namespace {

class StillFrames final : public FrameSource {
 public:
  StillFrames(const std::string& source, const simt::DeviceInfo& device,
              const bench::BuildSettings& settings, const bench::PoolNeeds& needs)
      : scene_(source, device, settings, needs, scenes::Content::materials) {}
  void advance(std::uint64_t) override {}
  bool moves() const override { return false; }
  std::string name() const override { return scene_.name(); }
  const scenes::Mesh& mesh() const override { return scene_.mesh(); }
  kdtree::Workspace& workspace() override { return scene_.workspace(); }
  bool enlarge_pool() override { return scene_.enlarge_pool(); }

 private:
  bench::PreparedScene scene_;
};

class MovingFrames final : public FrameSource {
 public:
  MovingFrames(const std::string& source, const simt::DeviceInfo& device,
               const bench::BuildSettings& settings, const bench::PoolNeeds& needs)
      : name_(scenes::moving_label(source)), scene_(source, device, settings, needs) {
    advance(0);
  }
  void advance(std::uint64_t number) override {
    scene_.prepare(static_cast<unsigned>(number % scene_.frames()));
    scene_.upload();
  }
  bool moves() const override { return scene_.frames() > 1; }
  std::string name() const override { return name_; }
  const scenes::Mesh& mesh() const override { return scene_.mesh(); }
  kdtree::Workspace& workspace() override { return scene_.workspace(); }
  bool enlarge_pool() override { return scene_.enlarge_pool(); }

 private:
  std::string name_;
  bench::AnimateScene scene_;
};

}  // namespace

bool is_moving(const std::string& source) { return scenes::moving_frames(source) > 1; }

std::string still_source(const std::string& source) {
  if (!is_moving(source)) return source;
  if (const std::vector<std::string> files = scenes::moving_files(source); !files.empty())
    return files.front();
  constexpr std::string_view statue = "statue~";
  if (source.compare(0, statue.size(), statue) == 0) return "statue" + source.substr(statue.size());
  return "";
}

std::unique_ptr<FrameSource> open_frames(const std::string& source, const simt::DeviceInfo& device,
                                         const bench::BuildSettings& settings,
                                         const bench::PoolNeeds& needs) {
  if (is_moving(source)) return std::make_unique<MovingFrames>(source, device, settings, needs);
  return std::make_unique<StillFrames>(source, device, settings, needs);
}

}  // namespace heapwood::viewer
