// SPDX-License-Identifier: MIT
#include "bench/build_settings.hpp"

#include <cmath>

#include "bench/program/messages.hpp"
#include "scenes/file.hpp"

namespace heapwood::bench {

namespace {

// Parses the entire text as a finite number.
std::optional<double> number(std::string_view text) {
  double value = 0;
  return scenes::parse_double(text, value) && std::isfinite(value) ? std::optional(value)
                                                                   : std::nullopt;
}

}  // namespace

void throw_unexpected(const std::string& what, const std::string& text,
                      const std::string& expected) {
  throw_error(Exit::usage, "{} '{}': expected {}", what, text, expected);
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    parts.push_back(text.substr(begin, end - begin));
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::size_t parse_bytes(const std::string& text) {
  const char* expected = "bytes, optionally with K, M, G or T (powers of 1024): 512M, 1.5G";
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> value = number(text.substr(0, digits));
  std::string suffix = text.substr(digits);
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  if (suffix.size() > 1 && suffix.ends_with("ib"))
    suffix.resize(suffix.size() - 2);
  else if (suffix.ends_with("b"))
    suffix.resize(suffix.size() - 1);
  static const std::string powers = "kmgt";
  const std::size_t power = suffix.empty() ? 0 : powers.find(suffix) + 1;
  if (!value || suffix.size() > 1 || (!suffix.empty() && power == 0))
    throw_unexpected("size", text, expected);
  const double bytes = *value * std::pow(1024.0, static_cast<double>(power));
  if (bytes < 1) throw_unexpected("size", text, "at least one byte");
  if (bytes > 1e15) throw_unexpected("size", text, "less than a petabyte");
  return static_cast<std::size_t>(bytes);
}

std::uint32_t parse_count(const std::string& option, const std::string& text, std::uint32_t max) {
  std::string digits = text;
  double factor = 1;
  if (text.ends_with('K') || text.ends_with('k')) factor = 1e3;
  if (text.ends_with('M') || text.ends_with('m')) factor = 1e6;
  if (factor > 1) digits.pop_back();
  const double value = number(digits).value_or(0) * factor;
  if (value < 1 || value > max || value != std::floor(value))
    throw_unexpected(option, text, fmt::format("a whole number from 1 to {}; 10K is 10000", max));
  return static_cast<std::uint32_t>(value);
}

PoolSize parse_pool(const std::string& text, const std::string& multiple_of) {
  PoolSize pool;
  pool.text = text;
  pool.for_speed = text == "fast";
  if (text == "fast" || text == "auto") return pool;
  const bool is_root = text.size() > 1 && (text.back() == 'x' || text.back() == 'X'),
             is_live = text.starts_with("live:");
  if (is_root || is_live) {
    const std::optional<double> multiple =
        number(is_live ? text.substr(5) : text.substr(0, text.size() - 1));
    const double max_multiple = is_live ? 1e9 : 1e6;
    if (!multiple || *multiple <= 0 || *multiple > max_multiple)
      throw_unexpected(
          "--pool", text,
          fmt::format("a multiple of {}, at most {:.0f}",
                      is_live ? "the peak bytes in use, as in live:4" : multiple_of, max_multiple));
    pool.kind = is_live ? PoolSize::Kind::live_multiple : PoolSize::Kind::root_multiple;
    pool.multiple = *multiple;
    return pool;
  }
  if (text.find_first_of("0123456789") != 0 && text.find('.') != 0)
    throw_unexpected("--pool", text, "fast, auto, a size (512M, 2G) or a multiple (200x, live:4)");
  pool.kind = PoolSize::Kind::bytes;
  pool.bytes = parse_bytes(text);
  return pool;
}

std::vector<PoolSize> parse_pools(const std::string& list) {
  return parse_list(list, [](const std::string& text) { return parse_pool(text); });
}

void refuse_live_pool(const PoolSize& pool, const std::string& command) {
  if (pool.kind != PoolSize::Kind::live_multiple) return;
  throw_error(Exit::usage,
              "{}: --pool {}: only builds of one scene measure the bytes "
              "in use first; use auto or a size (512M, 2G)",
              command, pool.text);
}

ImageSize parse_image_size(const std::string& text) {
  const std::vector<std::string> parts = split(text, 'x');
  constexpr const char* expected = "WIDTHxHEIGHT, each from 1 to 16384: 1920x1080";
  if (parts.size() != 2) throw_unexpected("--size", text, expected);
  unsigned side[2];
  for (std::size_t i = 0; i < 2; ++i) {
    if (!scenes::parse_number(parts[i], side[i]) || side[i] < 1 || side[i] > 16384)
      throw_unexpected("--size", text, expected);
  }
  return {side[0], side[1]};
}

unsigned parse_axis(const std::string& text) {
  if (text == "x") return 0;
  if (text == "y") return 1;
  if (text == "z") return 2;
  throw_unexpected("--up", text, "x, y or z");
}

kdtree::RefKind parse_refs(const std::string& text) {
  for (kdtree::RefKind kind : kdtree::all_ref_kinds) {
    if (text == kdtree::name(kind)) return kind;
  }
  throw_unexpected("--refs", text, "clipped, ids or boxes");
}

const kdtree::CostPreset& parse_prefer(const std::string& text) {
  for (const kdtree::CostPreset& preset : kdtree::cost_presets) {
    if (text == preset.name) return preset;
  }
  throw_unexpected("--prefer", text, "balanced, build, trace or update");
}

std::string device_text(const simt::DeviceInfo& device) {
  if (device.id.kind == simt::DeviceKind::cpu) {
    return fmt::format("{}: {}, {} thread{}", device.key, device.name, device.multiprocessors,
                       device.multiprocessors == 1 ? "" : "s");
  }
  return fmt::format("{}: {}, {} multiprocessors, {}", device.key, device.name,
                     device.multiprocessors, device.driver);
}

const registry::CompiledAllocator& compiled_for(const Allocator& entry,
                                                const simt::DeviceInfo& device) {
  const registry::CompiledAllocator* compiled = entry.on(device.id.kind);
  if (!compiled)
    throw_error(Exit::device, "{}: not compiled for {}; rebuild with CUDA or use --device cpu",
                entry.traits->id, device.key);
  return *compiled;
}

}  // namespace heapwood::bench
