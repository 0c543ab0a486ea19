// SPDX-License-Identifier: MIT
#include "viewer/script.hpp"

#include <epoxy/gl.h>
// epoxy comes first, because it replaces the system's OpenGL headers.
#include <GLFW/glfw3.h>
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace heapwood::viewer {

namespace {

int key_of(const std::string& name) {
  static const std::map<std::string, int> named = {
      {"Escape", GLFW_KEY_ESCAPE},   {"Space", GLFW_KEY_SPACE},
      {"Home", GLFW_KEY_HOME},       {"Enter", GLFW_KEY_ENTER},
      {"=", GLFW_KEY_EQUAL},         {"-", GLFW_KEY_MINUS},
      {",", GLFW_KEY_COMMA},         {".", GLFW_KEY_PERIOD},
      {"/", GLFW_KEY_SLASH},         {"]", GLFW_KEY_RIGHT_BRACKET},
      {"End", GLFW_KEY_END},         {"Backspace", GLFW_KEY_BACKSPACE},
      {"PageUp", GLFW_KEY_PAGE_UP},  {"PageDown", GLFW_KEY_PAGE_DOWN},
      {"Shift", GLFW_KEY_LEFT_SHIFT}};
  if (const auto found = named.find(name); found != named.end()) return found->second;
  const auto c = static_cast<unsigned char>(name[0]);
  if (name.size() == 1 && (std::isupper(c) || std::isdigit(c))) return c;
  if (name.size() > 1 && c == 'F') {
    const int number = std::stoi(name.substr(1));
    if (number >= 1 && number <= 12) return GLFW_KEY_F1 + number - 1;
  }
  throw std::invalid_argument("unknown key");
}

std::string without_first_word(const std::string& text) {
  const std::size_t space = text.find(' ');
  return space == std::string::npos ? "" : text.substr(space + 1);
}

std::array<float, 2> place_of(const State& state, const std::string& name) {
  const auto found = state.places.centre.find(name);
  if (found == state.places.centre.end())
    throw Error(Exit::failed, "script: there is no widget named '" + name + "'");
  return found->second;
}

}  // namespace

Script::Script(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(Exit::usage, path + ": cannot read the script");
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    constexpr const char* blanks = " \t\r";
    const std::size_t first = std::min(line.find_first_not_of(blanks), line.size());
    const std::string text = line.substr(first, line.find_last_not_of(blanks) + 1 - first);
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words[0][0] == '#') continue;
    bool known = false;
    try {
      known = parse(words, text);
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      // not a valid number or key
    }
    if (!known)
      throw Error(Exit::usage,
                  fmt::format("{}:{}: '{}' is not a step (viewer/script.hpp)", path, number, text));
  }
}

void Script::step(State& state, Window& window) {
  if (steps_.empty()) return;
  if (since_ < 0) since_ = state.now;
  const double waited = state.now - since_;
  // A step may add steps, but must not remove any.
  const Step step = steps_.front().step;
  const double max_wait = steps_.front().max_wait;
  if (step({state, window, waited})) {
    steps_.pop_front();
    since_ = -1;
  } else if (waited > max_wait) {
    throw Error(Exit::failed, fmt::format("script: '{}' did not happen within {} s",
                                          steps_.front().text, max_wait));
  }
}

void Script::once(const std::string& text, std::function<void(const Context&)> action) {
  add(text, [action = std::move(action)](const Context& c) {
    action(c);
    return true;
  });
}

void Script::rest(const std::string& text, double seconds) {
  add(text, [seconds](const Context& c) { return c.waited > seconds; });
}

bool Script::parse_wait(const std::vector<std::string>& w, const std::string& text) {
  static const std::map<std::string, JobSpec::Kind> kinds = {{"built", JobSpec::Kind::build},
                                                             {"compared", JobSpec::Kind::compare},
                                                             {"recorded", JobSpec::Kind::record}};
  const std::string& what = w[1];
  if (const auto kind = kinds.find(what); kind != kinds.end()) {
    add(text, [kind = static_cast<std::size_t>(kind->second),
               count = w.size() > 2 ? std::stoul(w[2]) : 1](const Context& c) {
      return c.state.finished[kind] >= count;
    });
  } else if (what == "live") {
    add(text, [count = std::stoul(w.at(2))](const Context& c) {
      const LiveView& live = c.state.live;
      return live.choice == c.state.jobs.live().choice() && has_live_figures(live, count);
    });
  } else if (what == "stopped") {
    add(text, [](const Context& c) { return !c.state.heap.playing; });
  } else if (what == "bars") {
    add(text, [count = std::stol(w.at(2))](const Context& c) {
      const auto& all = c.state.compared;
      return std::ranges::count_if(
                 all, [](const bench::Result& result) { return !result.runs_ms.empty(); }) >= count;
    });
  } else if (what == "samples") {
    add(text, [count = std::stoul(w.at(2))](const Context& c) {
      return c.state.picture.status().samples >= count;
    });
  } else if (what == "file") {
    add(text, [path = w.at(2)](const Context& c) {
      return c.waited > 0.1 && std::filesystem::exists(path);
    });
  } else if (what == "done") {
    add(text, [](const Context& c) { return c.waited > 0.1 && c.state.picture.status().done; });
  } else if (what == "idle") {
    add(text, [](const Context& c) {
      const State& s = c.state;
      return c.waited > 0.1 && s.jobs.is_idle() && !s.shot && !s.records_video;
    });
  } else {
    const double seconds = std::stod(what);
    if (!std::isfinite(seconds)) return false;
    rest(text, seconds);
    steps_.back().rests = seconds >= 1;
    steps_.back().max_wait += seconds;
  }
  return true;
}

bool Script::parse(const std::vector<std::string>& w, const std::string& text) {
  const std::string& first = w[0];
  if (first == "wait" && w.size() > 1) return parse_wait(w, text);
  if (first == "drop") {
    once(text, [path = without_first_word(text)](const Context& c) { c.window.on_drop({path}); });
  } else if (first == "resize" && w.size() == 3) {
    const int x = std::stoi(w[1]), y = std::stoi(w[2]);
    if (x < 1 || y < 1) throw std::invalid_argument("invalid size");
    once(text, [x, y](const Context& c) { c.window.resize(x, y); });
    // On a busy computer the window is resized much later, and some window managers refuse it.
    add(text, [x, y](const Context& c) {
      return c.waited > 0.2 && (c.window.has_size(x, y) || c.waited > 2);
    });
  } else if (first == "minimise") {
    once(text, [](const Context& c) { c.window.minimise(); });
  } else if (first == "restore") {
    once(text, [](const Context& c) { c.window.restore(); });
  } else if ((first == "screenshot" || first == "window") && w.size() > 1) {
    const bench::ImageSize size = bench::parse_image_size(w.size() > 2 ? w[2] : "1280x720");
    const int samples = w.size() > 3 ? std::stoi(w[3]) : 16;
    once(text, [=, path = w[1], window = first == "window"](const Context& c) {
      if (!c.state.scene)
        throw Error(Exit::failed, "script: '" + text + "': no scene has been built yet");
      const ShotSettings usual = c.state.shot_settings;
      c.state.shot_settings = {static_cast<int>(size.width), static_cast<int>(size.height), samples,
                               window};
      take_screenshot(c.state, path);
      c.state.shot_settings = usual;
    });
    add(text, [](const Context& c) { return !c.state.shot; });
  } else if (first == "report" && w.size() > 1) {
    once(text, [path = w[1]](const Context& c) { write_report(c.state, path); });
  } else if (first == "close" || first == "quit") {
    once(text, [](const Context& c) { c.window.close(); });
    // Later steps do not run: the viewer ends as it does for a user.
    if (first == "close") add(text, [](const Context&) { return false; });
  } else {
    return parse_input(w, text);
  }
  return true;
}

void Script::press(const std::string& text, int button, int action) {
  once(text, [=](const Context& c) { c.window.on_button(button, action, 0); });
}

void Script::move(const std::string& text, Place place) {
  once(text, [place = std::move(place)](const Context& c) {
    const auto [x, y] = place(c.state);
    c.window.on_scripted_move(x, y);
  });
}

// Presses and releases in separate frames, as a real mouse does.
void Script::click(const std::string& text, const Place& place) {
  move(text, place);
  rest(text, 0.03);
  for (const int action : {GLFW_PRESS, GLFW_RELEASE}) {
    press(text, 0, action);
    rest(text, 0.05);
  }
}

void Script::parse_key(const std::vector<std::string>& w, const std::string& text) {
  int mods = 0;
  for (const std::string& word : w)
    mods |= word == "shift" ? GLFW_MOD_SHIFT : word == "ctrl" ? GLFW_MOD_CONTROL : 0;
  const int key = key_of(w[1]);
  const bool other = w.size() == 4 && w[2] == "as" && w[3].size() == 1;
  const int name = other ? std::toupper(static_cast<unsigned char>(w[3][0])) : key;
  for (const int action : {GLFW_PRESS, GLFW_RELEASE})
    once(text, [=](const Context& c) { c.window.on_key(key, action, mods, name); });
}

bool Script::parse_input(const std::vector<std::string>& w, const std::string& text) {
  const std::string& first = w[0];
  const int button = w.back() == "right" ? 1 : 0;
  const bool at_number = w.size() > 1 && std::isdigit(static_cast<unsigned char>(w[1][0]));
  const auto number = [&](std::size_t i) { return std::stof(w.at(i)); };
  const auto named_place = [](const std::string& name) -> Place {
    return [name](const State& state) { return place_of(state, name); };
  };
  if (first == "key" && w.size() > 1) {
    parse_key(w, text);
  } else if ((first == "down" || first == "up") && w.size() > 1) {
    once(text, [key = key_of(w[1]), action = first == "down" ? GLFW_PRESS : GLFW_RELEASE](
                   const Context& c) { c.window.on_key(key, action, 0); });
  } else if (first == "hold" && w.size() > 2) {
    once(text, [key = key_of(w[1])](const Context& c) { c.window.on_key(key, GLFW_PRESS, 0); });
    rest(text, number(2));
    steps_.back().max_wait += number(2);
    once(text, [key = key_of(w[1])](const Context& c) { c.window.on_key(key, GLFW_RELEASE, 0); });
  } else if (first == "move" && w.size() > 2) {
    move(text, [place = Point{number(1), number(2)}](const State&) { return place; });
  } else if (first == "press" || first == "release") {
    press(text, button, first == "press" ? GLFW_PRESS : GLFW_RELEASE);
  } else if (first == "click" && w.size() == 3 && at_number) {
    click(text, [place = Point{number(1), number(2)}](const State&) { return place; });
  } else if (first == "click" && w.size() > 1) {
    click(text, named_place(without_first_word(text)));
  } else if (first == "scroll" && w.size() > 1) {
    once(text, [by = std::stod(w[1])](const Context& c) { c.window.on_scroll(0, by); });
  } else if (first == "type") {
    for (const unsigned char letter : without_first_word(text))
      once(text, [letter](const Context& c) { c.window.on_char(letter); });
  } else {
    return false;
  }
  return true;
}

}  // namespace heapwood::viewer
