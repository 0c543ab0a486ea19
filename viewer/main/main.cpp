// SPDX-License-Identifier: MIT
// Only main(): the viewer is a library, which tests link with another table of allocators.
#include "viewer/options.hpp"

int main(int argc, char** argv) { return heapwood::viewer::run(argc, argv); }
