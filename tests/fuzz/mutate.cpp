// SPDX-License-Identifier: MIT
// main() of a fuzz target for compilers without libFuzzer: runs every file of the folder, then
// random changes of these files.
//   fuzz_NAME FOLDER [SECONDS [SEED]]
// The input that fails is written to failed-NAME in the current folder.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// A function of the sanitizers' runtime.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using Random = std::minstd_rand;

std::string input, failed_path;

void write_input() {
  const int file = open(failed_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  [[maybe_unused]] const auto written = write(file, input.data(), input.size());
  close(file);
}
void on_signal(int number) {
  write_input();
  ::signal(number, SIG_DFL);
  raise(number);
}

void run(const std::string& text) {
  input = text;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

std::size_t below(Random& random, std::size_t n) { return random() % n; }

void change(std::string& text, const std::vector<std::string>& seeds, Random& random) {
  static const std::string words[] = {
      "0",  "-1", "1e39", "4294967296",         "nan",  "1e-320", "\xff", "\xc0",
      "\n", "[[", "{\"",  std::string(8, '\0'), "null", "\"\"",   ",",    " "};
  if (text.empty()) text = seeds[below(random, seeds.size())];
  if (text.empty()) text = "0";
  const std::size_t index = below(random, text.size());
  const std::size_t length = std::min(below(random, 16), text.size() - index);
  const std::string& other = seeds[below(random, seeds.size())];
  switch (below(random, 8)) {
    case 0:
      text[index] = static_cast<char>(text[index] ^ 1 << below(random, 8));
      break;
    case 1:
      text[index] = static_cast<char>(below(random, 256));
      break;
    case 2:
      text.erase(index, length);
      break;
    case 3:
      text.insert(index, text.substr(below(random, text.size()), length));
      break;
    case 4:
      text.resize(index);
      break;
    case 5:
      text.insert(index, words[below(random, std::size(words))]);
      break;
    case 6:
      text.replace(index, length, words[below(random, std::size(words))]);
      break;
    default:
      if (!other.empty())
        text.replace(index, length, other.substr(below(random, other.size()), 64));
      break;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = std::filesystem::path(argv[0]).filename();
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s FOLDER [SECONDS [SEED]]\n", name.c_str());
    return 2;
  }
  failed_path = std::filesystem::absolute("failed-" + name);
  for (const int number : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL, SIGTERM})
    ::signal(number, on_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(write_input);

  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> seeds;
  for (const std::string& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    run(seeds.back());
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "%s: no inputs in %s\n", name.c_str(), argv[1]);
    return 1;
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
  Random random(argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1);
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::size_t runs = 0;
  for (; Clock::now() < end; ++runs) {
    std::string text = seeds[below(random, seeds.size())];
    for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes)
      change(text, seeds, random);
    run(text);
  }
  std::printf("%s: %zu files, %zu changed inputs\n", name.c_str(), seeds.size(), runs);
}
