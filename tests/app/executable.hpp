// SPDX-License-Identifier: MIT
// Runs the real `heapwood` (environment variable HEAPWOOD_BINARY, set by ctest) and captures its
// output.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "bench/program/command_options.hpp"
#include "tests/errors.hpp"
#include "tests/folder.hpp"

namespace heapwood::tests {

using nlohmann::json;

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Parses words separated by blanks.
inline bool parse(bench::Program& program, const std::string& arguments) {
  std::istringstream text("heapwood " + arguments);
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  std::vector<const char*> argv;
  for (const std::string& one : words) argv.push_back(one.c_str());
  return program.parse(static_cast<int>(argv.size()), argv.data());
}

// The text of an OBJ file with n triangles that the builder has to split.
inline std::string obj_text(unsigned n) {
  std::ostringstream text;
  for (unsigned i = 0; i < n; ++i) {
    const double x = i % 17, y = (i * 7) % 13, z = (i * 3) % 11;
    text << "v " << x << ' ' << y << ' ' << z << "\nv " << x + 0.9 << ' ' << y << ' ' << z + 0.2
         << "\nv " << x << ' ' << y + 0.8 << ' ' << z + 0.1 << "\n";
  }
  for (unsigned i = 0; i < n; ++i)
    text << "f " << 3 * i + 1 << ' ' << 3 * i + 2 << ' ' << 3 * i + 3 << "\n";
  return text.str();
}

struct Outcome {
  int exit = -1;  // the exit status, or minus the signal that ended the process
  std::string out, err;
};

// A running program; wait() returns its outcome. out_path: the file for standard output.
class Running {
 public:
  Running(const std::string& program, const std::vector<std::string>& arguments,
          const std::string& out_path = "")
      : out_(out_path.empty() ? folder_ / "out" : out_path), err_(folder_ / "err") {
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments)
      argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) return;
    const int out = open(out_.c_str(), O_WRONLY | O_CREAT, 0600),
              err = open(err_.c_str(), O_WRONLY | O_CREAT, 0600);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  ~Running() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void send(int signal) const { kill(pid_, signal); }
  bool ended() const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid != 0;
  }
  // Waits until the program has used this CPU time: on a busy machine it has then done as much work
  // as on an idle one. A signal before it has installed its handlers would end it immediately.
  void wait_for_cpu_seconds(double seconds) const {
    while (!ended() && cpu_seconds() < seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  double cpu_seconds() const {
    const std::string text = read_file("/proc/" + std::to_string(pid_) + "/stat");
    std::istringstream fields(text.substr(text.rfind(')') + 1));
    std::string skipped;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    double user = 0, system = 0;
    fields >> user >> system;
    return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  Outcome wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    Outcome outcome;
    outcome.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (std::filesystem::is_regular_file(out_)) outcome.out = read_file(out_);
    outcome.err = read_file(err_);
    return outcome;
  }

 private:
  Folder folder_;
  std::string out_, err_;
  pid_t pid_ = 0;
};

// The arguments of `heapwood`: words, or a line of words separated by blanks, in which '' is an
// empty word and @NAME a file in the test's folder.
struct Command {
  Command(const char* text) : line(text) {}
  Command(std::string text) : line(std::move(text)) {}
  Command(std::vector<std::string> list) : words(std::move(list)) {}
  Command(std::initializer_list<std::string> list) : words(list) {}
  std::string line;
  std::vector<std::string> words;
};

class Executable : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("HEAPWOOD_BINARY");
    if (!path) GTEST_SKIP() << "HEAPWOOD_BINARY is not set: run the tests with ctest";
    binary_ = path;
  }
  std::vector<std::string> arguments_of(const Command& command) const {
    std::vector<std::string> words = command.words;
    std::istringstream line(command.line);
    for (std::string word; line >> word;) {
      for (std::size_t mark = 0; (mark = word.find('@', mark)) != word.npos;)
        word.replace(mark, 1, folder_ / "");
      words.push_back(word == "''" ? "" : word);
    }
    return words;
  }
  Running start(const Command& command, const std::string& out_path = "") const {
    return Running(binary_, arguments_of(command), out_path);
  }
  Outcome run(const Command& command) const { return start(command).wait(); }
  // Expects this exit code.
  Outcome run(const Command& command, int exit) const {
    const Outcome outcome = run(command);
    EXPECT_EQ(outcome.exit, exit) << command.line << '\n' << outcome.err << outcome.out;
    return outcome;
  }
  // The standard output of a command that succeeds.
  std::string output(const Command& command) const { return run(command, 0).out; }
  // The JSON that the command prints with --format json.
  json run_json(const Command& command) const {
    return json::parse(output(command), nullptr, false);
  }

  // Expects this exit code and exactly one error line, which contains all words.
  void expect_error(const Command& command, int exit, const std::vector<std::string>& words) const {
    const Outcome outcome = run(command, exit);
    std::istringstream lines(outcome.err);
    int errors = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("heapwood: note: ", 0) == 0) continue;
      EXPECT_EQ(line.rfind("heapwood: error: ", 0), 0u) << line;
      for (const std::string& word : words)
        EXPECT_NE(line.find(word), std::string::npos) << line << "\nlacks " << word;
      ++errors;
    }
    EXPECT_EQ(errors, 1) << outcome.err;
  }

  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  std::string binary_;
  Folder folder_;
};

// Tests of commands on a scene, @scene.obj.
class SceneCommands : public Executable {
 protected:
  void SetUp() override {
    Executable::SetUp();
    write_file(scene_, obj_text(200));
  }
  // Runs a bash command in the test's folder; $H is the program, $B a build of the scene.
  Outcome shell(const std::string& command) const {
    return Running("/bin/bash",
                   {"-c", "cd '" + folder_.path().string() + "'; H='" + binary_ +
                              "'; B=\"$H build scene.obj --runs 1 --device cpu\"\n" + command})
        .wait();
  }

  std::string scene_ = folder_ / "scene.obj";
};

}  // namespace heapwood::tests
