// SPDX-License-Identifier: MIT
// Checks of Python's arrays: numbers, shape, order in memory and device. A check that fails raises
// an exception that names the argument, what it is and what is expected.
#pragma once

#include <nanobind/ndarray.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "python/core/traced_mesh.hpp"

namespace heapwood::python {

namespace nb = nanobind;

using ReadArray = nb::ndarray<nb::ro>;
using WriteArray = nb::ndarray<>;

// The properties of an array that are checked.
struct ArrayFacts {
  void* data = nullptr;
  std::vector<std::size_t> shape;
  std::string type;  // "float32"
  bool on_gpu = false;
  int gpu = 0;
  bool contiguous = true;  // in C order

  template <class Array>
  static ArrayFacts of(const Array& array);
};

using OptionalFacts = std::optional<ArrayFacts>;

std::string text_of(const std::vector<std::size_t>& shape);  // "(100, 3)"
std::string device_text(bool on_gpu, int gpu);               // "cpu", "cuda:0"

// Checks an array of a mesh. `what` names the argument: "vertices" or "triangles".
MeshArray mesh_array(const std::string& what, const ArrayFacts& array);

// Checked rays. The arrays must outlive the query.
struct Rays {
  RayArrays arrays;
  RayFilter filter;
  std::size_t count = 0;
  std::vector<std::size_t> shape;  // shape of the rays, without the axis of coordinates
  bool on_gpu = false;
  int gpu = 0;
};
// Checks the arrays of rays: origins, directions, t_min, t_max, worlds and masks, all but the first
// optional. Without directions, `origins` has six numbers per ray. With them, one of the two arrays
// may have one row, (3,), for all rays. The others have one number per ray.
Rays rays_of(std::span<const OptionalFacts> given);

// Checks points; max_distance has one number per point. The results are rays without directions.
Rays points_of(const ArrayFacts& points, const OptionalFacts& max_distance);

// Checks an output array of this type, with the shape rays.shape + more; returns its memory.
void* output_of(const char* what, const ArrayFacts& array, const std::string& type,
                const Rays& rays, const std::vector<std::size_t>& more);

// Checks that rays, scene and outputs are on one device, or that all arrays are in host memory.
void check_device(const char* what, bool on_gpu, int gpu, const simt::DeviceInfo& device);

template <class Array>
ArrayFacts ArrayFacts::of(const Array& array) {
  ArrayFacts facts;
  facts.data = const_cast<void*>(static_cast<const void*>(array.data()));
  const nb::dlpack::dtype type = array.dtype();
  const char* const kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  facts.type = (type.code < 7 ? kinds[type.code] : "type") + std::to_string(type.bits);
  facts.on_gpu = array.device_type() == nb::device::cuda::value ||
                 array.device_type() == nb::device::cuda_managed::value;
  facts.gpu = facts.on_gpu ? array.device_id() : 0;
  std::size_t step = 1;
  for (std::size_t axis = array.ndim(); axis-- > 0;) {
    const std::size_t extent = array.shape(axis);
    facts.shape.insert(facts.shape.begin(), extent);
    if (extent > 1 && array.stride(axis) != static_cast<std::int64_t>(step))
      facts.contiguous = false;
    step *= extent;
  }
  if (step == 0) facts.contiguous = true;  // because nothing is read
  return facts;
}

}  // namespace heapwood::python
