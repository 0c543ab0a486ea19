// SPDX-License-Identifier: MIT
#include "bench/program/messages.hpp"

#if __has_include("heapwood_git.hpp")
#include "heapwood_git.hpp"
#endif

namespace heapwood::bench {

namespace {
#if defined(HEAPWOOD_GIT_SHA)
constexpr const char* built_version = HEAPWOOD_VERSION;
constexpr const char* built_sha = HEAPWOOD_GIT_SHA;
constexpr int built_dirty = HEAPWOOD_GIT_DIRTY;  // -1: unknown
constexpr const char* built_compilers = HEAPWOOD_COMPILERS;
#else
constexpr const char* built_version = "unknown";
constexpr const char* built_sha = "";
constexpr int built_dirty = -1;
constexpr const char* built_compilers = "unknown";
#endif
}  // namespace

std::string version() { return built_version; }

std::string git_sha() { return *built_sha ? built_sha : "unknown"; }

std::optional<bool> git_dirty() {
  if (built_dirty < 0) return std::nullopt;
  return built_dirty != 0;
}

std::string git_text() { return git_sha() + (git_dirty().value_or(false) ? "+changes" : ""); }

std::string compilers() { return built_compilers; }

std::string version_line() {
  return "heapwood " + version() + (git_sha() == "unknown" ? "" : " (" + git_text() + ")");
}

}  // namespace heapwood::bench
