// SPDX-License-Identifier: MIT
#include "viewer/clipboard.hpp"

#include <cstdio>
#include <cstdlib>

namespace heapwood::viewer {

std::string copy_png(const std::string& png) {
  const char* wayland = std::getenv("WAYLAND_DISPLAY");
  const bool is_wayland = wayland && *wayland;
  const std::string program = is_wayland ? "wl-copy" : "xclip";
  // Checked first, to say what is missing.
  if (std::system(("command -v " + program + " > /dev/null 2>&1").c_str()) != 0)
    return is_wayland ? "install wl-clipboard to copy pictures" : "install xclip to copy pictures";
  const char* command = is_wayland ? "wl-copy --type image/png"
                                   : "xclip -selection clipboard -t image/png > /dev/null 2>&1";
  std::FILE* pipe = popen(command, "w");
  if (!pipe) return program + " does not start";
  const bool written = std::fwrite(png.data(), 1, png.size(), pipe) == png.size();
  return pclose(pipe) == 0 && written ? "" : program + " has failed";
}

}  // namespace heapwood::viewer
