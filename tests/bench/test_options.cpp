// SPDX-License-Identifier: MIT
// Values of options; settings of allocators; cameras in the coordinates of a scene's file.
#include <fmt/format.h>

#include "bench/prepared_scene.hpp"
#include "bench/program/options.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json_report.hpp"
#include "bench/results/result.hpp"
#include "tests/app/executable.hpp"
#include "tests/errors.hpp"
#include "tests/render/trees.hpp"

namespace heapwood::bench {
namespace {

template <class F>
void expect_usage_error(const std::string& part, F f) {
  tests::expect_error(Exit::usage, {part}, f);
}

TEST(ParseBytes, UnitsAreOf1024) {
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("64K"), 64u << 10);
  EXPECT_EQ(parse_bytes("512M"), 512u << 20);
  EXPECT_EQ(parse_bytes("2G"), std::size_t{2} << 30);
  EXPECT_EQ(parse_bytes("1T"), std::size_t{1} << 40);
  EXPECT_EQ(parse_bytes("1.5g"), std::size_t{3} << 29);
  EXPECT_EQ(parse_bytes("3MiB"), 3u << 20);
  EXPECT_EQ(parse_bytes("3MB"), 3u << 20);
  EXPECT_EQ(parse_bytes("7B"), 7u);
}

TEST(ParseBytes, NamesTheWrongValue) {
  for (const char* text : {"", "M", "12Q", "-5", "1..5", "5M5", "0", "0.2", "1e30", "99999999T",
                           " 5", "5 M", "nan", "inf"})
    expect_usage_error(fmt::format("'{}'", text), [&] { parse_bytes(text); });
}

TEST(ParseCount, UnitsAreOf1000) {
  EXPECT_EQ(parse_count("--batch", "1", 9), 1u);
  EXPECT_EQ(parse_count("--batch", "100K", 1 << 28), 100000u);
  EXPECT_EQ(parse_count("--batch", "1.5m", 1 << 28), 1500000u);
  EXPECT_EQ(parse_count("--batch", "268M", 1 << 28), 268000000u);
  for (const char* text : {"", "K", "1Kk", "1KM", "1G", "0", "-1", "1.5", "10", "nan", "inf", " 1"})
    expect_usage_error(fmt::format("--batch '{}': expected a whole number from 1 to 9", text),
                       [&] { parse_count("--batch", text, 9); });
}

TEST(ParsePool, AcceptsAutoSizesAndMultiples) {
  EXPECT_EQ(parse_pool("auto").kind, PoolSize::Kind::automatic);
  EXPECT_FALSE(parse_pool("auto").for_speed);
  EXPECT_EQ(parse_pool("fast").kind, PoolSize::Kind::automatic);
  EXPECT_TRUE(parse_pool("fast").for_speed);
  EXPECT_EQ(parse_pool("fast").text, PoolSize{}.text);
  EXPECT_EQ(parse_pool("512M").bytes, 512u << 20);
  const PoolSize multiple = parse_pool("200x");
  EXPECT_EQ(multiple.kind, PoolSize::Kind::root_multiple);
  EXPECT_EQ(multiple.multiple, 200);
  EXPECT_EQ(multiple.text, "200x");
  EXPECT_EQ(parse_pool("0.5x").multiple, 0.5);
  const PoolSize live = parse_pool("live:2.5");
  EXPECT_EQ(live.kind, PoolSize::Kind::live_multiple);
  EXPECT_EQ(live.multiple, 2.5);
  EXPECT_EQ(live.text, "live:2.5");
  EXPECT_EQ(parse_pool("1e6x").multiple, 1e6);
  EXPECT_EQ(parse_pool("live:1e9").multiple, 1e9);
  for (const char* text : {"1000001x", "1e9x", "live:1e10"})
    expect_usage_error("at most 1000000", [&] { parse_pool(text); });
  for (const char* text : {"", "x", "-1x", "0x", "much", "12y", "nanx", "infx", "live:", "live:0",
                           "live:-1", "live:x", "live:4x"})
    expect_usage_error("", [&] { parse_pool(text); });
}

TEST(ParsePool, ListsKeepTheirOrder) {
  const std::vector<PoolSize> pools = parse_pools("fast,live:4,200x,fast");
  ASSERT_EQ(pools.size(), 3u);
  EXPECT_EQ(pools[1].text, "live:4");
  for (const char* text : {"", "fast,", "fast,much"})
    expect_usage_error("", [&] { parse_pools(text); });
  refuse_live_pool(pools[0], "animate");
  expect_usage_error("live:4", [&] { refuse_live_pool(pools[1], "animate"); });
}

TEST(ParseImageSize, NeedsTwoSides) {
  EXPECT_EQ(parse_image_size("1920x1080").width, 1920u);
  EXPECT_EQ(parse_image_size("1920x1080").height, 1080u);
  for (const char* text :
       {"", "1920", "1920x", "x1080", "0x5", "5x0", "-5x5", "5x5x5", "99999x5", "5 x5", "5x5 "})
    expect_usage_error("WIDTHxHEIGHT", [&] { parse_image_size(text); });
}

TEST(ParsePrefer, NamesAndTheirCosts) {
  EXPECT_EQ(parse_prefer("build").costs.traversal, 2);
  EXPECT_EQ(parse_prefer("trace").costs.duplicate, 0);
  EXPECT_EQ(&parse_prefer("balanced"), BuildSettings().prefer);
  for (const kdtree::CostPreset& preset : kdtree::cost_presets) {
    EXPECT_EQ(&parse_prefer(preset.name), &preset);
    EXPECT_EQ(preset.costs.intersection, 1) << preset.name;
    expect_usage_error(preset.name, [] { parse_prefer("speed"); });
  }
}

// The settings after parsing a command line.
BuildSettings parsed(const std::string& arguments) {
  Program program("test", "", "", "");
  BuildSettings settings;
  add_build_options(program, settings, true);
  tests::parse(program, arguments);
  return settings;
}

TEST(Prefer, ACostGivenByItselfWinsWhereverItStands) {
  EXPECT_EQ(parsed("").costs.traversal, kdtree::SahCosts().traversal);
  EXPECT_EQ(parsed("--prefer build").costs.empty_bonus, 0.17f);
  for (const BuildSettings& settings :
       {parsed("--prefer trace --empty-bonus .3 --intersection-cost 4"),
        parsed("--intersection-cost 4 --empty-bonus .3 --prefer trace"),
        parsed("--empty-bonus .3 --prefer trace --intersection-cost 4")}) {
    EXPECT_STREQ(settings.prefer->name, "trace");
    EXPECT_EQ(settings.costs.traversal, 1.15f);
    EXPECT_EQ(settings.costs.intersection, 4);
    EXPECT_EQ(settings.costs.empty_bonus, 0.3f);
    EXPECT_EQ(settings.costs.duplicate, 0);
  }
}

TEST(FindAllocators, KeepsTheOrderAndDropsRepetitions) {
  const auto two = find_allocators("cfmmalloc,atomic,cfmmalloc");
  ASSERT_EQ(two.size(), 2u);
  EXPECT_STREQ(two[0]->traits->id, "cfmmalloc");
  EXPECT_STREQ(two[1]->traits->id, "atomic");
  EXPECT_EQ(find_allocators("all").size(), registry::allocators().size());
}

TEST(FindAllocators, SettingsFollowTheName) {
  const auto list = find_allocators(
      "atomic,cfmmalloc:smallest=64,scatter:page=16K,scatter:large=buddy,page=16384,scatter");
  ASSERT_EQ(list.size(), 4u);  // scatter is listed once, with its page size
  EXPECT_STREQ(list[1]->traits->id, "cfmmalloc:smallest=64");
  EXPECT_STREQ(list[1]->traits->label, "CFMMalloc smallest=64");
  EXPECT_EQ(list[1]->cpu, registry::find("cfmmalloc")->cpu);
  EXPECT_EQ(list[1]->options.smallest_chunk, 64u);
  EXPECT_EQ(list[2]->options.page_bytes, 16384u);
  EXPECT_EQ(list[3], registry::find("scatter"));
  EXPECT_EQ(list[1], &find_allocator("cfmmalloc:smallest=64"));
  EXPECT_EQ(find_allocators("scatter:large=builtin", true).size(), 1u);
}

TEST(FindAllocators, WrongSettingsNameTheAllowedOnes) {
  const std::pair<const char*, const char*> wrong[] = {
      {"atomic:page=4K", "no settings"},
      {"cfmmalloc:page=4K", "smallest=a power of two from 16 to 1G"},
      {"scatter:page=3K", "page=a power of two from 256 to 64M"},
      {"scatter:page=128", "256 to 64M"},
      {"scatter:page=128M", "256 to 64M"},
      {"scatter:page=18446744073709551616G", "256 to 64M"},
      {"scatter:page=4KK", "256 to 64M"},
      {"scatter:page", "256 to 64M"},
      {"scatter:", "256 to 64M"},
      {"scatter:large=small", "large=buddy or builtin"},
      {"scatter:large=builtin", "only 'heapwood stress'"},
      {"scatter:page=4K,size=1", "'size=1'"},
      {"atomic,page=4K", "unknown allocator"},
  };
  for (const auto& [list, text] : wrong)
    expect_usage_error(text, [name = list] { find_allocators(name); });
}

TEST(FindAllocators, OldNamesAreKnown) {
  EXPECT_EQ(registry::find("heapwood-pages"), registry::find("heapwood-general"));
}

// Settings of allocators in builds.

TEST(BuildOptions, AllocatorSettingsReachTheWorkspace) {
  BuildSettings settings;
  settings.pool = parse_pool("8M");
  settings.allocator.queue_slots = 5000;  // a setting of the job applies to all allocators
  PreparedScene scene("atrium:1k", simt::find_device("cpu", 1), settings, {});
  const registry::RegisteredAllocator& list = find_allocator("cfmmalloc:smallest=64");
  EXPECT_FALSE(scene.build(list).incomplete);
  alloc::AllocatorOptions options = scene.workspace().allocator_options();
  EXPECT_EQ(options.smallest_chunk, 64u);
  EXPECT_EQ(options.queue_slots, 5000u);
  EXPECT_TRUE(options.has_persistent_warps);
  for (const char* name : {"scatter:page=4K", "scatter:page=16K", "atomic"}) {
    EXPECT_FALSE(scene.build(find_allocator(name)).incomplete);
    options = scene.workspace().allocator_options();
    EXPECT_EQ(options.page_bytes, find_allocator(name).options.page_bytes);
    EXPECT_EQ(options.smallest_chunk, 0u);
  }
}

// `bench --resume` and `compare` tell results with different settings apart.
TEST(BuildOptions, AllocatorSettingsAreInTheReportIfTheyWereGiven) {
  Result result;
  for (const char* key : {"page_bytes", "smallest_chunk", "chunk_search"})
    EXPECT_FALSE(to_json(BuildSettings{}).contains(key)) << key;
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    for (const alloc::AllocatorSetting& setting : entry.settings()) {
      alloc::AllocatorOptions& options = result.settings.allocator = {};
      setting.set(options, setting.words ? 1 : setting.min);
      const Json json = to_json(result);
      EXPECT_TRUE(json.at("settings").contains(setting.json)) << setting.json;
      const Result read = result_from_json(json);
      EXPECT_EQ(setting.get(read.settings.allocator), setting.get(options)) << setting.json;
    }
  }
}

// Cameras of scenes far from the file's origin: text is in the file's coordinates, cameras are
// relative to the mesh's origin.

struct FarScene {
  FarScene() : soup(render::closed_surface(4, 1)) {
    mesh.origin = {500000.125, 4600000, 1e-3};
    mesh.vertices = soup.vertices;
    mesh.triangles = soup.triangles;
    scene.emplace(render::test_device(), render::MedianBuilder::build(soup.view()), soup.view());
  }
  render::Camera choose(const CameraOptions& options, const std::string& source = "far.obj") const {
    return choose_camera(options, source, mesh, *scene, 1);
  }

  render::Soup soup;
  scenes::Mesh mesh;
  std::optional<render::Scene> scene;
};

TEST(SceneCamera, IsGivenInTheFilesCoordinates) {
  const FarScene far;
  const render::Camera camera =
      far.choose({"500004.125,4600001,5.001,500000.125,4600000,0.001,40", "z"});
  EXPECT_EQ(camera.eye, (Vec3{4, 1, 5}));
  EXPECT_EQ(camera.target, (Vec3{0, 0, 0}));
  EXPECT_EQ(camera.up, 2u);

  const tests::Folder folder;
  tests::write_file(folder / "far.obj", "");
  tests::write_file(folder / "far.camera",
                    "# a view\n500004.125,4600001,5.001,500000.125,4600000,0.001,40 --up z\n");
  const render::Camera beside = far.choose({}, folder / "far.obj");
  EXPECT_EQ(beside.eye, camera.eye);
  EXPECT_EQ(beside.up, 2u);
}

TEST(SceneCamera, AutomaticCamerasReadBackToTheSameBits) {
  const FarScene far;
  const render::Camera found = far.choose({});
  const std::string text = to_string(found, far.mesh.origin);
  tests::expect_words(text, {",4600000,"});
  const render::Camera back = far.choose({text, "y"});
  EXPECT_EQ(back.eye, found.eye) << text;
  EXPECT_EQ(back.target, found.target) << text;
  EXPECT_EQ(back.fov, found.fov) << text;
}

TEST(SceneCamera, LinesAreReadAsTheyArePrinted) {
  const render::Camera camera{{1, 2, 3}, {4, 5, 6}, 40, 0};
  for (const std::string prefix :
       {"", "--camera ", "camera: ", "\xef\xbb\xbf", "\n# comment\n\n  camera   "}) {
    const render::Camera read =
        parse_camera_line(prefix + to_arguments(camera) + " # more\n\n# rest\n", {});
    EXPECT_EQ(read.eye, camera.eye);
    EXPECT_EQ(read.up, 0u);
  }
  for (const char* wrong : {"", "# nothing", "1,2,3,4,5,6,40\n1,2,3,4,5,6,50", "--camera",
                            "1,2,3,4,5,6,40 --up", "1,2,3,4,5,6,40 up z", "1,2,3,4,5,6,40 z y"}) {
    EXPECT_THROW(parse_camera_line(wrong, {}), Error) << wrong;
  }
}

}  // namespace
}  // namespace heapwood::bench
