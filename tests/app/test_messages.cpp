// SPDX-License-Identifier: MIT
// Messages about the command line and about what cannot be measured.
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

class Messages : public SceneCommands {};

TEST_F(Messages, AnOptionThatDoesNotApplyIsNoted) {
  const Outcome outcome =
      run("bench statue:1k --builder per-level --allocators atomic --device cpu --runs 1");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  expect_words(outcome.err, {"note: --allocators does not apply"});
}

TEST_F(Messages, AFileMayBeNamedLikeAScene) {
  const std::string name = "statue:2k.obj";
  write_file(folder_ / name, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  const Outcome outcome = shell("$H build " + name + " --device cpu --runs 1");
  EXPECT_EQ(outcome.exit, 0) << outcome.err;
  expect_words(outcome.out, {"1 triangle"});
  EXPECT_EQ(outcome.out.find("1 triangles"), outcome.out.npos);
}

// Where there is no GPU, the note about it comes when there is something to run.
TEST_F(Messages, AnErrorOfTheInputIsTheOnlyLine) {
  write_file(scene_, "f 1 2 3\n");
  for (const char* command : {"build @scene.obj", "bench @scene.obj", "render @scene.obj -o @a.png",
                              "trace @scene.obj"}) {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_EQ(outcome.err.rfind("heapwood: error: ", 0), 0u) << outcome.err;
  }
}

}  // namespace
}  // namespace heapwood::tests
