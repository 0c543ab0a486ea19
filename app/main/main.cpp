// SPDX-License-Identifier: MIT
// Only main(). The commands are in a library, so that tests can link them with other allocators.
#include "app/commands.hpp"

int main(int argc, char** argv) { return heapwood::app::run(argc, argv); }
