# SPDX-License-Identifier: MIT
"""Heap: malloc and free in kernels that CuPy and Numba compile. Most tests need a GPU."""

from pathlib import Path

import numpy as np
import pytest
from meshes import needs_gpu

import heapwood as hw

MIB = 1 << 20


def test_the_headers_are_in_the_package():
    assert (Path(hw.include_dir()) / "heapwood" / "malloc.hpp").is_file()


def test_refused_arguments():
    with pytest.raises(ValueError, match="a heap of 0 bytes"):
        hw.Heap(0)
    with pytest.raises(ValueError, match="at most 5"):
        hw.Heap(10, max_bytes=5)
    with pytest.raises(hw.DeviceError, match="a Heap is on a GPU"):
        hw.Heap(MIB, device="cpu")


@needs_gpu
def test_grows_and_closes():
    with hw.Heap(8 * MIB, max_bytes=256 * MIB) as heap:
        assert len(heap.handle) > 0
        before = heap.stats()
        assert before.used == 0 and before.bytes < 32 * MIB
        assert heap.make_room(100 * MIB)
        assert heap.stats().bytes > 100 * MIB
        heap.shrink()
        assert heap.stats().bytes < 32 * MIB
        assert not heap.make_room(500 * MIB)
        heap.reset()
    with pytest.raises(hw.DeviceError, match="closed"):
        heap.stats()


# Strings of unknown length: each thread writes its number in decimal.
STRINGS = r"""
#include <heapwood/malloc.hpp>

extern "C" __global__ void write_numbers(char** strings, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int length = 1;
  for (int rest = i; rest > 9; rest /= 10) ++length;
  char* const text = static_cast<char*>(malloc(length + 1));
  strings[i] = text;
  if (text == nullptr) return;
  text[length] = 0;
  for (int rest = i; length > 0; rest /= 10) text[--length] = '0' + rest % 10;
}

extern "C" __global__ void add_up(char** strings, int count, unsigned long long* sum) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned long long number = 0;
  for (const char* c = strings[i]; *c != 0; ++c) number = 10 * number + (*c - '0');
  atomicAdd(sum, number);
  free(strings[i]);
}
"""


@needs_gpu
def test_cupy_kernels_allocate():
    cupy = pytest.importorskip("cupy")
    count = 100_000
    blocks = ((count + 255) // 256,)
    with hw.Heap(64 * MIB) as heap:
        module = cupy.RawModule(code=STRINGS, options=("-std=c++17", f"-I{hw.include_dir()}"))
        heap.select(module)
        strings = cupy.zeros(count, dtype=cupy.uint64)
        total = cupy.zeros(1, dtype=cupy.uint64)
        module.get_function("write_numbers")(blocks, (256,), (strings, np.int32(count)))
        assert heap.stats().used >= 6 * count
        module.get_function("add_up")(blocks, (256,), (strings, np.int32(count), total))
        assert int(total[0]) == count * (count - 1) // 2
        assert heap.stats().used == 0


@needs_gpu
def test_numba_kernels_allocate():
    try:
        from numba import cuda

        from heapwood.numba import free, malloc
        cuda.jit(lambda: None)[1, 1]()
    except (AttributeError, ImportError) as error:  # absent, or older than this NumPy
        pytest.skip(f"numba: {error}")

    @cuda.jit
    def allocate(heap, blocks):
        i = cuda.grid(1)
        if i < blocks.size:
            blocks[i] = malloc(heap, 16 + i % 500)

    @cuda.jit
    def release(heap, blocks):
        i = cuda.grid(1)
        if i < blocks.size:
            free(heap, blocks[i])

    count = 50_000
    with hw.Heap(64 * MIB) as heap:
        blocks = cuda.device_array(count, dtype=np.uint64)
        allocate[(count + 127) // 128, 128](heap.address, blocks)
        addresses = blocks.copy_to_host()
        assert np.unique(addresses).size == count and addresses.min() > 0
        assert heap.stats().used >= count * 266
        release[(count + 127) // 128, 128](heap.address, blocks)
        assert heap.stats().used == 0


# Each thread makes a list of the numbers below its own, adds them up, and frees the list.
LISTS = r"""
#include <heapwood/heap_handle.hpp>
#include <torch/extension.h>

struct Node {
  Node* next;
  int value;
};

__global__ void add_up(heapwood::heap_ref heap, int64_t* sums, int64_t count) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  Node* list = nullptr;
  for (int value = 0; value < i % 50; ++value) list = heap.make<Node>(Node{list, value});
  while (list != nullptr) {
    Node* const node = list;
    sums[i] += node->value;
    list = node->next;
    heap.destroy(node);
  }
}

torch::Tensor sums(int64_t heap, int64_t count) {
  const heapwood::heap_ref reference(reinterpret_cast<const heapwood::heap_handle*>(heap));
  torch::Tensor sums = torch::zeros({count}, torch::dtype(torch::kInt64).device(torch::kCUDA));
  add_up<<<(count + 255) / 256, 256>>>(reference, sums.data_ptr<int64_t>(), count);
  return sums;
}
"""


@needs_gpu
def test_kernels_of_load_inline_allocate(tmp_path):
    torch = pytest.importorskip("torch")
    extension = pytest.importorskip("torch.utils.cpp_extension")
    if extension.CUDA_HOME is None:
        pytest.skip("PyTorch finds no nvcc")
    module = extension.load_inline(
        "heapwood_lists", "torch::Tensor sums(int64_t heap, int64_t count);", LISTS,
        functions=["sums"], extra_include_paths=[hw.include_dir()], build_directory=str(tmp_path))
    with hw.Heap(64 * MIB) as heap:
        lengths = torch.arange(10_000, device="cuda") % 50
        assert torch.equal(module.sums(heap.address, 10_000), lengths * (lengths - 1) // 2)
        assert heap.stats().used == 0


@needs_gpu
def test_a_full_heap_returns_none_and_counts():
    cupy = pytest.importorskip("cupy")
    with hw.Heap(MIB) as heap:
        module = cupy.RawModule(code=STRINGS, options=("-std=c++17", f"-I{hw.include_dir()}"))
        heap.select(module)
        count = 1_000_000
        strings = cupy.zeros(count, dtype=cupy.uint64)
        module.get_function("write_numbers")(((count + 255) // 256,), (256,),
                                             (strings, np.int32(count)))
        refused = int((strings == 0).sum())
        assert refused > 0
        stats = heap.stats()
        assert stats.full == refused and stats.first_refused_bytes <= 8
