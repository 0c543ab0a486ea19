// SPDX-License-Identifier: MIT
// heapwood animate: tables, JSON and --resume, equal trees, kept pools, pictures, changing
// topology, and errors.
#include <algorithm>

#include "bench/animate_bench.hpp"
#include "bench/program/command_files.hpp"
#include "bench/results/json_fields.hpp"
#include "simt/error.hpp"
#include "tests/app/executable.hpp"
#include "tests/render/pictures.hpp"

namespace heapwood::tests {
namespace {

namespace fs = std::filesystem;

class AnimateCommand : public Executable {
 protected:
  // `animate` with defaults for options that are not given.
  static std::string animate(const std::string& more) {
    std::string line = "animate " + more + " --device cpu --threads 2";
    for (const char* option : {" --frames 3", " --size 64x36", " --pool auto"}) {
      const std::string text = option;
      if (more.find(text.substr(0, text.rfind(' '))) == more.npos) line += option;
    }
    return line;
  }
  // Numbered files: the same triangles moved, except for the third, which has more.
  std::string sequence() const {
    for (unsigned i = 0; i < 4; ++i) {
      std::istringstream still(obj_text(i == 2 ? 150 : 40));
      std::ostringstream moved;
      for (std::string line; std::getline(still, line);) {
        double x = 0, y = 0, z = 0;
        if (std::sscanf(line.c_str(), "v %lf %lf %lf", &x, &y, &z) == 3)
          moved << "v " << x + 0.1 * i * y << ' ' << y << ' ' << z - 0.05 * i * x << '\n';
        else
          moved << line << '\n';
      }
      write_file(folder_ / ("f" + std::to_string(i) + ".obj"), moved.str());
    }
    return folder_ / "f#.obj";
  }
};

TEST_F(AnimateCommand, RefusesMissingFramesAndAnOutputThatIsAFrame) {
  const std::string pattern = sequence();
  expect_error(animate(pattern + " --json @f1.obj"), 2, {"already used"});
  fs::remove(folder_ / "f1.obj");
  expect_error(animate(pattern), 3, {"frame 1 is missing", "f1.obj"});
}

TEST_F(AnimateCommand, EveryAllocatorBuildsTheSameTrees) {
  const std::string pattern = sequence();
  const json report =
      run_json(animate(pattern + " --frames 4 --trace primary,shaded --size 64x36 --format json"));
  EXPECT_EQ(report["schema"], "heapwood.animate/1");
  const json& first = report["results"][0];
  unsigned measured = 0;
  for (const json& result : report["results"]) {
    if (result["status"] == "skipped") {
      EXPECT_NE(result["reason"], "") << result.dump(1);
      continue;
    }
    ++measured;
    EXPECT_EQ(result["status"], "ok") << result.dump(1);
    EXPECT_EQ(result["tree_hashes"], first["tree_hashes"]) << result["allocator"];
    EXPECT_EQ(result["min_triangles"], 40);
    EXPECT_EQ(result["max_triangles"], 150);
    for (const char* key : {"upload", "reset", "build", "records", "primary", "shaded", "frame"})
      EXPECT_EQ(result[key + std::string("_ms")].size(), 4u) << key;
    for (std::size_t i = 0; i < 4; ++i) {
      double parts = 0;
      for (const char* key : {"upload_ms", "reset_ms", "build_ms", "records_ms", "shaded_ms"})
        parts += result[key][i].get<double>();
      EXPECT_GE(result["frame_ms"][i].get<double>(), 0.99 * parts);
    }
    EXPECT_GT(result["frames_per_second"], 0);
  }
  EXPECT_GE(measured, 5u);
  EXPECT_NE(first["tree_hashes"][1], first["tree_hashes"][2]);
}

// `animate` and `build` make the same trees of the frames.
TEST_F(AnimateCommand, TreesAreThoseOfBuild) {
  const std::string pattern = sequence();
  const json hashes = run_json(animate(
      pattern +
      " --frames 4 --allocators heapwood --trace none --format json"))["results"][0]["tree_hashes"];
  for (unsigned i = 0; i < 4; ++i) {
    const std::string file = folder_ / "build.json";
    const std::string built =
        output({"build", folder_ / ("f" + std::to_string(i) + ".obj"), "--device", "cpu", "--runs",
                "1", "--keep-degenerate", "--json", file});
    EXPECT_EQ(json::parse(read_file(file))["results"][0]["tree"]["hash"], hashes[i]) << i;
  }
}

TEST_F(AnimateCommand, PrintsTables) {
  expect_words(output(animate("statue~:2k --allocators atomic,heapwood,cfmmalloc --keep-pool")),
               {"statue~:2k: 3 frames", "pool kept", "Heapwood", "shaded", "p99", "frames/s",
                "never frees", "largest hole", "by hash", "camera:"});
  const std::string csv =
      output(animate("statue~:2k --allocators heapwood,cfmmalloc --trace none --format csv"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3) << csv;
}

TEST_F(AnimateCommand, KeptPoolsAreReported) {
  const std::string outcome =
      output(animate("cloth:3k --allocators heapwood,cfmmalloc --keep-pool --format json"));
  for (const json& result : json::parse(outcome)["results"]) {
    EXPECT_EQ(result["status"], "ok");
    ASSERT_EQ(result["pool_after_frames"].size(), 3u) << result.dump(1);
    for (const json& pool : result["pool_after_frames"]) {
      EXPECT_EQ(pool["used_bytes"], 0);
      EXPECT_GT(pool["free_bytes"], result["pool_bytes"].get<double>() / 2);
      EXPECT_GT(pool["largest_free_bytes"], 0);
    }
    EXPECT_EQ(result["settings"]["keep_pool"], true);
  }
}

TEST_F(AnimateCommand, SmallPoolsAreIncomplete) {
  const std::string small = animate("statue~:2k --allocators heapwood --pool 48K --trace none");
  expect_words(output(small), {"exhausted in 3 of 3 frames"});
  EXPECT_EQ(run(small + " --strict").exit, 5);
}

TEST_F(AnimateCommand, ResumesWithTheSameSettings) {
  const std::string file = folder_ / "animate.json";
  const auto measure = [&](const std::string& allocators, const std::string& trace) {
    output(animate("statue~:1k --allocators " + allocators + " --trace " + trace + " --json " +
                   file + " --resume"));
    return json::parse(read_file(file))["results"];
  };
  const json first = measure("heapwood", "none");
  ASSERT_EQ(first.size(), 1u);
  const json second = measure("heapwood,cfmmalloc", "none");
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0], first[0]);
  const json third = measure("cfmmalloc", "none");
  ASSERT_EQ(third.size(), 2u);
  EXPECT_EQ(third[0], second[1]);
  EXPECT_EQ(third[1], first[0]);
  const json other = measure("heapwood", "shaded");
  EXPECT_EQ(other.size(), 3u);
  // A tree that differs from an earlier result's is an error.
  json report = json::parse(read_file(file));
  for (json& result : report["results"]) result["tree_hashes"][1] = "0123456789abcdef";
  write_file(file, report.dump());
  const std::string wrong = animate(
      "statue~:1k --allocators heapwood,awmalloc-safe --trace none --json " + file + " --resume");
  expect_words(run(wrong, 1).out, {"tree of frame 1 differs from Heapwood's"});
}

TEST_F(AnimateCommand, WritesPictures) {
  output(animate("cloth:2k --allocators heapwood,cfmmalloc -o @p_##.png --spp 2 --trace none"));
  std::vector<render::Image> pictures;
  for (unsigned i = 0; i < 3; ++i) {
    pictures.push_back(render::read_png(bench::picture_path(folder_ / "p_##.png", i)));
    EXPECT_EQ(pictures.back().width, 64u);
  }
  EXPECT_GT(render::compare(pictures[0], pictures[1], 20).above, 0.02);
  EXPECT_GT(render::compare(pictures[1], pictures[2], 20).above, 0.02);
}

TEST_F(AnimateCommand, AFileThatCannotBeReadEndsTheMeasurement) {
  const std::string pattern = sequence();
  write_file(folder_ / "f2.obj", "f 1 2 3\n");
  const std::string arguments =
      animate(pattern + " --frames 4 --allocators heapwood,cfmmalloc --trace none");
  expect_error(arguments, 3, {"f2.obj", "line 1"});
  expect_words(run(arguments).out, {"[1] Heapwood, CFMMalloc"});
}

TEST(Animate, MeasuredFramesAreSpreadOverTheScene) {
  EXPECT_EQ(bench::scene_frame(0, 3, 120), 0u);
  EXPECT_EQ(bench::scene_frame(1, 3, 120), 40u);
  EXPECT_EQ(bench::scene_frame(2, 3, 120), 80u);
  EXPECT_EQ(bench::scene_frame(119, 120, 120), 119u);
  EXPECT_EQ(bench::scene_frame(121, 500, 120), 1u);
  EXPECT_EQ(bench::picture_path("a#/f_##.png", 123), "a#/f_123.png");
  for (const char* wrong : {"f.png", "f#_#.png", "f#.jpg", "a#/f.png"})
    EXPECT_THROW(bench::picture_path(wrong, 0), Error) << wrong;
}

}  // namespace
}  // namespace heapwood::tests
