// SPDX-License-Identifier: MIT
#include "app/all_gpus.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "bench/merge.hpp"
#include "bench/program/file_identity.hpp"
#include "bench/program/messages.hpp"
#include "bench/program/process.hpp"
#include "bench/program/progress.hpp"
#include "bench/program/side_by_side.hpp"
#include "bench/reproduce/results.hpp"
#include "scenes/file.hpp"

namespace heapwood::app {

namespace {

namespace fs = std::filesystem;

// Options that each process gets with a value of its own.
constexpr const char* own_options[] = {"--device", "--shard",  "--part",
                                       "--json",   "--format", "--out"};

// The shard of process `number` (from 0) of `count` processes that share the shard `whole`.
bench::Shard part_of(const bench::Shard& whole, std::size_t number, std::size_t count) {
  return {whole.number + whole.count * number, whole.count * count};
}

std::string results_file(const AllGpusCommand& command, const std::string& results) {
  return command.has_folder ? bench::results_path(results) : results;
}

// Changes whenever a process writes the file.
struct FileState {
  std::optional<bench::FileIdentity> identity;
  fs::file_time_type time{};
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return {};
  return {bench::identity_of(path), fs::last_write_time(path, ignored)};
}

// What the processes write to standard error, by process.
class ErrorLines {
 public:
  explicit ErrorLines(const std::vector<DeviceProcess>& devices)
      : devices_(devices), progress_(devices.size()) {}
  ~ErrorLines() { bench::clear_progress_line(); }
  ErrorLines(const ErrorLines&) = delete;
  ErrorLines& operator=(const ErrorLines&) = delete;

  void operator()(std::size_t process, const std::string& line) {
    const std::string& label = devices_[process].label;
    const auto without = [&](const std::string& prefix) {
      const std::string text = line.substr(prefix.size()), start = label + ": ";
      return text.starts_with(start) ? text : start + text;
    };
    const std::string note = "heapwood: note: ", warning = "heapwood: warning: ";
    if (line.starts_with(bench::progress_prefix)) {
      progress_[process] = without(bench::progress_prefix);
    } else if (line.starts_with(note)) {
      bench::note(without(note));
    } else if (line.starts_with(warning)) {
      bench::warning(without(warning));
    } else {
      bench::clear_progress_line();
      bench::write_error(fmt::format("{}: {}\n", label, bench::one_line(line)));
    }
    if (line.starts_with(bench::progress_prefix)) bench::show_progress_line(progress_);
  }

 private:
  const std::vector<DeviceProcess>& devices_;
  std::vector<std::string> progress_;
};

// The lines of all processes in one table, with the column `device` in front.
void print_csv(const std::vector<DeviceProcess>& devices,
               const std::vector<bench::ProcessOutcome>& outcomes) {
  std::string header;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const std::string& text = outcomes[i].out;
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = std::min(text.find('\n', start), text.size());
      const std::string line = text.substr(start, end - start);
      if (start == 0) {
        if (line != header) fmt::print("device,{}\n", line);
        header = line;
      } else {
        fmt::print("{},{}\n", devices[i].label, line);
      }
      start = end + 1;
    }
  }
}

void print_outputs(const AllGpusCommand& command, const std::vector<DeviceProcess>& devices,
                   const std::vector<bench::ProcessOutcome>& outcomes) {
  const char* between = "";
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].out.empty()) continue;
    fmt::print("{}{}{}\n\n{}", between, command.format == "markdown" ? "## " : "", devices[i].label,
               outcomes[i].out);
    between = "\n";
  }
}

// What failed, each text once: "cuda:0, cuda:1: unknown allocator 'x'".
std::string failure_text(const std::vector<DeviceProcess>& devices,
                         const std::vector<bench::ProcessOutcome>& outcomes) {
  std::vector<std::pair<std::string, std::string>> texts;  // and labels
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].is_done()) continue;
    std::string text = outcomes[i].errors.empty()
                           ? outcome_text(outcomes[i])
                           : fmt::format("{}", fmt::join(outcomes[i].errors, "; "));
    const std::string label = devices[i].label;
    if (text.starts_with(label + ": ")) text.erase(0, label.size() + 2);
    const auto known = std::find_if(texts.begin(), texts.end(),
                                    [&](const auto& one) { return one.first == text; });
    if (known == texts.end())
      texts.emplace_back(text, label);
    else
      known->second += ", " + label;
  }
  std::string all;
  for (const auto& [text, labels] : texts)
    all += fmt::format("{}{}: {}", all.empty() ? "" : "; ", labels, text);
  return all;
}

std::vector<DeviceProcess> usable_gpus(const std::string& program, const std::string& name) {
  // By another process: looking at a GPU creates a context, which stays as long as this process.
  const auto outcome =
      bench::SideBySide(program)
          .run({{name, "list", "devices", "--json"}}, [](std::size_t, const std::string&) {})
          .front();
  std::vector<DeviceProcess> gpus;
  std::string reason = outcome.is_done() ? "no GPU" : outcome_text(outcome);
  const bench::Json list = bench::Json::parse(outcome.out, nullptr, false);
  for (const bench::Json& device :
       list.is_object() ? list.value("devices", bench::Json::array()) : bench::Json::array()) {
    if (device.value("kind", "") != "cuda") continue;
    const std::string key = device.value("key", "");
    if (device.value("usable", false))
      gpus.push_back({key, key});
    else
      reason = device.value("reason", reason);
  }
  if (gpus.empty()) throw Error(Exit::device, fmt::format("device 'cuda:all': {}", reason));
  return gpus;
}

}  // namespace

void refuse_on_all_gpus(const std::string& command, const std::string& option) {
  throw Error(Exit::usage, fmt::format("{}: {} is for one device, not for --device cuda:all; use "
                                       "--device cuda:N",
                                       command, option));
}

std::string process_results(const AllGpusCommand& command, const std::string& label) {
  std::string name = label;
  std::erase(name, ':');
  fs::path path(command.results);
  if (command.has_folder) return (path / name).string();
  const std::string end = path.extension().string();
  return path.replace_extension("." + name + end).string();
}

std::vector<std::string> process_arguments(const AllGpusCommand& command, const std::string& device,
                                           const bench::Shard& shard, const std::string& results) {
  std::vector<std::string> added{"--device", device, "--shard", bench::shard_text(shard)};
  if (!results.empty())
    added.insert(added.end(), {command.has_folder ? "--out" : "--json", results});
  // The processes' tables are not shown beside JSON.
  if (!command.format.empty())
    added.insert(added.end(), {"--format", command.format == "json" ? "csv" : command.format});
  std::vector<std::string> words{command.argv.at(0)};
  bool is_behind_name = false;
  for (std::size_t i = 1; i < command.argv.size(); ++i) {
    const std::string& word = command.argv[i];
    if (is_behind_name && word == "--") {  // positional arguments only
      words.insert(words.end(), command.argv.begin() + static_cast<std::ptrdiff_t>(i),
                   command.argv.end());
      break;
    }
    bool is_own = false;
    for (const std::string option : own_options) {
      if (word == option) ++i;
      is_own |= word == option || word.starts_with(option + "=");
    }
    if (is_own) continue;
    words.push_back(word);
    if (is_behind_name) continue;
    if (word == "--host-allocator" && i + 1 < command.argv.size())
      words.push_back(command.argv[++i]);
    if (word != command.name) continue;
    is_behind_name = true;
    words.insert(words.end(), added.begin(), added.end());
  }
  return words;
}

Exit measure_on_all_gpus(const AllGpusCommand& command, const Invocation& invocation) {
  if (!invocation.host.trace.empty()) refuse_on_all_gpus(command.name, "--host-trace");
  const std::string program = "/proc/self/exe";
  return measure_on(command, program, usable_gpus(program, command.argv.at(0)));
}

Exit measure_on(const AllGpusCommand& given, const std::string& program,
                const std::vector<DeviceProcess>& devices) {
  AllGpusCommand command = given;
  const bench::Shard whole = bench::chosen_shard(command.shard);
  // JSON on standard output is merged from files, too.
  std::string temporary;
  if (command.results.empty() && command.format == "json") {
    temporary = (fs::temp_directory_path() / "heapwood-all-XXXXXX").string();
    if (!::mkdtemp(temporary.data()))
      throw Error(Exit::failed, temporary + ": cannot create a folder; set TMPDIR or give --json");
    command.results = (fs::path(temporary) / "results.json").string();
  }
  const auto remove = [](const std::string* folder) {
    std::error_code ignored;
    if (!folder->empty()) fs::remove_all(*folder, ignored);
  };
  const std::unique_ptr<const std::string, decltype(remove)> cleanup(&temporary, remove);

  std::unique_ptr<bench::OutputFile> file;  // locked while the processes run
  if (!command.results.empty()) {
    std::error_code ignored;
    if (command.has_folder) fs::create_directories(command.results, ignored);
    file = std::make_unique<bench::OutputFile>(results_file(command, command.results));
  }
  std::vector<std::vector<std::string>> processes;
  std::vector<std::string> parts;
  std::vector<FileState> before;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string results = file ? process_results(command, devices[i].label) : "";
    processes.push_back(
        process_arguments(command, devices[i].device, part_of(whole, i, devices.size()), results));
    parts.push_back(file ? results_file(command, results) : "");
    before.push_back(state_of(parts.back()));
  }
  if (isatty(STDERR_FILENO) == 1)
    ::setenv(bench::progress_variable, "lines", 1);
  else
    ::unsetenv(bench::progress_variable);
  std::vector<bench::ProcessOutcome> outcomes;
  {
    ErrorLines lines(devices);
    outcomes = bench::SideBySide(program).run(
        processes, [&](std::size_t process, const std::string& line) { lines(process, line); });
  }
  if (command.format == "csv")
    print_csv(devices, outcomes);
  else if (command.format != "json")
    print_outputs(command, devices, outcomes);

  std::optional<Error> merge_error;
  std::size_t kept = 0;
  if (file) {
    try {
      std::optional<bench::ResultsFile> earlier;
      std::error_code ignored;
      if (command.keeps_results && fs::exists(file->path(), ignored))
        earlier = bench::read_results(file->path());
      std::vector<bench::ResultsFile> shards;
      for (std::size_t i = 0; i < parts.size(); ++i) {
        // A file of an earlier command, if the process failed before it wrote any results.
        const bool is_new = state_of(parts[i]) != before[i];
        if (is_new || (command.keeps_results && fs::exists(parts[i], ignored)))
          shards.push_back(bench::read_results(parts[i]));
      }
      if (!shards.empty()) {
        const bench::Merged merged = bench::merge_results(earlier, std::move(shards), false);
        const std::string text = bench::json_text(merged.json);
        file->write(text);
        kept = merged.results;
        if (command.format == "json") fmt::print("{}", text);
      }
    } catch (const Error& error) {
      merge_error = error;
    }
  }
  const auto failed = std::find_if(outcomes.begin(), outcomes.end(),
                                   [](const auto& one) { return !one.is_done(); });
  if (failed != outcomes.end()) {
    const bool is_ours = failed->exit >= static_cast<int>(Exit::failed) &&
                         failed->exit <= static_cast<int>(Exit::exhausted);
    const std::string where =
        kept > 0 && temporary.empty()
            ? fmt::format("; {} results are in {}", kept, scenes::printable(file->path(), 400))
            : "";
    throw Error(is_ours ? static_cast<Exit>(failed->exit) : Exit::failed,
                fmt::format("{}: {}{}", command.name, failure_text(devices, outcomes), where));
  }
  if (merge_error) throw *merge_error;
  return Exit::done;
}

}  // namespace heapwood::app
