// SPDX-License-Identifier: MIT
// Only main(). The viewer is a library, so that tests can link it with another table of allocators.
#include "viewer/options.hpp"

int main(int argc, char** argv) { return heapwood::viewer::run(argc, argv); }
