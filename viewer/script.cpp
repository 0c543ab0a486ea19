// SPDX-License-Identifier: MIT
#include "viewer/script.hpp"

#include <epoxy/gl.h>
// epoxy first: it replaces the system's OpenGL headers.
#include <GLFW/glfw3.h>
#include <fmt/format.h>
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "viewer/report.hpp"

namespace heapwood::viewer {

namespace {

int key_of(const std::string& name) {
  static const std::map<std::string, int> named = {{"Escape", GLFW_KEY_ESCAPE},
                                                   {"Space", GLFW_KEY_SPACE},
                                                   {"Home", GLFW_KEY_HOME},
                                                   {"Enter", GLFW_KEY_ENTER},
                                                   {"Tab", GLFW_KEY_TAB},
                                                   {"[", GLFW_KEY_LEFT_BRACKET},
                                                   {"]", GLFW_KEY_RIGHT_BRACKET},
                                                   {"+", GLFW_KEY_EQUAL},
                                                   {"-", GLFW_KEY_MINUS},
                                                   {",", GLFW_KEY_COMMA},
                                                   {".", GLFW_KEY_PERIOD},
                                                   {"/", GLFW_KEY_SLASH},
                                                   {"Delete", GLFW_KEY_DELETE},
                                                   {"Control", GLFW_KEY_LEFT_CONTROL},
                                                   {"Backspace", GLFW_KEY_BACKSPACE},
                                                   {"End", GLFW_KEY_END},
                                                   {"PageDown", GLFW_KEY_PAGE_DOWN},
                                                   {"PageUp", GLFW_KEY_PAGE_UP},
                                                   {"Shift", GLFW_KEY_LEFT_SHIFT}};
  if (const auto found = named.find(name); found != named.end()) return found->second;
  if (name.size() == 1 &&
      ((name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= '0' && name[0] <= '9')))
    return name[0];
  if (name.size() > 1 && name[0] == 'F') {
    const int number = std::stoi(name.substr(1));
    if (number >= 1 && number <= 12) return GLFW_KEY_F1 + number - 1;
  }
  throw std::invalid_argument("unknown key");
}

// What a key types on a US keyboard, as far as commands take it; 0: nothing.
unsigned character_of(int key, bool shift) {
  if (key == GLFW_KEY_EQUAL) return shift ? '+' : '=';
  const bool typed =
      key == GLFW_KEY_MINUS || key == GLFW_KEY_LEFT_BRACKET || key == GLFW_KEY_RIGHT_BRACKET;
  return typed && !shift ? static_cast<unsigned>(key) : 0;
}

// The line without its first word.
std::string rest(const std::string& text) {
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
      known = parse(words, text) || parse_input(words, text);
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
  // A step may add steps, but not remove any.
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

bool Script::parse(const std::vector<std::string>& w, const std::string& text) {
  const auto at = [&](std::size_t i, const char* otherwise) {
    return i < w.size() ? w[i] : std::string(otherwise);
  };
  if (w[0] == "wait" && w.size() > 1) {
    const std::string& what = w[1];
    if (what == "built" || what == "compared" || what == "recorded" || what == "swept") {
      const auto count = static_cast<unsigned>(std::stoul(at(2, "1")));
      add(text, [what, count](const Context& c) {
        return (what == "built"      ? c.state.pictures_built
                : what == "compared" ? c.state.comparisons
                : what == "swept"    ? c.state.sweeps
                                     : c.state.recordings) >= count;
      });
    } else if (what == "live") {
      add(text, [count = std::stoul(w.at(2))](const Context& c) {
        return c.state.live.choice == c.state.jobs.live().choice() &&
               std::all_of(std::begin(c.state.live.sides), std::end(c.state.live.sides),
                           [&](const LiveSide& side) {
                             const LiveTimes& times = side.times;
                             return side.recording &&
                                    (times.samples().size() >= count || times.exhausted());
                           });
      });
    } else if (what == "scene") {
      add(text,
          [](const Context& c) { return c.state.scene && c.state.picture.status().coarse > 0; });
    } else if (what == "events") {
      add(text, [count = std::stoul(w.at(2))](const Context& c) {
        return c.state.heap.watched && c.state.heap.watched->recording->events >= count;
      });
    } else if (what == "stopped") {
      add(text, [](const Context& c) { return !c.state.heap.playing; });
    } else if (what == "bars") {
      add(text, [count = std::stol(w.at(2))](const Context& c) {
        const auto& all = c.state.compared;
        const auto timed = std::count_if(all.begin(), all.end(), [](const bench::Result& result) {
          return !result.runs_ms.empty();
        });
        return timed >= count;
      });
    } else if (what == "samples") {
      const auto count = static_cast<unsigned>(std::stoul(w.at(2)));
      add(text, [count](const Context& c) { return c.state.picture.status().samples >= count; });
    } else if (what == "file") {
      add(text, [path = w.at(2)](const Context& c) {
        return c.waited > 0.1 && std::filesystem::exists(path);
      });
    } else if (what == "done") {
      add(text, [](const Context& c) { return c.waited > 0.1 && c.state.picture.status().done; });
    } else if (what == "idle") {
      add(text, [](const Context& c) {
        return c.waited > 0.1 && c.state.jobs.is_idle() && !c.state.shots.running() &&
               !c.state.shots.panel;
      });
    } else {
      const double seconds = std::stod(what);
      if (!std::isfinite(seconds)) return false;
      add(text, [seconds](const Context& c) { return c.waited >= seconds; });
      steps_.back().rests = seconds >= 1;
      steps_.back().max_wait += seconds;
    }
    return true;
  }
  if (w[0] == "drop") {
    add(text, [path = rest(text)](const Context& c) {
      c.window.on_drop({path});
      return true;
    });
  } else if (w[0] == "resize" && w.size() == 3) {
    const int x = std::stoi(w[1]), y = std::stoi(w[2]);
    if (x < 1 || y < 1) throw std::invalid_argument("invalid size");
    add(text, [x, y](const Context& c) {
      if (c.waited == 0) c.window.resize(x, y);
      return c.waited > 0.2;
    });
  } else if (w[0] == "minimise" || w[0] == "restore") {
    add(text, [down = w[0] == "minimise"](const Context& c) {
      down ? c.window.minimise() : c.window.restore();
      return true;
    });
  } else if ((w[0] == "screenshot" || w[0] == "window") && w.size() > 1) {
    const bench::ImageSize size = bench::parse_image_size(at(2, "1280x720"));
    const int samples = std::stoi(at(3, "16"));
    const bool panel = w[0] == "window";
    add(text, [=, path = w[1]](const Context& c) {
      if (!c.state.scene)
        throw Error(Exit::failed, "script: '" + text + "': no scene has been built yet");
      Settings& s = c.state.settings;
      const Settings before = s;
      s.shot_width = static_cast<int>(size.width);
      s.shot_height = static_cast<int>(size.height);
      s.shot_spp = samples;
      s.shot_panel = panel;
      take_screenshot(c.state, path);
      s = before;
      return true;
    });
    add(text, [](const Context& c) { return !c.state.shots.running() && !c.state.shots.panel; });
  } else if (w[0] == "report" && w.size() > 1) {
    add(text, [path = w[1]](const Context& c) {
      write_report(c.state, path);
      return true;
    });
  } else if (w[0] == "export" && w.size() > 1) {
    add(text, [path = w[1]](const Context& c) {
      export_recordings(c.state, path);
      return true;
    });
  } else if (w[0] == "close") {
    // Later steps are not run: the viewer ends as it does for a user.
    add(text, [this](const Context& c) {
      if (!closed_) c.window.close();
      closed_ = true;
      return false;
    });
  } else if (w[0] == "quit") {
    add(text, [](const Context& c) {
      c.window.close();
      return true;
    });
  } else {
    return false;
  }
  return true;
}

// Press and release in separate frames, as with a real mouse.
void Script::click(const std::string& text,
                   const std::function<std::array<float, 2>(const State&)>& place) {
  add(text, [place](const Context& c) {
    const auto [x, y] = place(c.state);
    c.window.on_scripted_move(x, y);
    return true;
  });
  add(text, [](const Context& c) { return c.waited > 0.03; });
  for (const int action : {GLFW_PRESS, GLFW_RELEASE}) {
    add(text, [action](const Context& c) {
      c.window.on_button(0, action, 0);
      return true;
    });
    add(text, [](const Context& c) { return c.waited > 0.05; });
  }
}

bool Script::parse_input(const std::vector<std::string>& w, const std::string& text) {
  const int button = w.back() == "right" ? 1 : 0;
  const auto press = [&](int action) {
    add(text, [action, button](const Context& c) {
      c.window.on_button(button, action, 0);
      return true;
    });
  };
  const auto move = [&](float x, float y) {
    add(text, [x, y](const Context& c) {
      c.window.on_scripted_move(x, y);
      return true;
    });
  };
  if (w[0] == "key" && w.size() > 1) {
    int mods = 0;
    for (const std::string& word : w)
      mods |= word == "shift" ? GLFW_MOD_SHIFT : word == "ctrl" ? GLFW_MOD_CONTROL : 0;
    const int key = key_of(w[1]);
    const bool other = w.size() == 4 && w[2] == "as" && w[3].size() == 1;
    const unsigned character = other                     ? static_cast<unsigned char>(w[3][0])
                               : mods & GLFW_MOD_CONTROL ? 0
                                                         : character_of(key, mods != 0);
    const int name = other && std::isalpha(static_cast<unsigned char>(w[3][0]))
                         ? std::toupper(static_cast<unsigned char>(w[3][0]))
                         : key;
    for (const int action : {GLFW_PRESS, GLFW_RELEASE}) {
      add(text, [=](const Context& c) {
        c.window.on_key(key, action, mods, name);
        if (character && action == GLFW_PRESS) c.window.on_char(character);
        return true;
      });
    }
  } else if ((w[0] == "down" || w[0] == "up") && w.size() > 1) {
    add(text, [key = key_of(w[1]),
               action = w[0] == "down" ? GLFW_PRESS : GLFW_RELEASE](const Context& c) {
      c.window.on_key(key, action, 0);
      return true;
    });
  } else if (w[0] == "hold" && w.size() > 2) {
    add(text, [key = key_of(w[1]), seconds = std::stod(w[2])](const Context& c) {
      if (c.waited == 0) c.window.on_key(key, GLFW_PRESS, 0);
      if (c.waited < seconds) return false;
      c.window.on_key(key, GLFW_RELEASE, 0);
      return true;
    });
    steps_.back().max_wait += std::stod(w[2]);
  } else if (w[0] == "move" && w.size() > 2) {
    move(std::stof(w[1]), std::stof(w[2]));
  } else if (w[0] == "press" || w[0] == "release") {
    press(w[0] == "press" ? GLFW_PRESS : GLFW_RELEASE);
  } else if (w[0] == "click" && w.size() == 3 &&
             std::isdigit(static_cast<unsigned char>(w[1][0]))) {
    click(text, [at = std::array{std::stof(w[1]), std::stof(w[2])}](const State&) { return at; });
  } else if (w[0] == "click" && w.size() > 1) {
    click(text, [name = rest(text)](const State& state) { return place_of(state, name); });
  } else if (w[0] == "double" && w.size() > 2 && w[1] == "click") {
    const std::string name = rest(rest(text));
    const auto allow = [&](float seconds) {  // between the clicks, however slow the machine is
      add(text, [seconds](const Context&) {
        ImGui::GetIO().MouseDoubleClickTime = seconds;
        return true;
      });
    };
    const float usual = ImGui::GetIO().MouseDoubleClickTime;
    allow(10);
    for (int i = 0; i < 2; ++i)
      click(text, [name](const State& state) { return place_of(state, name); });
    allow(usual);
  } else if (w[0] == "drag" && w.size() > 3) {
    // The point at a share of the way.
    std::function<std::array<float, 2>(const State&, float)> point;
    if (std::isdigit(static_cast<unsigned char>(w[1][0]))) {
      const float x0 = std::stof(w.at(1)), y0 = std::stof(w.at(2)), x1 = std::stof(w.at(3)),
                  y1 = std::stof(w.at(4));
      point = [=](const State&, float share) {
        return std::array{x0 + (x1 - x0) * share, y0 + (y1 - y0) * share};
      };
    } else {
      const float from = std::stof(w[w.size() - 2]), to = std::stof(w.back());
      std::string name = w[1];
      for (std::size_t i = 2; i + 2 < w.size(); ++i) name += " " + w[i];
      point = [=](const State& state, float share) {
        const std::array<float, 2> centre = place_of(state, name);
        const float width = state.places.width.at(name);
        return std::array{centre[0] + width * (from + (to - from) * share - 0.5f), centre[1]};
      };
    }
    const auto move_to = [&](float share) {
      add(text, [point, share](const Context& c) {
        const auto [x, y] = point(c.state, share);
        c.window.on_scripted_move(x, y);
        return true;
      });
    };
    move_to(0);
    add(text, [](const Context& c) { return c.waited > 0.03; });
    press(GLFW_PRESS);
    for (int i = 1; i <= 10; ++i) {
      add(text, [](const Context& c) { return c.waited > 0; });
      move_to(static_cast<float>(i) / 10);
    }
    add(text, [](const Context& c) { return c.waited > 0; });
    press(GLFW_RELEASE);
  } else if (w[0] == "scroll" && w.size() > 1) {
    add(text, [by = std::stod(w[1])](const Context& c) {
      c.window.on_scroll(0, by);
      return true;
    });
  } else if (w[0] == "type") {
    for (const char letter : rest(text)) {
      add(text, [letter](const Context& c) {
        c.window.on_char(static_cast<unsigned char>(letter));
        return true;
      });
    }
  } else {
    return false;
  }
  return true;
}

}  // namespace heapwood::viewer
