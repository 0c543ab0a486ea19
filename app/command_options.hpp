// SPDX-License-Identifier: MIT
// The options of a command, one call each. Their order is that of --help.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace heapwood::app {

class CommandOptions {
 public:
  CommandOptions(CLI::App& app, const char* name, const char* what, const char* examples);

  CLI::App& app() { return *command_; }

  // These set `value`, whose initial value is shown as the default. `type` names the value in
  // --help. A name without dashes is a positional argument.
  void text(const char* name, std::string& value, const char* what, const char* type);
  void texts(const char* name, std::vector<std::string>& values, const char* what,
             const char* type);
  void choice(const char* name, std::string& value, const char* what,
              const std::vector<std::string>& values);
  void flag(const char* name, bool& value, const char* what);
  struct Limits {
    double min, max;
    bool shows_default = true;
  };
  // T: int, unsigned, std::size_t or double.
  template <class T>
  void number(const char* name, T& value, const char* what, Limits limits, const char* type = "N");
  // parse() takes the text and throws Error{Exit::usage}.
  void parsed(const char* name, const std::function<void(const std::string&)>& parse,
              const char* what, const char* type, const std::string& default_text);

  void exclude(const char* name, const char* other);
  void remove(const char* name);
  void describe(const char* name, const char* what);
  // The names of the options that are on the command line, in the order of their declaration.
  std::vector<std::string> given() const;
  // Called if the command is chosen, when all values are set.
  void when_chosen(const std::function<void()>& f);

 private:
  CLI::App* command_;
};

}  // namespace heapwood::app
