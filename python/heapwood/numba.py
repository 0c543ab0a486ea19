# SPDX-License-Identifier: MIT
"""malloc and free of a heapwood.Heap in kernels of Numba-CUDA:

    from heapwood.numba import free, malloc

    @cuda.jit
    def kernel(heap, blocks):
        i = cuda.grid(1)
        blocks[i] = malloc(heap, 100)     # an address; 0 if the heap is full

    kernel[32, 128](heap.address, blocks)
"""

from pathlib import Path

from numba import cuda
from numba.cuda.cudadrv import nvrtc

from ._heap import include_dir

# Numba's calling convention: the result is written to the first argument.
_SOURCE = cuda.CUSource(
    f"""
#include "{include_dir()}/heapwood/heap_handle.hpp"
using Address = unsigned long long;
using Handle = const heapwood::heap_handle*;
extern "C" __device__ int heapwood_numba_malloc(Address* block, Address heap, Address bytes) {{
  *block = reinterpret_cast<Address>(reinterpret_cast<Handle>(heap)->malloc(bytes));
  return 0;
}}
extern "C" __device__ int heapwood_numba_free(Address* none, Address heap, Address block) {{
  reinterpret_cast<Handle>(heap)->free(reinterpret_cast<void*>(block));
  *none = 0;
  return 0;
}}
"""
)


def _find_libcudacxx() -> None:
    """Numba looks for CUDA's headers, but in CUDA 13 not in the folder that libcu++ is in."""
    folder = Path(nvrtc.get_cuda_paths()["include_dir"].info) / "cccl"
    paths = [p for p in (nvrtc.config.CUDA_NVRTC_EXTRA_SEARCH_PATHS or "").split(":") if p]
    if folder.exists() and str(folder) not in paths:
        nvrtc.config.CUDA_NVRTC_EXTRA_SEARCH_PATHS = ":".join([*paths, str(folder)])


_find_libcudacxx()
malloc = cuda.declare_device("heapwood_numba_malloc", "uint64(uint64, uint64)", link=_SOURCE)
free = cuda.declare_device("heapwood_numba_free", "uint64(uint64, uint64)", link=_SOURCE)
