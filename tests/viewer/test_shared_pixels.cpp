// SPDX-License-Identifier: MIT
// Pictures that reach OpenGL without a copy through the host: the decision whether to share, the
// pixels, and the fallback to copying. With HEAPWOOD_TEST_DEVICE=cuda:N and a driver whose EGL
// lists that GPU the tests use CUDA's interoperation with OpenGL, otherwise a buffer that the CPU
// writes.
#include <epoxy/gl.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "render/film.hpp"
#include "scenes/scene.hpp"
#include "tests/render/trees.hpp"
#include "tests/viewer/gl_context.hpp"
#include "viewer/picture.hpp"

namespace heapwood::viewer {

namespace {

simt::DeviceInfo device_to_test() {
  const char* key = std::getenv("HEAPWOOD_TEST_DEVICE");
  return simt::find_device(key ? key : "cpu", 2);
}

simt::DeviceInfo gpu(int index) {
  simt::DeviceInfo info;
  info.id = {simt::DeviceKind::cuda, index, 0};
  info.key = "cuda:" + std::to_string(index);
  return info;
}

TEST(CopyReason, NamesTheGpuOfOpenGl) {
  const auto on = [](simt::GlDevices devices) { return [devices] { return devices; }; };
  EXPECT_EQ(copy_reason(gpu(1), "NVIDIA Corporation", "NVIDIA L4/PCIe", on({{0, 1}, ""})), "");
  EXPECT_EQ(copy_reason(gpu(2), "NVIDIA Corporation", "NVIDIA L4/PCIe", on({{0, 1}, ""})),
            "OpenGL runs on NVIDIA L4/PCIe, not on cuda:2");
  EXPECT_EQ(copy_reason(gpu(0), "NVIDIA Corporation", "NVIDIA L4/PCIe", on({{}, "no context"})),
            "cuda:0 cannot find OpenGL's GPU: no context");
  // CUDA is not queried if the context is of another vendor.
  const auto asked = []() -> simt::GlDevices { throw std::logic_error("asked"); };
  EXPECT_EQ(copy_reason(gpu(0), "Mesa", "llvmpipe (LLVM 15)", asked),
            "OpenGL runs on llvmpipe (LLVM 15), not on cuda:0");
  EXPECT_NE(copy_reason(simt::find_device("cpu", 1), "Mesa", "llvmpipe", asked), "");
}

// A buffer in host memory, shared like a GPU's, with the CPU as the device.
class HostBuffer : public simt::GlBuffer {
 public:
  HostBuffer(unsigned buffer, int maps) : buffer_(buffer), maps_(maps) {}
  ~HostBuffer() override {
    if (mapped_) unmap();
  }
  void* map() override {
    if (maps_-- == 0) throw Error(Exit::failed, "mapping fails on purpose");
    mapped_ = true;
    waited_ = false;
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer_);
    void* memory = glMapBuffer(GL_PIXEL_UNPACK_BUFFER, GL_READ_WRITE);
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
    return memory;
  }
  void wait() override { waited_ = true; }
  void unmap() override {
    mapped_ = false;
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer_);
    EXPECT_TRUE(glUnmapBuffer(GL_PIXEL_UNPACK_BUFFER));
    glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  }

 private:
  unsigned buffer_;
  int maps_;
  bool mapped_ = false, waited_ = false;
};

class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    device_ = device_to_test();
    scenes::Mesh mesh = scenes::load("pipes:1k");
    const kdtree::Tree tree = render::MedianBuilder::build({mesh.vertices, mesh.triangles});
    scene_ = make_built_scene("pipes:1k", "pipes", std::move(mesh), tree, device_, "none");
  }
  bool on_gpu() const { return device_.id.kind == simt::DeviceKind::cuda; }
  View view(unsigned width, unsigned height, render::Mode mode, unsigned spp) const {
    return {scene_, scene_->home, scene_->lighting, mode, false, width, height, spp};
  }
  static render::RenderJob job_of(const View& view) {
    render::RenderJob job;
    job.mode = view.mode;
    job.width = view.width;
    job.height = view.height;
    job.spp = view.spp;
    job.camera = view.camera;
    job.lighting = view.lighting;
    job.legend = false;
    return job;
  }
  // pow() on GPU and host may round differently, by one step of 1/255.
  void expect_same(const std::vector<gl::Rgba8>& a, const std::vector<gl::Rgba8>& b) const {
    ASSERT_EQ(a.size(), b.size());
    unsigned largest = 0;
    std::size_t differ = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const unsigned difference = static_cast<unsigned>(std::max(
          {std::abs(a[i].r - b[i].r), std::abs(a[i].g - b[i].g), std::abs(a[i].b - b[i].b)}));
      largest = std::max(largest, difference);
      differ += difference > 0;
    }
    EXPECT_LE(largest, on_gpu() ? 1u : 0u);
    EXPECT_LE(differ, on_gpu() ? a.size() / 1000 : 0);
  }

  simt::DeviceInfo device_;
  std::shared_ptr<const BuiltScene> scene_;
};

class SharedPicture : public OnDevice {
 protected:
  void SetUp() override {
    OnDevice::SetUp();
    std::string reason;
    context_ = tests::GlContext::make(on_gpu() ? device_.id.index : -1, reason);
    if (!context_) GTEST_SKIP() << "no OpenGL: " << reason;
    std::printf("OpenGL: %s, %s\n", gl::vendor().c_str(), gl::renderer().c_str());
    if (!on_gpu()) {
      interop_.refusal = [](const simt::DeviceInfo&) { return std::string(); };
      share_host(-1);
    } else if (const std::string why = interop_.refusal(device_); !why.empty()) {
      GTEST_SKIP() << why;
    }
  }
  // Shares a host buffer whose mapping succeeds `maps` times; -1: always.
  void share_host(int maps) {
    interop_.share = [this, maps](const simt::DeviceId&, unsigned buffer) {
      ++shared_;
      return std::make_unique<HostBuffer>(buffer, maps);
    };
  }
  // The texture's content once the picture is complete.
  std::vector<gl::Rgba8> shown(Picture& picture, const View& view) {
    picture.show(view);
    const auto start = std::chrono::steady_clock::now();
    bool done = false;
    while (!done && std::chrono::steady_clock::now() - start < std::chrono::seconds(60)) {
      done = picture.status().done;  // the last rows have been written by then
      picture.upload(texture_);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_TRUE(done) << picture.status().error;
    EXPECT_EQ(glGetError(), 0u);
    return texture_.read();
  }
  std::vector<gl::Rgba8> rendered(const View& view) const {
    const render::Image image = render::render(job_of(view), *scene_->traced);
    std::vector<gl::Rgba8> pixels;
    for (const render::Rgb8 c : image.pixels) pixels.push_back({c.r, c.g, c.b, 255});
    return pixels;
  }

  // The picture is that of render, copied for this reason.
  void expect_copied(const std::string& reason, unsigned spp) {
    Picture picture(interop_);
    const View one = view(200, 151, render::Mode::shaded, spp);
    expect_same(shown(picture, one), rendered(one));
    EXPECT_FALSE(picture.status().shared);
    EXPECT_EQ(picture.status().copied_because, reason);
  }

  std::unique_ptr<tests::GlContext> context_;
  Interop interop_;
  unsigned shared_ = 0;
  gl::Texture texture_;
};

TEST_F(SharedPicture, IsThePictureOfRender) {
  Picture picture(interop_);
  for (const auto& [mode, width, height, spp] : {std::tuple{render::Mode::shaded, 200u, 151u, 5u},
                                                 std::tuple{render::Mode::normals, 320u, 200u, 2u},
                                                 std::tuple{render::Mode::heatmap, 97u, 61u, 1u},
                                                 std::tuple{render::Mode::depth, 97u, 61u, 3u}}) {
    const View one = view(width, height, mode, spp);
    const std::vector<gl::Rgba8> pixels = shown(picture, one);
    EXPECT_TRUE(picture.status().shared) << picture.status().copied_because;
    expect_same(pixels, rendered(one));
  }
}

// Sharing is refused, registering, mapping or waiting fails: the picture is the copied one.
TEST_F(SharedPicture, IsTheCopiedOneAfterAFailure) {
  const auto usual = interop_.share;
  interop_.share = [](const simt::DeviceId&, unsigned) -> std::unique_ptr<simt::GlBuffer> {
    throw Error(Exit::failed, "cannot be registered");
  };
  expect_copied("cannot be registered", 3);
  class Impatient : public HostBuffer {
   public:
    using HostBuffer::HostBuffer;
    void wait() override { throw Error(Exit::failed, "waiting fails on purpose"); }
  };
  interop_.share = [](const simt::DeviceId&, unsigned buffer) {
    return std::make_unique<Impatient>(buffer, -1);
  };
  expect_copied("waiting fails on purpose", 3);
  // Picture maps the buffer at the start and again each time after it has shown rows. The GPU's
  // mapping does not fail on purpose.
  for (const int maps : {0, 1, 2}) {
    if (on_gpu()) break;
    share_host(maps);
    expect_copied("mapping fails on purpose", 8);
  }
  interop_.share = usual;
  interop_.refusal = [](const simt::DeviceInfo&) { return std::string("not today"); };
  shared_ = 0;
  expect_copied("not today", 3);
  EXPECT_EQ(shared_, 0u);
}

// Films are developed on their device, also without OpenGL.
TEST_F(OnDevice, DevelopsAsTheHostDoes) {
  for (const render::Mode mode :
       {render::Mode::shaded, render::Mode::normals, render::Mode::heatmap}) {
    const View one = view(160, 100, mode, 3);
    render::Progressive picture(*scene_->traced, job_of(one));
    picture.add(3, 60);
    const render::Film film = picture.film();
    const render::Development how{mode, 1.25, 0, false};
    const render::Range range = render::range_of(film, how);
    const simt::Buffer<std::uint32_t> rgba(device_.id, film.sums.size());
    picture.develop_rows(0, picture.tile_rows(), 3, how, range, rgba.data());
    std::vector<gl::Rgba8> here, there;
    for (const render::Pixel& sum : film.sums) {
      const render::Rgb8 c = render::develop(sum, 3, how, range);
      here.push_back({c.r, c.g, c.b, 255});
    }
    for (const std::uint32_t c : rgba.download()) {
      there.push_back({static_cast<std::uint8_t>(c), static_cast<std::uint8_t>(c >> 8),
                       static_cast<std::uint8_t>(c >> 16), static_cast<std::uint8_t>(c >> 24)});
    }
    expect_same(here, there);
  }
}

}  // namespace

}  // namespace heapwood::viewer
