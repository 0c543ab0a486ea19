// SPDX-License-Identifier: MIT
// Counts the words of a text. Each thread reads a line, copies each word into a string of exactly
// its length, and grows its list of words with realloc.
#include <cstdio>
#include <cstring>
#include <heapwood/heap.hpp>
#include <heapwood/parallel.hpp>
#include <map>
#include <string>

const char* const text =
    "the warp that takes the last piece of the list closes the list\n"
    "the block that it takes is the block of the warp\n"
    "a warp that waits for a block waits for the list of a warp\n";

// The words of one line, in the heap.
struct Words {
  char** words;
  unsigned count, capacity;
};

struct Split {
  heapwood::heap_handle heap;
  const char* text;
  Words* lines;

  HEAPWOOD_DEVICE void operator()(unsigned line) const {
    const char* at = text;
    for (unsigned i = 0; i < line; ++at) i += *at == '\n';
    Words all{};
    for (;;) {
      while (*at == ' ') ++at;
      unsigned length = 0;
      while (at[length] != ' ' && at[length] != '\n') ++length;
      if (length == 0) break;
      if (all.count == all.capacity) {
        const unsigned capacity = all.capacity == 0 ? 2 : 2 * all.capacity;
        void* const grown =
            heap.realloc(all.words, all.capacity * sizeof(char*), capacity * sizeof(char*));
        if (grown == nullptr) break;
        all.words = static_cast<char**>(grown);
        all.capacity = capacity;
      }
      auto* const word = static_cast<char*>(heap.malloc(length + 1));
      if (word == nullptr) break;
      for (unsigned i = 0; i < length; ++i) word[i] = at[i];
      word[length] = 0;
      all.words[all.count++] = word;
      at += length;
    }
    lines[line] = all;
  }
};

// The host cannot read the heap of a GPU, so the words are copied to shared memory.
struct CopyAndFree {
  heapwood::heap_handle heap;
  Words* lines;
  char* out;  // 512 characters per line: words, each followed by a space

  HEAPWOOD_DEVICE void operator()(unsigned line) const {
    char* to = out + line * 512;
    for (unsigned i = 0; i < lines[line].count; ++i) {
      char* const word = lines[line].words[i];
      for (const char* c = word; *c != 0; ++c) *to++ = *c;
      *to++ = ' ';
      heap.free(word);
    }
    heap.free(lines[line].words);
  }
};

int main() {
  constexpr unsigned lines = 3;
  heapwood::heap heap(16 << 20);
  heapwood::shared_array<char> input(std::strlen(text) + 1), output(lines * 512);
  std::strcpy(input.data(), text);
  heapwood::shared_array<Words> words(lines);

  heapwood::for_each_thread(lines, Split{heap.handle(), input.data(), words.data()});
  heapwood::for_each_thread(lines, CopyAndFree{heap.handle(), words.data(), output.data()});

  std::map<std::string, unsigned> counts;
  for (unsigned line = 0; line < lines; ++line) {
    const std::string all = output.data() + line * 512;
    for (std::size_t from = 0, to; (to = all.find(' ', from)) != std::string::npos; from = to + 1)
      ++counts[all.substr(from, to - from)];
  }
  for (const auto& [word, count] : counts) std::printf("%2u %s\n", count, word.c_str());
  return counts["the"] == 8 && counts["warp"] == 4 && heap.report_leaks() == 0 ? 0 : 1;
}
