// SPDX-License-Identifier: MIT
// What the executable is given by others: damaged files, names that control a terminal, numbers in
// other notations; and too little memory or too few threads.
#include <algorithm>

#include "tests/app/executable.hpp"

namespace heapwood::tests {
namespace {

class Untrusted : public SceneCommands {
 protected:
  std::vector<std::string> bench(const std::string& report) const {
    return {"bench",  scene_, "--device", "cpu",  "--allocators", "atomic",
            "--runs", "2",    "--json",   report, "--resume"};
  }
  // Runs the command under a limit of the shell, such as "ulimit -v 100000". Expects one error
  // line, and no crash.
  Outcome limited(const std::string& limit, const std::string& arguments) const {
    const Outcome outcome =
        Running("/bin/bash", {"-c", limit + "; '" + binary_ + "' " + arguments}).wait();
    EXPECT_TRUE(outcome.exit == 0 || outcome.exit == 1 || outcome.exit == 3)
        << limit << ": " << outcome.exit << " " << outcome.err;
    const bool error = outcome.err.rfind("heapwood: error: ", 0) == 0;
    if (outcome.exit != 0 && outcome.exit != 127) {
      EXPECT_TRUE(error && std::ranges::count(outcome.err, '\n') == 1)
          << limit << ": " << outcome.err;
    }
    return outcome;
  }
  // Sanitizers reserve more memory than a limit leaves.
  bool can_limit_memory() const {
    return Running("/bin/bash", {"-c", "ulimit -v 400000; '" + binary_ + "' --version"})
               .wait()
               .exit == 0;
  }
};

TEST_F(Untrusted, DamagedResultsAreNamed) {
  const std::string report = folder_ / "report.json";
  output(bench(report));
  const std::string good = read_file(report);
  write_file(report, good.substr(0, good.size() / 2));
  expect_error(bench(report), 1, {"report.json: line ", "not valid JSON"});
  write_file(report, std::string(100000, '['));
  expect_error(bench(report), 1, {"report.json", "nested"});
  write_file(report, R"({"schema":"heapwood.bench/1","results":[)" + std::string(1000, '['));
  expect_error(bench(report), 1, {"report.json"});
  // A result whose value has an unexpected type is measured again.
  json changed = json::parse(good);
  changed["results"][0]["settings"] = 7;
  write_file(report, changed.dump());
  output(bench(report));
  std::filesystem::create_directory(folder_ / "out");
  for (const char* text :
       {"{", "[1]", R"({"schema":"heapwood.reproduce/1","device":7})",
        R"({"schema":"heapwood.reproduce/1","device":{},"runs":[],"items":[],"cases":[7]})",
        R"({"schema":"heapwood.reproduce/1","device":{},"runs":[],"items":[1],"cases":[]})"}) {
    write_file(folder_ / "out/results.json", text);
    expect_error("reproduce regeff-t3 --device cpu --out @out", 1, {"out/results.json"});
  }
}

TEST_F(Untrusted, NamesDoNotControlTheTerminal) {
  const std::string odd = folder_ / "a\x1b[31m\xc2\x9b\n\xe2\x80\xae.obj",
                    report = folder_ / "report.json";
  std::filesystem::rename(scene_, odd);
  scene_ = odd;
  const auto check = [](const Outcome& outcome) {
    for (const std::string& text : {outcome.out, outcome.err}) {
      for (const char* control : {"\x1b", "\xc2\x9b", "\xe2\x80\xae"})
        EXPECT_EQ(text.find(control), std::string::npos) << text;
    }
  };
  for (const char* format : {"table", "markdown", "csv", "json"}) {
    std::vector<std::string> command = bench(report);
    command.insert(command.end(), {"--format", format});
    check(run(command));
  }
  json changed = json::parse(read_file(report));
  for (const char* key : {"scene", "label", "reason"})
    changed["results"][0][key] = "x\x1b]0;y\x07\xc2\x9b\xe2\x80\xae";
  write_file(report, changed.dump());
  const Outcome resumed = run(bench(report));
  expect_words(resumed.err, {"results reused"});
  check(resumed);
  check(run({"build", scene_ + "\x1b[31m", "--device", "cpu"}));
  check(run({"render", scene_, "-o", scene_ + ".png", "--size", "16x16", "--spp", "1", "--device",
             "cpu"}));
}

TEST_F(Untrusted, NumbersAreDecimal) {
  const std::string report = folder_ / "report.json";
  output("build " + scene_ + " --runs 010 --threads 02 --device cpu --json " + report);
  const json all = json::parse(read_file(report));
  EXPECT_EQ(all.at("results")[0].at("runs_ms").size(), 10u);
  EXPECT_EQ(all.at("device").at("threads"), 2);
}

TEST_F(Untrusted, TooLittleMemoryIsOneLine) {
  if (!can_limit_memory()) GTEST_SKIP() << "the program needs more memory than the limit";
  write_file(scene_, obj_text(3000));
  int failed = 0;
  const std::string trace = "trace '" + scene_ + "' --size 256x256 --runs 1 --device cpu";
  for (int kib = 30000; kib <= 90000; kib += 12000)
    failed += limited("ulimit -v " + std::to_string(kib), trace).exit != 0;
  EXPECT_GT(failed, 0);
  // A report that is larger in memory than the limit.
  std::string report = R"({"schema":"heapwood.bench/1","results":[0)";
  for (int i = 0; i < 1000000; ++i) report += ",[1]";
  write_file(folder_ / "large.json", report + "]}");
  const Outcome outcome = limited(
      "ulimit -v 80000", "bench '" + scene_ + "' --allocators atomic --device cpu --json '" +
                             (folder_ / "large.json") + "' --resume");
  EXPECT_EQ(outcome.exit, 1);
  expect_words(outcome.err, {"out of host memory"});
}

TEST_F(Untrusted, TooFewThreadsAreOneLine) {
  if (!can_limit_memory()) GTEST_SKIP() << "the program needs more memory than the limit";
  // Each thread needs 64 MiB for its stack.
  const Outcome outcome = limited("ulimit -s 65536 -v 1000000",
                                  "build '" + scene_ + "' --device cpu --threads 64 --pool 8M");
  EXPECT_EQ(outcome.exit, 1);
  expect_words(outcome.err, {"thread"});
}

}  // namespace
}  // namespace heapwood::tests
