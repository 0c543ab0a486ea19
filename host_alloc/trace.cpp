// SPDX-License-Identifier: MIT
#include "host_alloc/trace.hpp"

#include <charconv>

namespace heapwood::host_alloc {

namespace {

constexpr std::string_view heading = "op,id,bytes";

// A part of a line for an error message: short, without control characters.
std::string quoted(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, 40)) shown += c >= 0x20 && c < 0x7f ? c : '?';
  return "'" + shown + (text.size() > 40 ? "...'" : "'");
}

bool parse_number(std::string_view text, std::uint64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string_view take_field(std::string_view& line) {
  const std::size_t comma = line.find(',');
  const std::string_view field = line.substr(0, comma);
  line = comma == std::string_view::npos ? std::string_view() : line.substr(comma + 1);
  return field;
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  void line(std::string_view text) {
    ++number_;
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    if (text.empty()) return;
    if (number_ == 1 && text == heading) return;
    std::string_view rest = text;
    const std::string_view op = take_field(rest), id_text = take_field(rest),
                           bytes_text = take_field(rest);
    if (op != "allocate" && op != "free")
      fail(quoted(op) + ": expected allocate,ID,BYTES or free,ID");
    std::uint64_t id = 0;
    if (!parse_number(id_text, id)) fail("id " + quoted(id_text) + ": expected a number");
    if (!rest.empty()) fail(quoted(rest) + ": nothing may follow the bytes");
    if (op == "allocate") {
      std::uint64_t bytes = 0;
      if (!parse_number(bytes_text, bytes) || bytes > largest_traced_request) {
        fail("bytes " + quoted(bytes_text) + ": expected a number up to " +
             std::to_string(largest_traced_request));
      }
      allocate(id, static_cast<std::size_t>(bytes));
    } else {
      if (!bytes_text.empty()) fail("bytes " + quoted(bytes_text) + ": a free has none");
      free(id);
    }
  }
  HostTrace take() { return trace_.trace(); }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Exit::scene, name_ + ":" + std::to_string(number_) + ": " + what);
  }

  void allocate(std::uint64_t id, std::size_t bytes) {
    if (!trace_.add_allocation(id, bytes))
      fail("id " + std::to_string(id) + ": is live already; free it first");
  }

  void free(std::uint64_t id) {
    if (!trace_.add_free(id)) fail("id " + std::to_string(id) + ": is not live; allocate it first");
  }

  const std::string& name_;
  std::size_t number_ = 0;
  HostTraceWriter trace_;
};

}  // namespace

bool HostTraceWriter::add_allocation(std::uint64_t id, std::size_t bytes) {
  const auto [entry, is_new] = live_.try_emplace(id, trace_.slots);
  if (!is_new) return false;
  if (vacant_.empty()) {
    ++trace_.slots;
  } else {
    entry->second = vacant_.back();
    vacant_.pop_back();
  }
  trace_.ops.push_back({entry->second, true, bytes});
  return true;
}

bool HostTraceWriter::add_free(std::uint64_t id) {
  const auto entry = live_.find(id);
  if (entry == live_.end()) return false;
  trace_.ops.push_back({entry->second, false, 0});
  vacant_.push_back(entry->second);
  live_.erase(entry);
  return true;
}

HostTrace parse_host_trace(std::string_view text, const std::string& name) {
  Parser parser(name);
  // Skips a byte order mark, which editors on Windows add.
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    parser.line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  HostTrace trace = parser.take();
  if (trace.ops.empty())
    throw Error(Exit::scene, name + ": no requests in it; expected lines allocate,ID,BYTES");
  return trace;
}

std::string host_trace_text(const HostTrace& trace) {
  std::string text(heading);
  text += '\n';
  for (const HostTraceOp& op : trace.ops) {
    text += (op.allocate ? "allocate," : "free,") + std::to_string(op.slot) + ',';
    if (op.allocate) text += std::to_string(op.bytes);
    text += '\n';
  }
  return text;
}

void* RecordedHostAllocator::allocate(std::size_t bytes, std::size_t alignment) {
  const std::lock_guard lock(mutex_);
  void* block = base_->allocate(bytes, alignment);
  if (block != nullptr) trace_.add_allocation(reinterpret_cast<std::uintptr_t>(block), bytes);
  return block;
}

void RecordedHostAllocator::deallocate(void* block) {
  if (block == nullptr) return;
  const std::lock_guard lock(mutex_);
  base_->deallocate(block);  // throws if it is not a live block
  trace_.add_free(reinterpret_cast<std::uintptr_t>(block));
}

HostTrace RecordedHostAllocator::trace() const {
  const std::lock_guard lock(mutex_);
  return trace_.trace();
}

}  // namespace heapwood::host_alloc
