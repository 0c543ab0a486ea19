// SPDX-License-Identifier: MIT
// cmake/library_headers.cmake in folders whose names are patterns for CMake.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

class LibraryHeaders : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("cmake --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no cmake";
    std::string name = (fs::temp_directory_path() / "heapwood_headers_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    work_ = name;
  }
  void TearDown() override {
    if (!work_.empty()) fs::remove_all(work_);
  }
  // A copy of what the headers are collected from.
  fs::path copy_source(const std::string& name) const {
    const fs::path from = HEAPWOOD_SOURCE_DIR, to = work_ / name;
    for (const char* const folder : {"alloc", "include", "simt"}) {
      fs::create_directories(to / folder);
      fs::copy(from / folder, to / folder, fs::copy_options::recursive);
    }
    return to;
  }
  bool collect(const fs::path& source, const fs::path& output) const {
    const std::string command = "cmake '-DSOURCE=" + source.string() +
                                "' '-DOUTPUT=" + output.string() +
                                "' -P '" HEAPWOOD_SOURCE_DIR "/cmake/library_headers.cmake' > '" +
                                (work_ / "log").string() + "' 2>&1";
    return std::system(command.c_str()) == 0;
  }
  std::string log() const {
    std::ifstream file(work_ / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  fs::path work_;
};

TEST_F(LibraryHeaders, AreCollectedInFoldersThatArePatterns) {
  for (const char* const name : {"[x]", "a*b", "what?", "a b[c"}) {
    const fs::path source = copy_source(name), output = source / "build/heapwood";
    ASSERT_TRUE(collect(source, output)) << log();
    EXPECT_TRUE(fs::exists(output / "heap.hpp")) << name;
    EXPECT_TRUE(fs::exists(output / "alloc/allocator.hpp")) << name;
    // A file that is no longer a header is removed, at the next time.
    std::ofstream(output / "old.hpp") << "old";
    ASSERT_TRUE(collect(source, output)) << log();
    EXPECT_FALSE(fs::exists(output / "old.hpp")) << name;
    EXPECT_TRUE(fs::exists(output / "heap.hpp")) << name;
  }
}

TEST_F(LibraryHeaders, OtherFoldersAreLeftAlone) {
  const fs::path other = work_ / "x/heapwood/program.cpp";  // the pattern [x] means x
  fs::create_directories(other.parent_path());
  std::ofstream(other) << "other";
  ASSERT_TRUE(collect(HEAPWOOD_SOURCE_DIR, work_ / "[x]/heapwood")) << log();
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(LibraryHeaders, AnEmptySourceIsAnError) {
  EXPECT_FALSE(collect(work_ / "none", work_ / "out"));
  EXPECT_NE(log().find("no headers in"), std::string::npos) << log();
}

}  // namespace
