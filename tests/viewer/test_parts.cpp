// SPDX-License-Identifier: MIT
// The viewer's parts without a window: cameras, boxes, rays, heap maps.
#include <gtest/gtest.h>

#include <cmath>
#include <future>

#include "kdtree/check/quality.hpp"
#include "kdtree/traverse/traverse.hpp"
#include "kdtree/traverse/triangle_records.hpp"
#include "tests/viewer/program.hpp"
#include "tests/viewer/recorded.hpp"
#include "viewer/camera.hpp"
#include "viewer/comparison.hpp"
#include "viewer/jobs.hpp"
#include "viewer/node_view.hpp"
#include "viewer/recording.hpp"
#include "viewer/state.hpp"
#include "viewer/theme.hpp"
#include "viewer/tree_view.hpp"
#include "viewer/video.hpp"

namespace heapwood::viewer {

// Work of other threads than the window's: jobs and explanations of nodes.

namespace {

// A build that waits for a live frame to end is cancelled immediately and never begins.
TEST(BackgroundJobs, AJobThatHasNotBegunIsCancelled) {
  std::promise<void> in_frame, cancelled;
  bool first = true;
  Jobs jobs([&](bool held) {
    if (!held || !std::exchange(first, false)) return;
    in_frame.set_value();
    cancelled.get_future().wait();
  });
  const registry::RegisteredAllocator& entry = *registry::find("cfmmalloc");
  JobSpec spec;
  spec.kind = JobSpec::Kind::live;
  spec.source = "pipes:1k";
  spec.device = cpu();
  jobs.live().choose({&entry, &entry});
  ASSERT_TRUE(jobs.start(spec));
  in_frame.get_future().wait();
  spec.kind = JobSpec::Kind::build;
  spec.allocators = {&entry};
  ASSERT_TRUE(jobs.start(spec));
  jobs.cancel();
  EXPECT_FALSE(jobs.progress().running);
  cancelled.set_value();

  std::vector<JobOutcome> builds;
  const auto take_build = [&] {
    while (auto outcome = jobs.take()) {
      if (outcome->spec.kind == JobSpec::Kind::build) builds.push_back(std::move(*outcome));
    }
    return !builds.empty() && builds.back().ended;
  };
  ASSERT_TRUE(wait_for(take_build));
  ASSERT_EQ(builds.size(), 1u);  // no outcome with a scene precedes it
  EXPECT_TRUE(builds.back().cancelled);
  builds.clear();
  ASSERT_TRUE(jobs.start(spec));  // nothing of the cancelled one is left
  ASSERT_TRUE(wait_for(take_build));
  EXPECT_FALSE(builds.back().cancelled);
  ASSERT_TRUE(builds.front().scene);
}

TEST(Screenshots, NoPictureIsOverwritten) {
  const tests::Folder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  EXPECT_EQ(free_name("atrium:1k"), "atrium-1k-001.png");
  for (unsigned i = 0; i < 999; ++i) tests::write_file(free_name("atrium:1k"), "");
  EXPECT_EQ(free_name("atrium:1k"), "atrium-1k-1000.png");
  EXPECT_EQ(free_name("atrium:1k", ".mp4"), "atrium-1k-001.mp4");
  std::filesystem::current_path(before);
}

// Contrast as WCAG 2 defines it.
double contrast(const ImVec4& a, const ImVec4& b) {
  const auto luminance = [](const ImVec4& c) {
    const auto linear = [](double v) {
      return v <= 0.04045 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(c.x) + 0.7152 * linear(c.y) + 0.0722 * linear(c.z) + 0.05;
  };
  const auto [low, high] = std::minmax(luminance(a), luminance(b));
  return high / low;
}

TEST(Theme, TextsAndCurvesAreReadable) {
  for (const bool light : {false, true}) {
    set_colours(light);
    for (const ImVec4& text : {colour::text, colour::dim, colour::accent, colour::warning,
                               colour::error, colour::second})
      EXPECT_GT(contrast(text, colour::panel), 4.5) << light;
    EXPECT_GT(contrast(colour::marked, colour::panel), 3);
    for (const gl::Rgba8 used : {colour::used, colour::used_by_b, colour::abandoned}) {
      for (const gl::Rgba8 ground : {colour::freed, colour::untouched}) {
        EXPECT_GT(contrast(ImColor(packed(used)), ImColor(packed(ground))), 1.5) << light;
      }
    }
  }
}

// Each frame that was not drawn is the one before, so that every second has 30.
TEST(VideoFile, ALateFrameRepeatsTheOneBefore) {
  const tests::Folder folder;
  const std::string path = folder / "it's.mp4", before = std::getenv("PATH");
  tests::write_stub_of_ffmpeg(folder / "ffmpeg");
  setenv("PATH", folder.path().c_str(), 1);
  Video video(path, 1, 1);
  setenv("PATH", before.c_str(), 1);
  for (unsigned i = 0; i < 300; ++i) {
    const double now = 5 + i / 30.0 + (i % 3) * 0.004;
    const auto shade = static_cast<std::uint8_t>(i);
    while (i % 10 != 4 && video.wants_frame(now)) video.add({{shade, 0, 0, 255}}, now);
  }
  EXPECT_FALSE(video.wants_frame(100));
  while (!video.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_PRED2(tests::has, video.result(), "10.0 s; 30 of its 300 frames repeat");
  const std::string frames = tests::read_file(path);
  ASSERT_EQ(frames.size(), 300u * 4);
  for (unsigned i = 0; i < 300; ++i)
    EXPECT_EQ(static_cast<std::uint8_t>(frames[4 * i]),
              static_cast<std::uint8_t>(i - (i % 10 == 4)));
}

// The latest request follows the explanation that is being made.
TEST(BackgroundNodes, TheLatestRequestIsExplained) {
  const std::shared_ptr<const BuiltScene> scene = built("statue:50k");
  const RootPath root = root_of(scene->tree);
  std::vector<RootPath> children(2, root);
  for (const unsigned side : {0u, 1u}) descend(scene->tree, children[side], side);
  NodeView view;
  view.choose(scene, root, {});
  view.take(scene, {});
  for (const RootPath& path : children) view.choose(scene, path, {});
  ASSERT_TRUE(wait_for([&] {
    view.take(scene, {});
    return view.shown && view.shown->place().node != root.back().node;
  }));
  EXPECT_EQ(view.shown->place().node, children[1].back().node);
}

// The point in the coordinates of OpenGL: 1 is the edge of the picture.
Vec3 projected(const gl::Matrix& matrix, Vec3 p) {
  const auto row = [&, m = matrix.m](int r) {
    return m[r] * p.x + m[4 + r] * p.y + m[8 + r] * p.z + m[12 + r];
  };
  return Vec3{row(0), row(1), row(2)} * (1 / row(3));
}

float distance(const render::Camera& c) { return length(c.target - c.eye); }

TEST(CameraControl, OrbitStopsAtThePole) {
  const render::Camera start{{3, 2, 5}, {0, 1, 0}, 40, 1};
  const render::Camera moved = orbit_about(start, start.target, 0.7f, -0.3f);
  EXPECT_NEAR(length(moved.target - start.target), 0, 1e-5);
  EXPECT_NEAR(distance(moved), distance(start), 1e-5);
  EXPECT_GT(length(moved.eye - start.eye), 1);
  const render::Camera top = orbit_about(start, start.target, 0, -100);
  EXPECT_GT(top.eye.y, start.eye.y);
  EXPECT_NO_THROW(render::make_frame(top, 100, 100));
}

// The point under the mouse stays where it is in the picture, at the same distance.
TEST(CameraControl, OrbitAboutAPoint) {
  const render::Camera start{{3, 2, 5}, {0, 1, 0}, 40, 1};
  const Vec3 point{1, 0.5f, -1};
  const render::Camera moved = orbit_about(start, point, 0.6f, -0.2f);
  EXPECT_GT(length(moved.eye - start.eye), 0.5f);
  EXPECT_NEAR(length(moved.eye - point), length(start.eye - point), 1e-4);
  EXPECT_NEAR(distance(moved), distance(start), 1e-4);
  const Vec3 before = projected(projection(start, 640, 480, 20), point),
             after = projected(projection(moved, 640, 480, 20), point);
  EXPECT_NEAR(before.x, after.x, 1e-4);
  EXPECT_NEAR(before.y, after.y, 1e-4);
}

TEST(CameraControl, LinesLieWhereTheRaysGo) {
  const render::Camera camera{{3, 2, 5}, {0.5f, 1, -2}, 55, 1};
  const render::CameraFrame frame = render::make_frame(camera, 640, 480);
  const gl::Matrix m = projection(camera, 640, 480, 20);
  for (const auto& [x, y] :
       {std::pair{320.0f, 240.0f}, std::pair{10.5f, 20.5f}, std::pair{600.0f, 470.0f}}) {
    const kdtree::Ray ray = frame.ray(x, y, 1e30f);
    const Vec3 p = projected(m, ray.origin + ray.direction * 7.0f);
    EXPECT_NEAR((p.x + 1) * 320, x, 0.01);
    EXPECT_NEAR((1 - p.y) * 240, y, 0.01);
    EXPECT_LT(std::fabs(p.z), 1);
  }
}

TEST(TreeView, BoxesAreTheNodesOfADepth) {
  const auto scene = built("statue:1k");
  const kdtree::TreeStats stats = kdtree::measure(scene->tree, {});
  std::size_t all = 0;
  EXPECT_EQ(boxes_at(scene->tree, 0, false, 100, all).front().box, scene->tree.bounds);
  // At a depth below the deepest leaf the boxes are those of all leaves that are not empty.
  const auto leaves = boxes_at(scene->tree, stats.depth, true, 1u << 20, all);
  EXPECT_EQ(all, stats.leaves - stats.empty_leaves);
  std::uint64_t refs = 0;
  for (const NodeBox& box : leaves) {
    EXPECT_TRUE(box.leaf);
    refs += box.refs;
  }
  EXPECT_EQ(refs, stats.refs);
  EXPECT_EQ(boxes_at(scene->tree, stats.depth, true, 10, all).size(), 10u);
  EXPECT_EQ(all, leaves.size());
}

// The probe's steps equal the traversal's counters, for every ray.
TEST(RayProbe, FollowsTheTraversal) {
  const auto scene = built("atrium:2k");
  std::vector<kdtree::PlaneRecord> records(scene->tree.refs.size());
  const kdtree::FillRecords<kdtree::PlaneRecord> fill{
      scene->mesh.vertices.data(),
      scene->mesh.triangles.data(),
      static_cast<std::uint32_t>(scene->mesh.triangles.size()),
      scene->tree.refs.data(),
      records.data(),
      kdtree::reach_of(scene->tree.bounds)};
  for (std::size_t i = 0; i < records.size(); ++i) fill(i);
  const kdtree::TreeView<kdtree::FastIntersection> view(
      scene->tree.nodes.data(), records.data(), scene->tree.refs.data(), scene->tree.bounds,
      scene->mesh.vertices.data(), scene->mesh.triangles.data());
  const render::CameraFrame frame = render::make_frame(scene->home, 40, 30);
  unsigned hits = 0;
  for (unsigned y = 0; y < 30; ++y) {
    for (unsigned x = 0; x < 40; ++x) {
      const kdtree::Ray ray =
          frame.ray(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f, 1e30f);
      kdtree::Counters count;
      const kdtree::Hit hit = kdtree::closest_hit(view, ray, count);
      const RayPath path = follow(*scene, ray);
      EXPECT_EQ(path.hit.triangle, hit.triangle);
      EXPECT_EQ(path.inner_steps, count.inner_steps) << x << "," << y;
      EXPECT_EQ(path.leaves.size(), count.leaves);
      EXPECT_EQ(path.tests, count.tests);
      hits += hit.found();
    }
  }
  EXPECT_GT(hits, 600u);
}

TEST(HeapMap, CellsAreTheBytesThatBlocksCover) {
  const Recording recording = record("pipes:1k", "cmalloc");
  ASSERT_GT(recording.events, 1000u);
  for (const std::uint32_t time :
       {0u, recording.events / 3, recording.events / 2, recording.events}) {
    const HeapMap map(recording, time, 50, 20, recording.reach);
    ASSERT_GE(map.cell_bytes * map.cells.size(), map.bytes);
    std::vector<std::uint32_t> owner(map.bytes, 0);  // owner of each byte
    for (const workloads::Block& block : recording.blocks()) {
      if (!(block.born < time && time <= block.released)) continue;
      for (std::uint64_t b = block.offset; b < block.offset + block.bytes; ++b)
        owner[b] = block.born + 1;
    }
    for (std::size_t c = 0; c < map.cells.size(); ++c) {
      std::uint64_t used = 0;
      for (std::uint64_t b = c * map.cell_bytes; b < std::min((c + 1) * map.cell_bytes, map.bytes);
           ++b) {
        used += owner[b] != 0;
      }
      ASSERT_EQ(map.cells[c].used_bytes, used) << c;
    }
  }
}

TEST(HeapMap, FirstBlockIsTheLowestInUse) {
  const Recording recording = record("pipes:1k", "cfmmalloc");
  const std::uint32_t time = recording.events / 2;
  // For each byte: birth of its block + 1.
  std::vector<std::uint32_t> owner(recording.reach + alloc::granule, 0);
  for (const workloads::Block& block : recording.blocks()) {
    if (!block.occupies(time)) continue;
    std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(block.offset),
                alloc::padded(block.bytes), block.born + 1);
  }
  unsigned found = 0;
  for (std::uint64_t begin = 0; begin + 1000 <= recording.reach; begin += 1000) {
    const auto first = std::find_if(owner.begin() + static_cast<std::ptrdiff_t>(begin),
                                    owner.begin() + static_cast<std::ptrdiff_t>(begin) + 1000,
                                    [](auto b) { return b; });
    const workloads::Block* block = first_block(recording, time, begin, begin + 1000);
    const bool there = first != owner.begin() + static_cast<std::ptrdiff_t>(begin) + 1000;
    ASSERT_EQ(block != nullptr, there) << begin;
    if (block) {
      EXPECT_EQ(block->born + 1, *first);
    }
    found += there;
  }
  EXPECT_GT(found, 3u);
}

TEST(Recording, CurvesEndWhereTheBuildEnds) {
  const Recording recording = record("atrium:1k", "cfmmalloc");
  const Recording::Point& end = recording.points.back();
  EXPECT_EQ(end.time, recording.events);
  EXPECT_EQ(end.pool.blocks, 0u);
  EXPECT_EQ(end.pool.gap_bytes, recording.pool_bytes);
  EXPECT_EQ(end.used_bytes, 0u);
  EXPECT_EQ(recording.high_water_bytes,
            // The figure of the Counted adaptor, with two threads.
            recording.requests.high_water_bytes);
  EXPECT_EQ(end.high_water_bytes, recording.high_water_bytes);
  EXPECT_EQ(&recording.at(0), &recording.points.front());
  EXPECT_EQ(&recording.at(recording.events), &end);
  EXPECT_EQ(recording.at(recording.points[7].time + 1).time, recording.points[7].time);
}

// Each point of the curves agrees with the blocks at its time.
TEST(Recording, CurvesAreWhatTheBlocksSay) {
  for (const char* allocator : {"cfmmalloc", "atomic", "scatter"}) {
    const Recording recording = record("pipes:1k", allocator);
    ASSERT_GE(recording.points.size(), Recording::min_points);
    ASSERT_LE(recording.points.size(), 2 * Recording::min_points);
    std::uint64_t maximum = 0;
    for (std::size_t i = 1; i < recording.points.size(); i += 37) {
      const Recording::Point& point = recording.points[i];
      ASSERT_GT(point.time, recording.points[i - 1].time);
      std::uint64_t used = 0, mark = 0;
      for (const workloads::Block& block : recording.blocks()) {
        if (block.born >= point.time) break;
        mark = std::max(mark, block.offset + alloc::padded(block.bytes));
        if (!block.in_use(point.time)) continue;
        used += block.bytes;
      }
      EXPECT_EQ(point.used_bytes, used) << allocator;
      EXPECT_EQ(point.pool.mark_bytes, mark) << allocator;
      EXPECT_LE(point.pool.largest_below_bytes, point.pool.below_bytes);
      EXPECT_LE(point.pool.below_bytes, mark);
      maximum = std::max(maximum, used);
      EXPECT_GE(point.high_water_bytes, maximum);
    }
    EXPECT_GT(maximum, 0u);
  }
}

TEST(CompareRows, LowerBoundsAreMarkedAndNeverTheBest) {
  std::vector<bench::Result> results(3);
  const double times[] = {1, 3, 2};
  for (std::size_t i = 0; i < 3; ++i) {
    results[i].label = std::string(1, static_cast<char>('A' + i));
    results[i].status = bench::Status::ok;
    results[i].runs_ms = {times[i], times[i], times[i]};
    results[i].slowdown = times[i];
  }
  results[0].lower_bound = true;
  const auto rows = compare_rows(results);
  EXPECT_EQ(rows[0].allocator, "A *");
  EXPECT_FALSE(rows[0].best);
  EXPECT_FALSE(rows[1].best);
  EXPECT_TRUE(rows[2].best);
  EXPECT_EQ(rows[1].slowdown, "3.00x");
  results[2].status = bench::Status::failed;
  const auto again = compare_rows(results);
  EXPECT_EQ(again[2].ms, "failed");
  EXPECT_TRUE(std::isinf(again[2].key_ms));
  EXPECT_FALSE(again[1].best);  // there is no other time to compare with
}

TEST(CompareRows, TheSpreadIsThatOfTheMiddleHalf) {
  EXPECT_EQ(spread_of({}), 0);
  EXPECT_EQ(spread_of({7}), 0);
  EXPECT_NEAR(spread_of({10, 11, 12, 13, 100}), 2.0 / 12, 1e-9);
  EXPECT_GT(spread_of({1.49, 2.1, 9.68, 22, 30.7}), max_spread);
}

}  // namespace

}  // namespace heapwood::viewer
