// SPDX-License-Identifier: MIT
// The commands of a program and their options; each is declared by one call. --help lists them in
// this order. Only command_options.cpp includes CLI11, which takes seconds to compile.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace heapwood::bench {

class Program;

// Declares the options of one command, or those of the program.
class CommandOptions {
 public:
  CommandOptions(Program& program, const char* name, const char* what, const char* examples);

  // These functions declare an option that sets `value`, whose initial value is shown as the
  // default. `type` names the value in --help. A name without dashes is a positional argument.
  void text(const std::string& name, std::string& value, const std::string& what, const char* type);
  void texts(const std::string& name, std::vector<std::string>& values, const std::string& what,
             const char* type);
  // If `type` is empty, --help shows the values.
  void choice(const std::string& name, std::string& value, const std::string& what,
              const std::vector<std::string>& values, std::string type = "");
  void flag(const std::string& name, bool& value, const std::string& what);
  struct Limits {
    double min, max;
    bool shows_default = true;
  };
  // T is int, unsigned, std::size_t, float or double.
  template <class T>
  void number(const std::string& name, T& value, const std::string& what, Limits limits,
              const char* type = "N");
  // parse() receives the text and throws Error{Exit::usage}. Values are parsed in the order of
  // declaration, not of the command line.
  void parsed(const std::string& name, const std::function<void(const std::string&)>& parse,
              const std::string& what, const char* type, const std::string& default_text);

  void exclude(const std::string& name, const std::string& other);
  void need(const std::string& name, const std::string& other);
  void describe(const std::string& name, const std::string& what);
  void remove(const std::string& name);
  // The names of the options on the command line, in the order of their declaration.
  std::vector<std::string> given() const;
  bool is_given(const std::string& name) const;
  // f is called if the command is chosen, after all values have been set.
  void when_chosen(const std::function<void()>& f);

 protected:
  explicit CommandOptions(CLI::App* command) : command_(command) {}

  CLI::App* command_;
};

class Program : public CommandOptions {
 public:
  Program(const char* name, const char* what, const char* examples, const std::string& version);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Options of the program are accepted before and after the command. Returns false after printing
  // what --help or --version asks for. Throws Error{Exit::usage}, also if a value is empty (in a
  // script, that of an unset variable).
  bool parse(int argc, const char* const* argv);

 private:
  friend CommandOptions;
  std::unique_ptr<CLI::App> app_;
};

}  // namespace heapwood::bench
