// SPDX-License-Identifier: MIT
#include "python/core/caller_arrays.hpp"

#include <limits>

namespace heapwood::python {

namespace {

[[noreturn]] void refuse_value(const std::string& message) {
  throw nb::value_error(message.c_str());
}

[[noreturn]] void refuse_shape(const std::string& what, const ArrayFacts& array,
                               const std::string& expected) {
  refuse_value(what + ": shape " + text_of(array.shape) + ": expected " + expected);
}

void check_type(const std::string& what, const ArrayFacts& array, bool is_expected,
                const std::string& expected) {
  if (!is_expected)
    throw nb::type_error((what + ": " + array.type + ": expected " + expected).c_str());
}

void check_contiguous(const std::string& what, const ArrayFacts& array) {
  if (array.contiguous) return;
  refuse_value(what + ": not contiguous in C order; pass " +
               (array.on_gpu ? "a contiguous copy" : "numpy.ascontiguousarray(" + what + ")"));
}

bool is_double(const std::string& what, const ArrayFacts& array) {
  check_type(what, array, array.type == "float32" || array.type == "float64", "float32 or float64");
  return array.type == "float64";
}

void check_same_device(const std::string& what, const ArrayFacts& array, const Rays& rays) {
  if (array.on_gpu == rays.on_gpu && array.gpu == rays.gpu) return;
  throw Error(Exit::device, what + ": on " + device_text(array.on_gpu, array.gpu) +
                                ", but the rays are on " + device_text(rays.on_gpu, rays.gpu));
}

Rows rows_of(const std::string& what, const ArrayFacts& array, std::size_t stride) {
  const bool has_doubles = is_double(what, array);
  check_contiguous(what, array);
  return {array.data, stride, has_doubles};
}

void check_columns(const std::string& what, const ArrayFacts& array, std::size_t columns) {
  if (array.shape.empty() || array.shape.back() != columns)
    refuse_shape(what, array, "(..., " + std::to_string(columns) + ")");
}

// Rays or points without values: their shape and number are those of the array's rows.
Rays rows_like(const std::string& what, const char* unit, const ArrayFacts& array) {
  constexpr std::size_t max_rays = std::numeric_limits<std::int32_t>::max();
  Rays rays;
  rays.shape.assign(array.shape.begin(), array.shape.end() - 1);
  rays.count = 1;
  for (const std::size_t extent : rays.shape) rays.count *= extent;
  if (rays.count > max_rays)
    refuse_value(what + ": " + std::to_string(rays.count) + " " + unit + ": at most " +
                 std::to_string(max_rays) + " in one call; pass them in parts");
  rays.on_gpu = array.on_gpu;
  rays.gpu = array.gpu;
  return rays;
}

// Checks an array with a number per ray, of four bytes unless it has doubles.
void set_each(const char* what, const char* unit, const OptionalFacts& array, const Rays& rays,
              bool whole, Rows& to) {
  if (!array) return;
  if (array->shape != rays.shape)
    refuse_shape(what, *array,
                 "a number, or " + text_of(rays.shape) + ", one per " + std::string(unit));
  if (whole)
    check_type(what, *array, array->type == "int32" || array->type == "uint32", "int32 or uint32");
  check_contiguous(what, *array);
  to = {array->data, 1, !whole && is_double(what, *array)};
  check_same_device(what, *array, rays);
}

}  // namespace

std::string text_of(const std::vector<std::size_t>& shape) {
  std::string text = "(";
  for (const std::size_t extent : shape)
    text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string device_text(bool on_gpu, int gpu) {
  return on_gpu ? "cuda:" + std::to_string(gpu) : "cpu";
}

MeshArray mesh_array(const std::string& what, const ArrayFacts& array) {
  const bool is_vertices = what == "vertices";
  if (array.shape.size() != 2 || array.shape[1] != 3)
    refuse_shape(what, array, is_vertices ? "(V, 3)" : "(T, 3)");
  if (is_vertices)
    is_double(what, array);
  else
    check_type(what, array,
               array.type == "int32" || array.type == "int64" || array.type == "uint32" ||
                   array.type == "uint64",
               "int32, int64, uint32 or uint64");
  check_contiguous(what, array);
  return {array.data, array.shape[0], array.type, array.on_gpu};
}

Rays rays_of(std::span<const OptionalFacts> given) {
  const ArrayFacts& origins = *given[0];
  const OptionalFacts& directions = given[1];
  const std::string first = directions ? "origins" : "rays",
                    last = directions ? "directions" : "rays";
  // All rays may share one origin or one direction.
  const bool one_direction =
      directions && directions->shape.size() == 1 && origins.shape.size() > 1;
  const ArrayFacts& all = directions && !one_direction ? *directions : origins;
  if (directions) check_columns(last, *directions, 3);
  check_columns(first, origins, directions ? 3 : 6);
  Rays rays = rows_like(last, "rays", all);
  const bool one_origin = directions && origins.shape.size() == 1;
  if (directions && !one_origin && !one_direction && origins.shape != directions->shape)
    refuse_shape(
        "origins", origins,
        text_of(directions->shape) + " as the directions, or a shape that broadcasts to it");
  RayArrays& arrays = rays.arrays;
  if (directions) {
    arrays.origins = rows_of("origins", origins, one_origin ? 0 : 3);
    arrays.directions = rows_of("directions", *directions, one_direction ? 0 : 3);
    check_same_device("directions", *directions, rays);
    check_same_device("origins", origins, rays);
  } else {
    arrays.origins = rows_of("rays", origins, 6);
    arrays.directions = arrays.origins.from_column(3);
  }
  set_each("t_min", "ray", given[2], rays, false, arrays.t_min.each);
  set_each("t_max", "ray", given[3], rays, false, arrays.t_max.each);
  set_each("worlds", "ray", given[4], rays, true, rays.filter.scene.each);
  set_each("masks", "ray", given[5], rays, true, rays.filter.mask.each);
  return rays;
}

Rays points_of(const ArrayFacts& points, const OptionalFacts& max_distance) {
  check_columns("points", points, 3);
  Rays rays = rows_like("points", "points", points);
  rays.arrays.origins = rows_of("points", points, 3);
  set_each("max_distance", "point", max_distance, rays, false, rays.arrays.t_max.each);
  return rays;
}

void* output_of(const char* what, const ArrayFacts& array, const std::string& type,
                const Rays& rays, const std::vector<std::size_t>& more) {
  std::vector<std::size_t> shape = rays.shape;
  shape.insert(shape.end(), more.begin(), more.end());
  if (array.shape != shape) refuse_shape(what, array, text_of(shape));
  // int32 is accepted for uint32, which some libraries lack; the bits are the same.
  check_type(what, array, array.type == type || (type == "uint32" && array.type == "int32"),
             type == "bool8" ? "bool" : type);
  check_contiguous(what, array);
  check_same_device(what, array, rays);
  return array.data;
}

void check_device(const char* what, bool on_gpu, int gpu, const simt::DeviceInfo& device) {
  if (!on_gpu) return;  // host memory is read there, or copied to a GPU
  if (device.id.kind == simt::DeviceKind::cuda && device.id.index == gpu) return;
  throw Error(Exit::device, std::string(what) + ": on " + device_text(true, gpu) +
                                ", but the scene is on " + device.key);
}

}  // namespace heapwood::python
