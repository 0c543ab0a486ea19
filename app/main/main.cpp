// SPDX-License-Identifier: MIT
// Only main(): the commands are a library, so that tests can link them with another table of
// allocators.
#include "app/commands.hpp"

int main(int argc, char** argv) { return heapwood::app::run(argc, argv); }
