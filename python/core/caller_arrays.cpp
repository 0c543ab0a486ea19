// SPDX-License-Identifier: MIT
#include "python/core/caller_arrays.hpp"

#include <limits>
#include <map>

namespace heapwood::python {

namespace {

nb::builtin_exception wrong_value(const std::string& message) {
  return nb::value_error(message.c_str());
}
nb::builtin_exception wrong_type(const std::string& message) {
  return nb::type_error(message.c_str());
}

std::string text_of(const std::vector<std::size_t>& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

void check_contiguous(const char* what, const ArrayFacts& array) {
  if (array.contiguous) return;
  const std::string copy =
      array.on_gpu ? "a contiguous copy" : "numpy.ascontiguousarray(" + std::string(what) + ")";
  throw wrong_value(std::string(what) + ": not contiguous in C order; pass " + copy);
}

bool check_floats(const char* what, const ArrayFacts& array) {
  if (array.type == "float32" || array.type == "float64") return array.type == "float64";
  throw wrong_type(std::string(what) + ": " + array.type + ": expected float32 or float64");
}

void check_rows_of_three(const char* what, const ArrayFacts& array, const char* expected) {
  if (array.shape.size() == 2 && array.shape[1] == 3) return;
  throw wrong_value(std::string(what) + ": shape " + array.shape_text() + ": expected " + expected);
}

void check_last_axis(const char* what, const ArrayFacts& array, std::size_t extent) {
  if (!array.shape.empty() && array.shape.back() == extent) return;
  throw wrong_value(std::string(what) + ": shape " + array.shape_text() + ": expected (..., " +
                    std::to_string(extent) + ")");
}

void check_same_device(const char* what, const ArrayFacts& array, const Rays& rays) {
  if (array.on_gpu == rays.on_gpu && array.gpu == rays.gpu) return;
  throw Error(Exit::device, std::string(what) + ": on " + array.device_text() +
                                ", but the rays are on " +
                                (rays.on_gpu ? "cuda:" + std::to_string(rays.gpu) : "cpu"));
}

std::size_t product(const std::vector<std::size_t>& shape) {
  std::size_t size = 1;
  for (const std::size_t extent : shape) size *= extent;
  return size;
}

}  // namespace

std::size_t ArrayFacts::size() const { return product(shape); }
std::string ArrayFacts::shape_text() const { return text_of(shape); }
std::string ArrayFacts::device_text() const {
  return on_gpu ? "cuda:" + std::to_string(gpu) : "cpu";
}

MeshArray vertices_of(const ArrayFacts& array) {
  check_rows_of_three("vertices", array, "(V, 3)");
  const bool is_double = check_floats("vertices", array);
  check_contiguous("vertices", array);
  return {array.data, array.shape[0],
          is_double ? MeshArray::Type::float64 : MeshArray::Type::float32, array.on_gpu};
}

MeshArray triangles_of(const ArrayFacts& array) {
  using Type = MeshArray::Type;
  static const std::map<std::string, Type> types{{"int32", Type::int32},
                                                 {"int64", Type::int64},
                                                 {"uint32", Type::uint32},
                                                 {"uint64", Type::uint64}};
  check_rows_of_three("triangles", array, "(T, 3)");
  const auto type = types.find(array.type);
  if (type == types.end())
    throw wrong_type("triangles: " + array.type + ": expected int32, int64, uint32 or uint64");
  check_contiguous("triangles", array);
  return {array.data, array.shape[0], type->second, array.on_gpu};
}

Rays rays_of(const ArrayFacts& origins, const ArrayFacts* directions, const ArrayFacts* t_min,
             const ArrayFacts* t_max) {
  constexpr std::size_t max_rays = std::numeric_limits<std::int32_t>::max();
  Rays rays;
  const char* const first = directions ? "origins" : "rays";
  const std::size_t columns = directions ? 3 : 6;
  const ArrayFacts& all = directions ? *directions : origins;
  check_last_axis(directions ? "directions" : "rays", all, columns);
  check_last_axis(first, origins, columns);
  rays.shape.assign(all.shape.begin(), all.shape.end() - 1);
  rays.count = product(rays.shape);
  if (rays.count > max_rays) {
    throw wrong_value(std::string(directions ? "directions" : "rays") + ": " +
                      std::to_string(rays.count) + " rays: at most " + std::to_string(max_rays) +
                      " in one call; pass them in parts");
  }
  // One origin for all rays, or one for each.
  const bool one_origin = directions && origins.shape.size() == 1;
  if (directions && !one_origin && origins.shape != directions->shape) {
    throw wrong_value("origins: shape " + origins.shape_text() + ": expected " +
                      directions->shape_text() + " as the directions, or (3,)");
  }
  const auto rows = [](const char* what, const ArrayFacts& array, std::size_t stride) {
    const bool is_double = check_floats(what, array);
    check_contiguous(what, array);
    return Rows{array.data, stride, is_double};
  };
  rays.on_gpu = all.on_gpu;
  rays.gpu = all.gpu;
  RayArrays& arrays = rays.arrays;
  if (directions) {
    arrays.origins = rows("origins", origins, one_origin ? 0 : 3);
    arrays.directions = rows("directions", *directions, 3);
    check_same_device("origins", origins, rays);
  } else {
    arrays.origins = rows("rays", origins, 6);
    arrays.directions = arrays.origins;
    arrays.directions.data =
        static_cast<const std::byte*>(origins.data) + 3 * arrays.origins.number_bytes();
  }
  const auto end = [&](const char* what, const ArrayFacts* array, RayEnd& to) {
    if (!array) return;
    if (array->shape != rays.shape) {
      throw wrong_value(std::string(what) + ": shape " + array->shape_text() +
                        ": expected a number, or " + text_of(rays.shape) + ", one per ray");
    }
    to.each = rows(what, *array, 1);
    check_same_device(what, *array, rays);
  };
  end("t_min", t_min, arrays.t_min);
  end("t_max", t_max, arrays.t_max);
  return rays;
}

void* output_of(const char* what, const ArrayFacts& array, const char* type, const Rays& rays,
                const std::vector<std::size_t>& more) {
  std::vector<std::size_t> shape = rays.shape;
  shape.insert(shape.end(), more.begin(), more.end());
  if (array.shape != shape) {
    throw wrong_value(std::string(what) + ": shape " + array.shape_text() + ": expected " +
                      text_of(shape));
  }
  // Some libraries have no uint32: the bits are the same.
  const bool same_bits = std::string(type) == "uint32" && array.type == "int32";
  if (array.type != type && !same_bits)
    throw wrong_type(std::string(what) + ": " + array.type + ": expected " +
                     (std::string(type) == "bool8" ? "bool" : type));
  check_contiguous(what, array);
  check_same_device(what, array, rays);
  return array.data;
}

void check_device(const char* what, bool on_gpu, int gpu, const simt::DeviceInfo& device) {
  if (!on_gpu) return;  // host memory is read there or copied to a GPU
  if (device.id.kind == simt::DeviceKind::cuda && device.id.index == gpu) return;
  throw Error(Exit::device, std::string(what) + ": on cuda:" + std::to_string(gpu) +
                                ", but the scene is on " + device.key);
}

}  // namespace heapwood::python
