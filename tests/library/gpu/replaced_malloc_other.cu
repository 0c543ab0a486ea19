// SPDX-License-Identifier: MIT
#include <cstdlib>

__global__ void allocate_in_other_file(void** blocks) { blocks[0] = malloc(1000); }
