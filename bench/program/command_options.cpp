// SPDX-License-Identifier: MIT
#include "bench/program/command_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>

#include "bench/program/messages.hpp"
#include "bench/results/format.hpp"
#include "simt/error.hpp"

namespace heapwood::bench {

namespace {

// Reads a number, without its leading zeros: CLI11 reads integers that start with one as octal.
std::optional<double> take_decimal(std::string& text) {
  const std::size_t digits = text.starts_with('+') || text.starts_with('-');
  const char *const start = text.data() + text.starts_with('+'), *const end =
                                                                     text.data() + text.size();
  double value = 0;
  // Uses std::from_chars, which ignores the locale and rejects leading blanks.
  const auto [rest, error] = std::from_chars(start, end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
  const std::size_t zeros = std::min(text.find_first_not_of('0', digits), text.size()) - digits;
  const bool is_digit = digits + zeros < text.size() && std::isdigit(text[digits + zeros]);
  if (zeros > 0) text.erase(digits, is_digit ? zeros : zeros - 1);
  return value;
}

CLI::Validator between(double min, double max) {
  const auto problem = [min, max](std::string& text) -> std::string {
    const std::optional<double> value = take_decimal(text);
    if (!value) return fmt::format("'{}' is not a number", text);
    if (*value >= min && *value <= max) return "";
    return fmt::format("{} is not between {} and {}", text, min, max);
  };
  return CLI::Validator(problem, "");
}

// CLI11's message; where it uses terms of its own, replaces them by words of the command line.
std::string usage_text(const CLI::ParseError& error) {
  const std::string text = error.what();
  if (const std::size_t end = text.find(": At Most 1 required"); end != std::string::npos)
    return text.substr(0, end) + " is given more than once";
  // Text that is not a number: the option's own check says that a whole number is expected.
  constexpr std::string_view start = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (text.starts_with(start) && equals != std::string::npos)
    return fmt::format("{}: '{}' is not a whole number",
                       text.substr(start.size(), equals - start.size()), text.substr(equals + 3));
  return text;
}

std::string command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return joined(names);
}

// Throws the problem, together with the command that it is about.
[[noreturn]] void refuse(const CLI::App& app, const std::string& problem) {
  const auto chosen = app.get_subcommands();
  const std::string name = chosen.empty() ? "" : chosen.front()->get_name();
  throw_error(Exit::usage, "{}{}; see '{}{} --help'", name.empty() ? "" : name + ": ", problem,
              app.get_name(), name.empty() ? "" : " " + name);
}

void refuse(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (!app.get_subcommands().empty() || !dynamic_cast<const CLI::RequiredError*>(&error))
    refuse(app, usage_text(error));
  if (unknown.empty()) refuse(app, "no command given: use one of " + command_names(app));
  if (unknown.front().starts_with('-'))
    refuse(app, fmt::format("unknown option '{}': give a command first", unknown.front()));
  refuse(app,
         fmt::format("unknown command '{}': use one of {}", unknown.front(), command_names(app)));
}

void refuse_empty_values(const CLI::App& app, const CLI::App& options) {
  for (const CLI::Option* option : options.get_options()) {
    for (const std::string& value : option->results()) {
      if (value.empty() && !option->get_positional())
        refuse(app, option->get_name() + ": the value is empty");
    }
  }
}

}  // namespace

CommandOptions::CommandOptions(Program& program, const char* name, const char* what,
                               const char* examples)
    : command_(program.app_->add_subcommand(name, what)) {
  command_->footer(examples);
  program.app_->require_subcommand(1);
}

void CommandOptions::text(const std::string& name, std::string& value, const std::string& what,
                          const char* type) {
  CLI::Option* option = command_->add_option(name, value, what)->type_name(type);
  if (!value.empty()) option->capture_default_str();
}

void CommandOptions::texts(const std::string& name, std::vector<std::string>& values,
                           const std::string& what, const char* type) {
  command_->add_option(name, values, what)->type_name(type);
}

void CommandOptions::choice(const std::string& name, std::string& value, const std::string& what,
                            const std::vector<std::string>& values, std::string type) {
  if (type.empty()) type = joined(values, "|");
  CLI::Option* option = command_->add_option(name, value, what)->type_name(type);
  option->check(CLI::IsMember(values).description(""));
  if (!value.empty()) option->capture_default_str();
}

void CommandOptions::flag(const std::string& name, bool& value, const std::string& what) {
  command_->add_flag(name, value, what);
}

template <class T>
void CommandOptions::number(const std::string& name, T& value, const std::string& what,
                            Limits limits, const char* type) {
  CLI::Option* option = command_->add_option(name, value, what)
                            ->transform(between(limits.min, limits.max))
                            ->type_name(type);
  // fmt prints 0.05f as 0.05; CLI11 would print all digits of the float.
  if (limits.shows_default) option->default_str(fmt::format("{}", value));
}
using Name = const std::string&;
template void CommandOptions::number(Name, int&, Name, Limits, const char*);
template void CommandOptions::number(Name, unsigned&, Name, Limits, const char*);
template void CommandOptions::number(Name, std::size_t&, Name, Limits, const char*);
template void CommandOptions::number(Name, float&, Name, Limits, const char*);
template void CommandOptions::number(Name, double&, Name, Limits, const char*);

void CommandOptions::parsed(const std::string& name,
                            const std::function<void(const std::string&)>& parse,
                            const std::string& what, const char* type,
                            const std::string& default_text) {
  command_->add_option_function<std::string>(name, parse, what)
      ->default_str(default_text)
      ->type_name(type);
}

void CommandOptions::exclude(const std::string& name, const std::string& other) {
  command_->get_option(name)->excludes(command_->get_option(other));
}

void CommandOptions::need(const std::string& name, const std::string& other) {
  command_->get_option(name)->needs(command_->get_option(other));
}

void CommandOptions::describe(const std::string& name, const std::string& what) {
  command_->get_option(name)->description(what);
}

void CommandOptions::remove(const std::string& name) {
  command_->remove_option(command_->get_option(name));
}

std::vector<std::string> CommandOptions::given() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : static_cast<const CLI::App*>(command_)->get_options()) {
    if (option->count() > 0 && option->nonpositional()) names.push_back(option->get_name());
  }
  return names;
}

bool CommandOptions::is_given(const std::string& name) const {
  return command_->get_option(name)->count() > 0;
}

void CommandOptions::when_chosen(const std::function<void()>& f) { command_->callback(f); }

Program::Program(const char* name, const char* what, const char* examples,
                 const std::string& version)
    : CommandOptions(nullptr), app_(std::make_unique<CLI::App>(what, name)) {
  command_ = app_.get();
  app_->footer(examples);
  app_->get_formatter()->column_width(36);
  app_->set_help_flag("-h,--help", "options and examples");
  app_->set_version_flag("--version", version, "version and commit");
  app_->fallthrough();
}

Program::~Program() = default;

bool Program::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) refuse(*app_, error);
    app_->exit(error);  // prints it
    return false;
  }
  refuse_empty_values(*app_, *app_);
  for (const CLI::App* command : app_->get_subcommands()) refuse_empty_values(*app_, *command);
  return true;
}

}  // namespace heapwood::bench
