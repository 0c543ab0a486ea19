// SPDX-License-Identifier: MIT
// Wrong command lines: the exit code, and one line that names the cause. Notes about others.
#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

struct RefusedCase {
  int exit = 0;
  std::string arguments;
  std::vector<std::string> words;
};

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t begin = 0; (begin = text.find(what, begin)) != text.npos; begin += by.size())
    text.replace(begin, what.size(), by);
  return text;
}

// The cases of refused.txt, which explains the format.
std::vector<RefusedCase> refused_cases(const std::string& folder) {
  std::vector<RefusedCase> cases;
  std::istringstream table(read_file(HEAPWOOD_SOURCE_DIR "/tests/app/refused.txt"));
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    line = replaced(line, "$D", folder);
    const std::size_t first = line.find('|'), second = line.find('|', first + 1);
    const std::string arguments = trimmed(line.substr(first + 1, second - first - 1)),
                      words = trimmed(line.substr(second + 1));
    const std::size_t begin = arguments.find('{'), end = arguments.find('}');
    std::istringstream choices(
        begin == arguments.npos ? "-" : arguments.substr(begin + 1, end - begin - 1));
    for (std::string choice; choices >> choice;) {
      RefusedCase one{std::stoi(line), arguments, {}};
      if (begin != arguments.npos) one.arguments.replace(begin, end + 1 - begin, choice);
      std::istringstream parts(replaced(words, "$1", choice));
      for (std::string word; std::getline(parts, word, ';');) one.words.push_back(trimmed(word));
      cases.push_back(one);
    }
  }
  return cases;
}

class Refused : public Executable {};

TEST_F(Refused, EachIsOneLineThatNamesTheCause) {
  const std::string triangle = "v 0 0 0\nv 1 0 0\nv 2 0 0\n";
  for (const char* name : {"other", "copy"}) std::filesystem::create_directory(folder_ / name);
  folder_.write("scene.obj", obj_text(400));
  folder_.write("copy/scene.obj", obj_text(400));
  folder_.write("other/scene.obj", obj_text(3));
  folder_.write("bad.obj", "v 0 0 0\nf 1 2 3\n");
  folder_.write("flat.obj", triangle + "f 1 2 3\nf 1 1 2\n");
  for (const char* name : {"kept.jpg", "kept.mtl", "kept"}) folder_.write(name, "kept");
  folder_.write("requests.csv", "allocate,1,x\n");
  folder_.write("flight.txt", "0 -9 3 30 8 6 5 40\n2 9 3 30 8 6 5 50\n");
  folder_.write("short.txt", "0 1 2 3 4 5 6 40\n1 2 3\n");
  folder_.write("meeting.txt", "0 -1 0 0 0 0 0 40\n2 1 0 0 0 0 0 40\n");
  folder_.write("long.txt", "0 0 0 0 1 0 0 40\n900000 1 0 0 2 0 0 40\n");
  ASSERT_EQ(run("build statue:1k --device cpu --record-trace @build.trace").exit, 0);
  for (const RefusedCase& one : refused_cases(folder_.path().string())) {
    SCOPED_TRACE("heapwood " + one.arguments);
    expect_error(one.arguments, one.exit, one.words);
  }
  EXPECT_EQ(read_file(folder_ / "kept.jpg") + read_file(folder_ / "kept"), "keptkept");
  for (const char* name : {"a.json", "a.trace", "a.png", "f_00.png"})
    EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
}

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

// The note that there is no GPU comes only when there is something to run.
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
