// SPDX-License-Identifier: MIT
#include "app/command_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstddef>

#include "bench/program/options.hpp"

namespace heapwood::app {

CommandOptions::CommandOptions(CLI::App& app, const char* name, const char* what,
                               const char* examples)
    : command_(app.add_subcommand(name, what)) {
  command_->footer(examples);
}

void CommandOptions::text(const char* name, std::string& value, const char* what,
                          const char* type) {
  CLI::Option* option = command_->add_option(name, value, what)->type_name(type);
  if (!value.empty()) option->capture_default_str();
}

void CommandOptions::texts(const char* name, std::vector<std::string>& values, const char* what,
                           const char* type) {
  command_->add_option(name, values, what)->type_name(type);
}

void CommandOptions::choice(const char* name, std::string& value, const char* what,
                            const std::vector<std::string>& values) {
  command_->add_option(name, value, what)
      ->capture_default_str()
      ->check(bench::quiet(CLI::IsMember(values)))
      ->type_name(fmt::format("{}", fmt::join(values, "|")));
}

void CommandOptions::flag(const char* name, bool& value, const char* what) {
  command_->add_flag(name, value, what);
}

template <class T>
void CommandOptions::number(const char* name, T& value, const char* what, Limits limits,
                            const char* type) {
  CLI::Option* option = command_->add_option(name, value, what)
                            ->transform(bench::between(limits.min, limits.max))
                            ->type_name(type);
  if (limits.shows_default) option->capture_default_str();
}
template void CommandOptions::number(const char*, int&, const char*, Limits, const char*);
template void CommandOptions::number(const char*, unsigned&, const char*, Limits, const char*);
template void CommandOptions::number(const char*, std::size_t&, const char*, Limits, const char*);
template void CommandOptions::number(const char*, double&, const char*, Limits, const char*);

void CommandOptions::parsed(const char* name, const std::function<void(const std::string&)>& parse,
                            const char* what, const char* type, const std::string& default_text) {
  command_->add_option_function<std::string>(name, parse, what)
      ->default_str(default_text)
      ->type_name(type);
}

void CommandOptions::exclude(const char* name, const char* other) {
  command_->get_option(name)->excludes(command_->get_option(other));
}

void CommandOptions::remove(const char* name) {
  command_->remove_option(command_->get_option(name));
}

void CommandOptions::describe(const char* name, const char* what) {
  command_->get_option(name)->description(what);
}

std::vector<std::string> CommandOptions::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : static_cast<const CLI::App*>(command_)->get_options()) {
    if (option->count() > 0 && option->nonpositional()) names.push_back(option->get_name());
  }
  return names;
}

void CommandOptions::when_chosen(const std::function<void()>& f) { command_->callback(f); }

}  // namespace heapwood::app
