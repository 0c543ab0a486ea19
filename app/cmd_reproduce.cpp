// SPDX-License-Identifier: MIT
// The command reproduce: measures the papers' tables and figures, case by case, into results.json.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "app/commands.hpp"
#include "app/measuring.hpp"
#include "bench/compare/compare.hpp"
#include "bench/program/messages.hpp"
#include "bench/reproduce/reproduce.hpp"
#include "bench/results/format.hpp"
#include "bench/results/json.hpp"
#include "bench/results/table.hpp"
#include "simt/clock.hpp"
#include "simt/memory.hpp"

namespace heapwood::app {

namespace {

constexpr const char* reproduce_examples = R"(Examples:
  heapwood reproduce --list                              items and their numbers of cases
  heapwood reproduce --out out/reproduce                 all items, small: a minute on a CPU
  heapwood reproduce --full --out h200 --scenes meshes   the papers' parameters, on a GPU
  heapwood reproduce regeff-t3,bulk --full --out h200    add items to the same file
  heapwood reproduce --full --out h200 --minutes 9       stop after 9 minutes; repeat to continue
  heapwood reproduce --full --out h200/2 --shard 2/4     the second of four parts
Then 'make report' makes a page of it (docs/reproduction.md).)";

struct ReproduceOptions {
  std::string items = "all", allocators = "all", out, scenes, shard;
  bool quick = false, full = false, list = false;
  double minutes = 0, seconds = 0;
  DeviceOptions device;
};

// A table with a line per item: its cases, those measured, results that are not `ok`, and duration.
Table overview(const std::vector<const ReproduceItem*>& items, const ReproduceSetup& setup,
               const ReproduceResults* measured) {
  Table table;
  table.title = fmt::format("Items, {}", setup.full ? "with the papers' parameters" : "quick");
  table.columns = {{"item", true}, {"cases"}};
  if (measured) table.columns.insert(table.columns.end(), {{"measured"}, {"not ok"}, {"seconds"}});
  table.columns.push_back({"what", true, true});
  for (const ReproduceItem* item : items) {
    const std::vector<ReproduceCase> cases = reproduce_cases({item}, setup);
    std::size_t measured_cases = 0, not_ok = 0;
    double seconds = 0;
    for (const ReproduceCase& one : cases) {
      const Json* results = measured ? measured->results(one.key) : nullptr;
      if (!results) continue;
      ++measured_cases;
      seconds += measured->seconds(one.key);
      for (const Json& result : *results) not_ok += text_at(result, "status") != "ok";
    }
    std::vector<Cell> cells{item->id, count_text(cases.size())};
    if (measured)
      cells.insert(cells.end(), {count_text(measured_cases), count_text(not_ok),
                                 fmt::format("{:.1f}", seconds)});
    const std::string title = fmt::format("{}, {}: {}", item->paper, item->figure, item->title);
    cells.push_back(item->absent.empty() ? title : fmt::format("{} ({})", title, item->absent));
    table.add(std::move(cells));
  }
  return table;
}

void register_files(const ReproduceOptions& options, CommandFiles& files) {
  if (!options.out.empty() && !options.list) files.writes(results_path(options.out));
  std::error_code ignored;
  for (std::filesystem::directory_iterator mesh(options.scenes, ignored), end; mesh != end;
       mesh.increment(ignored))
    files.reads(mesh->path().string());
}

// Seconds since the command began, even if restart() has replaced the process.
double elapsed_seconds() {
  constexpr const char* begin = "HEAPWOOD_REPRODUCE_BEGIN";
  const double now =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  setenv(begin, std::to_string(now).c_str(), 0);
  return now - std::strtod(std::getenv(begin), nullptr);
}

// Replaces the process by one with the same command line, which measures the cases that are left.
[[noreturn]] void restart(const std::vector<std::string>& argv) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  throw_error(Exit::failed, "reproduce: cannot start a process for the next case: {}",
              std::strerror(errno));
}

struct Done {
  std::size_t measured = 0, kept = 0, left = 0;
  bool late = false;
};

// Measures the cases without a result that need no process of their own; if there are none, one
// case that does.
Done measure(const std::vector<ReproduceCase>& cases, const ReproduceOptions& options,
             const simt::DeviceId& device, ReproduceResults& results) {
  Progress progress;
  Done done;
  std::vector<const ReproduceCase*> missing_cases;
  for (const ReproduceCase& one : cases) {
    if (!results.has(one)) missing_cases.push_back(&one);
  }
  done.kept = cases.size() - missing_cases.size();
  done.left = missing_cases.size();
  const auto later =
      std::stable_partition(missing_cases.begin(), missing_cases.end(),
                            [](const ReproduceCase* one) { return !one->needs.any(); });
  std::vector<const ReproduceCase*> now(missing_cases.begin(), later);
  ProcessNeeds needs;
  if (now.empty() && !missing_cases.empty()) {
    now = {missing_cases.front()};
    needs = now.front()->needs;
  }
  if (needs.multiprocessors != 0) simt::limit_multiprocessors(device, needs.multiprocessors);
  // 2 GiB are enough for the largest pool of a stress test, so that figures do not depend on the
  // order of cases.
  const bool fresh = needs.heap_bytes != 0;
  simt::reserve_malloc_heap(device, fresh ? needs.heap_bytes : std::size_t{2} << 30, fresh);
  for (const ReproduceCase* one : now) {
    done.late = options.minutes > 0 && elapsed_seconds() > options.minutes * 60;
    if (done.late || simt::interrupted()) break;
    const auto begin = simt::HostClock::now();
    Json measured = one->measure([&](const std::string& what) {
      progress.update(done.measured, missing_cases.size(), one->key + ": " + what);
    });
    if (simt::interrupted()) break;  // the results of this case are incomplete
    results.add(*one, simt::seconds_since(begin), std::move(measured));
    results.write();
    // Otherwise the next process would measure it again.
    if (!results.has(*one)) throw_error(Exit::failed, "{}: an allocator has no result", one->key);
    ++done.measured;
    --done.left;
  }
  return done;
}

Exit reproduce(const ReproduceOptions& options, const std::vector<std::string>& argv) {
  const std::vector<const ReproduceItem*> items = find_items(options.items);
  ReproduceSetup setup;
  setup.full = options.full;
  setup.scenes = options.scenes;
  setup.seconds = options.seconds > 0 ? options.seconds : options.full ? 2 : 10;
  const Shard shard = chosen_shard(options.shard);
  setup.allocators = find_allocators(options.allocators);
  std::error_code ignored;
  if (!setup.scenes.empty() && !std::filesystem::is_directory(setup.scenes, ignored))
    throw_error(Exit::usage, "--scenes '{}': no such folder", setup.scenes);
  if (options.out.empty() && !options.list)
    throw Error(Exit::usage, "reproduce: no output folder: add --out DIR");
  setup.device =
      options.list ? choose_device(options.device, {}) : choose_measured_device(options.device, {});
  if (options.list) {
    print_tables({overview(items, setup, nullptr)});
    return Exit::done;
  }
  elapsed_seconds();
  ReproduceResults results(options.out, setup, argv);
  results.describe(reproduce_items(), setup);
  results.write();
  const Done done =
      measure(shard_of(reproduce_cases(items, setup), shard), options, setup.device.id, results);
  if (done.left != 0 && !done.late && !simt::interrupted()) restart(argv);

  Table table = overview(items, setup, &results);
  table.notes.push_back(fmt::format("device: {}", device_text(setup.device)));
  table.notes.push_back(fmt::format("{}: {} cases measured, {} reused, {} left", results.path(),
                                    done.measured, done.kept, done.left));
  print_tables({table});
  if (simt::interrupted())
    throw_error(
        Exit::failed,
        "reproduce: interrupted; the results so far are in {}; repeat the command to continue",
        results.path());
  if (done.left)
    note("{} cases left after {} minutes; repeat the command to continue", done.left,
         options.minutes);
  return Exit::done;
}

}  // namespace

void add_reproduce(Program& program, Invocation& invocation) {
  auto options = std::make_shared<ReproduceOptions>();
  CommandOptions command(program, "reproduce", "reproduce the tables and figures of the papers",
                         reproduce_examples);
  command.text("items", options->items,
               "all, ids, or groups: regeff, ouroboros, bulk,\nhost, own; separated by commas",
               "ITEMS");
  command.text("--out", options->out, "folder of results.json; results in it are reused", "DIR");
  command.flag("--quick", options->quick, "small parameters (the default)");
  command.flag("--full", options->full, "the papers' parameters");
  command.exclude("--full", "--quick");
  command.text("--scenes", options->scenes,
               "folder with the papers' meshes and graphs\n(conference.ply, ldoor.mtx, ...); "
               "default: procedural\nones of the same sizes",
               "DIR");
  add_allocators(command, options->allocators);
  command.number("--minutes", options->minutes, "start no case after this time; 0 = no limit",
                 {0, 1e6}, "M");
  command.number("--seconds", options->seconds,
                 "time limit of a kernel, and of one allocator in\none case (10; with --full 2)",
                 {0.001, 86400, false}, "S");
  add_shard_option(command, options->shard);
  command.flag("--list", options->list, "list the items without measuring");
  add_measured_device(command, options->device);
  command.when_chosen([options, &invocation] {
    register_files(*options, invocation.files);
    invocation.action = [options, &invocation] { return reproduce(*options, invocation.argv); };
  });
}

}  // namespace heapwood::app
