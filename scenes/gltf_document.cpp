// SPDX-License-Identifier: MIT
#include "scenes/gltf_document.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenes/file.hpp"
#include "simt/error.hpp"

namespace heapwood::scenes::gltf {
namespace {

using Json = nlohmann::json;

constexpr std::size_t max_nesting = 64;
constexpr double max_integer = 9007199254740992.0;  // 2^53

// Extensions that a file may require: the first list has those that are read or change no picture,
// the second those that are ignored with a note.
constexpr std::string_view read_extensions[] = {
    "KHR_texture_transform", "KHR_mesh_quantization",  "KHR_materials_emissive_strength",
    "KHR_materials_unlit",   "KHR_materials_variants", "KHR_materials_pbrSpecularGlossiness",
    "KHR_node_visibility",   "KHR_xmp_json_ld"};
constexpr std::string_view ignored_extensions[] = {
    "KHR_materials_clearcoat",  "KHR_materials_ior",          "KHR_materials_sheen",
    "KHR_materials_specular",   "KHR_materials_transmission", "KHR_materials_volume",
    "KHR_materials_anisotropy", "KHR_materials_iridescence",  "KHR_materials_dispersion",
    "KHR_lights_punctual",      "KHR_animation_pointer"};

// A JSON object with its path in the document, for messages.
class Object {
 public:
  Object(const Json& json, const std::string& source, std::string place)
      : json_(json), source_(source), place_(std::move(place)) {
    if (!json.is_object()) fail("an object is expected");
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Error(Exit::scene, source_ + ": " + (place_.empty() ? "" : place_ + ": ") + reason);
  }

  bool has(const char* key) const { return json_.contains(key); }

  Object object(const char* key) const {
    static const Json empty = Json::object();
    const auto found = json_.find(key);
    return {found == json_.end() ? empty : *found, source_, inner(key)};
  }
  Object extension(const char* name) const { return object("extensions").object(name); }

  // Calls f with each object of an array, whose place for messages contains its index.
  template <class F>
  void each(const char* key, F f) const {
    const Json& list = array(key);
    for (std::size_t i = 0; i < list.size(); ++i) {
      check_interruption();
      f(Object(list[i], source_, inner(key) + "[" + std::to_string(i) + "]"));
    }
  }
  std::size_t size(const char* key) const { return array(key).size(); }

  std::string text(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) return {};
    if (!found->is_string()) fail(concat("`", key, "` is not a string"));
    return found->get<std::string>();
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> result;
    for (const Json& item : array(key)) {
      if (!item.is_string()) fail(concat("`", key, "` is not a list of strings"));
      result.push_back(item.get<std::string>());
    }
    return result;
  }
  bool flag(const char* key, bool absent = false) const {
    const auto found = json_.find(key);
    return found == json_.end() || !found->is_boolean() ? absent : found->get<bool>();
  }

  double number(const char* key, double absent) const {
    const auto found = json_.find(key);
    return found == json_.end() ? absent : finite(*found, key);
  }
  // Reads a list of `count` numbers, or of any number for 0. Returns false if it is absent.
  bool numbers(const char* key, std::size_t count, std::vector<double>& values) const {
    if (!has(key)) return false;
    values.clear();
    for (const Json& item : array(key)) values.push_back(finite(item, key));
    if (count != 0 && values.size() != count)
      fail(concat("`", key, "` must have ", count, " numbers"));
    return true;
  }
  std::vector<float> floats(const char* key) const {
    std::vector<double> values;
    numbers(key, 0, values);
    std::vector<float> result;
    for (const double value : values) result.push_back(static_cast<float>(value));
    return result;
  }
  Vec3 colour(const char* key, Vec3 absent, double largest) const {
    std::vector<double> c;
    if (!numbers(key, 3, c)) return absent;
    const auto limited = [&](double x) { return static_cast<float>(std::clamp(x, 0.0, largest)); };
    return {limited(c[0]), limited(c[1]), limited(c[2])};
  }
  std::size_t integer(const char* key, std::size_t absent) const {
    const auto found = json_.find(key);
    return found == json_.end() ? absent : whole(*found, key);
  }
  std::size_t required_integer(const char* key) const {
    if (!has(key)) fail(concat("`", key, "` is missing"));
    return integer(key, 0);
  }
  // Reads an index below `limit`; `none` if it is absent.
  std::uint32_t index(const char* key, std::size_t limit) const {
    const auto found = json_.find(key);
    return found == json_.end() ? none : in_range(whole(*found, key), key, limit);
  }
  std::uint32_t required_index(const char* key, std::size_t limit) const {
    const std::uint32_t result = index(key, limit);
    if (result == none) fail(concat("`", key, "` is missing"));
    return result;
  }
  std::vector<std::uint32_t> indices(const char* key, std::size_t limit) const {
    std::vector<std::uint32_t> result;
    for (const Json& item : array(key)) result.push_back(in_range(whole(item, key), key, limit));
    return result;
  }

 private:
  std::string inner(const char* key) const { return place_.empty() ? key : place_ + "." + key; }

  const Json& array(const char* key) const {
    static const Json empty = Json::array();
    const auto found = json_.find(key);
    if (found == json_.end()) return empty;
    if (!found->is_array()) fail(concat("`", key, "` is not a list"));
    return *found;
  }
  double finite(const Json& value, const char* key) const {
    const double x = value.is_number() ? value.get<double>() : std::nan("");
    if (!std::isfinite(x)) fail(concat("`", key, "` is not a finite number"));
    if (std::abs(x) > 1e30) fail(concat("`", key, "` is larger than 1e30"));
    return x;
  }
  std::size_t whole(const Json& value, const char* key) const {
    const double x = value.is_number() ? value.get<double>() : -1;
    if (!(x >= 0 && x <= max_integer && x == std::floor(x)))
      fail(concat("`", key, "` is not an integer from 0 to 2^53"));
    return static_cast<std::size_t>(x);
  }
  std::uint32_t in_range(std::size_t value, const char* key, std::size_t limit) const {
    if (value >= limit || value >= none) {
      fail(concat("`", key, "` is ", value, ", but there are ", limit));
    }
    return static_cast<std::uint32_t>(value);
  }

  const Json& json_;
  const std::string& source_;
  std::string place_;
};

Component component_of(const Object& object) {
  const std::size_t type = object.required_integer("componentType");
  if (type < 5120 || type > 5126 || type == 5124)
    object.fail(concat("component type ", type, " is unknown"));
  return static_cast<Component>(type);
}

unsigned components_of(const Object& object) {
  const std::string type = object.text("type");
  constexpr std::pair<std::string_view, unsigned> types[] = {
      {"SCALAR", 1}, {"VEC2", 2}, {"VEC3", 3}, {"VEC4", 4}, {"MAT2", 4}, {"MAT3", 9}, {"MAT4", 16}};
  for (const auto& [name, components] : types) {
    if (type == name) return components;
  }
  object.fail("type `" + printable(type) + "` is unknown");
}

class Parser {
 public:
  Parser(const Json& json, const std::string& source) : root_(json, source, "") {}

  Document run(bool animated) {
    const std::string version = root_.object("asset").text("version");
    if (version.empty()) root_.fail("`asset.version` is missing: it is not a glTF 2.0 file");
    if (!version.starts_with("2."))
      root_.fail("glTF version " + printable(version) + " is not supported; expected 2.0");
    if (const std::string min = root_.object("asset").text("minVersion");
        !min.empty() && min != "2.0")
      root_.fail("it requires glTF version " + printable(min) + ", which is not supported");
    for (const std::string& name : root_.texts("extensionsRequired")) {
      if (std::ranges::count(ignored_extensions, name) > 0) {
        document_.ignored_extensions.push_back(name);
      } else if (std::ranges::count(read_extensions, name) == 0) {
        root_.fail("it requires the extension " + printable(name, 60) +
                   ", which is not supported: export the file without it");
      }
    }
    buffers();
    accessors();
    materials();
    meshes();
    nodes();
    root_.each("skins", [&](const Object& o) {
      Skin& skin = document_.skins.emplace_back();
      skin.joints = o.indices("joints", node_count());
      skin.inverse_bind = o.index("inverseBindMatrices", document_.accessors.size());
    });
    if (animated) animations();
    root_.each("cameras", [&](const Object& o) {
      CameraInfo& camera = document_.cameras.emplace_back();
      camera.perspective = o.text("type") == "perspective";
      camera.vertical_fov = o.object("perspective").number("yfov", 0);
    });
    order_nodes();
    choose_scene();
    return std::move(document_);
  }

 private:
  std::size_t node_count() const { return root_.size("nodes"); }

  void buffers() {
    root_.each("buffers", [&](const Object& o) {
      document_.buffers.push_back({o.text("uri"), o.required_integer("byteLength")});
    });
    root_.each("bufferViews", [&](const Object& o) {
      document_.views.push_back({o.required_index("buffer", document_.buffers.size()),
                                 o.integer("byteOffset", 0), o.required_integer("byteLength"),
                                 o.integer("byteStride", 0)});
    });
  }

  Location location(const Object& o, Component component) const {
    return {o.index("bufferView", document_.views.size()), o.integer("byteOffset", 0), component};
  }

  void accessors() {
    root_.each("accessors", [&](const Object& o) {
      Accessor& accessor = document_.accessors.emplace_back();
      accessor.location = location(o, component_of(o));
      accessor.count = o.required_integer("count");
      accessor.components = components_of(o);
      accessor.normalized = o.flag("normalized");
      if (!o.has("sparse")) return;
      const Object sparse = o.object("sparse");
      accessor.sparse_count = sparse.required_integer("count");
      const Object indices = sparse.object("indices"), values = sparse.object("values");
      accessor.sparse_indices = location(indices, component_of(indices));
      accessor.sparse_values = location(values, accessor.location.component);
      if (accessor.sparse_indices.view == none || accessor.sparse_values.view == none)
        sparse.fail("`bufferView` is missing");
    });
  }

  TextureUse texture_use(const Object& o) const {
    TextureUse use;
    use.texture = o.index("index", document_.textures.size());
    use.uv_set = static_cast<unsigned>(std::min<std::size_t>(o.integer("texCoord", 0), 3));
    if (!o.has("extensions")) return use;
    const Object transform = o.extension("KHR_texture_transform");
    std::vector<double> pair;
    if (transform.numbers("offset", 2, pair)) std::copy_n(pair.begin(), 2, use.offset);
    if (transform.numbers("scale", 2, pair)) std::copy_n(pair.begin(), 2, use.scale);
    use.rotation = transform.number("rotation", 0);
    use.uv_set =
        static_cast<unsigned>(std::min<std::size_t>(transform.integer("texCoord", use.uv_set), 3));
    return use;
  }

  void materials() {
    root_.each("images", [&](const Object& o) {
      document_.images.push_back({o.text("uri"), o.index("bufferView", document_.views.size())});
    });
    std::vector<TextureInfo> samplers;
    root_.each("samplers", [&](const Object& o) {
      const auto wrap = [&](const char* key) {
        const std::size_t value = o.integer(key, 10497);
        return value == 33071 ? Wrap::clamp : value == 33648 ? Wrap::mirror : Wrap::repeat;
      };
      samplers.push_back({none, wrap("wrapS"), wrap("wrapT"), o.integer("magFilter", 0) == 9728});
    });
    root_.each("textures", [&](const Object& o) {
      const std::uint32_t sampler = o.index("sampler", samplers.size());
      TextureInfo& texture =
          document_.textures.emplace_back(sampler == none ? TextureInfo{} : samplers[sampler]);
      texture.image = o.index("source", document_.images.size());
    });
    root_.each("materials", [&](const Object& o) {
      MaterialInfo& info = document_.materials.emplace_back();
      Material& m = info.material;
      m.name = o.text("name");
      const Object pbr = o.object("pbrMetallicRoughness");
      std::vector<double> factor{1, 1, 1, 1};
      pbr.numbers("baseColorFactor", 4, factor);
      info.base = texture_use(pbr.object("baseColorTexture"));
      double strength = 1;
      if (o.has("extensions")) {
        strength = o.extension("KHR_materials_emissive_strength").number("emissiveStrength", 1);
        // The older workflow, specular-glossiness, has a base colour of its own.
        const Object old = o.extension("KHR_materials_pbrSpecularGlossiness");
        old.numbers("diffuseFactor", 4, factor);
        if (old.has("diffuseTexture")) info.base = texture_use(old.object("diffuseTexture"));
      }
      for (double& x : factor) x = std::clamp(x, 0.0, 1.0);
      m.colour = to_float({factor[0], factor[1], factor[2]});
      m.alpha = static_cast<float>(factor[3]);
      m.emission =
          o.colour("emissiveFactor", {}, 1) * static_cast<float>(std::clamp(strength, 0.0, 1e6));
      info.emission = texture_use(o.object("emissiveTexture"));
      const std::string mode = o.text("alphaMode");
      m.coverage = mode == "MASK"    ? Coverage::cutout
                   : mode == "BLEND" ? Coverage::blended
                                     : Coverage::opaque;
      m.cutoff = static_cast<float>(o.number("alphaCutoff", 0.5));
      m.unlit = o.object("extensions").has("KHR_materials_unlit");
      document_.has_ignored_maps = document_.has_ignored_maps || o.has("normalTexture") ||
                                   o.has("occlusionTexture") || pbr.has("metallicRoughnessTexture");
    });
  }

  void meshes() {
    const std::size_t accessor_count = document_.accessors.size();
    root_.each("meshes", [&](const Object& o) {
      MeshInfo& mesh = document_.meshes.emplace_back();
      mesh.weights = o.floats("weights");
      o.each("primitives", [&](const Object& p) {
        Primitive& primitive = mesh.primitives.emplace_back();
        const Object attributes = p.object("attributes");
        const auto attribute = [&](const std::string& name) {
          return attributes.index(name.c_str(), accessor_count);
        };
        primitive.positions = attribute("POSITION");
        // Accessors without data indicate a compressed primitive.
        if (p.object("extensions").has("KHR_draco_mesh_compression") &&
            (primitive.positions == none ||
             document_.accessors[primitive.positions].location.view == none)) {
          p.fail("KHR_draco_mesh_compression is not supported: export the file without it");
        }
        primitive.colours = attribute("COLOR_0");
        for (unsigned i = 0; i < 4; ++i)
          primitive.uvs[i] = attribute("TEXCOORD_" + std::to_string(i));
        primitive.joints = attribute("JOINTS_0");
        primitive.weights = attribute("WEIGHTS_0");
        primitive.indices = p.index("indices", accessor_count);
        primitive.material = p.index("material", document_.materials.size());
        primitive.mode = static_cast<unsigned>(std::min<std::size_t>(p.integer("mode", 4), 7));
        p.each("targets", [&](const Object& target) {
          primitive.targets.push_back(target.index("POSITION", accessor_count));
        });
      });
    });
  }

  void nodes() {
    root_.each("nodes", [&](const Object& o) {
      Node& node = document_.nodes.emplace_back();
      std::vector<double> v;
      if (o.numbers("translation", 3, v)) node.translation = {v[0], v[1], v[2]};
      if (o.numbers("scale", 3, v)) node.scale = {v[0], v[1], v[2]};
      if (o.numbers("rotation", 4, v)) node.rotation = {v[0], v[1], v[2], v[3]};
      if (o.numbers("matrix", 16, v)) std::copy_n(v.begin(), 16, node.matrix.emplace().begin());
      node.children = o.indices("children", node_count());
      node.mesh = o.index("mesh", document_.meshes.size());
      node.skin = o.index("skin", root_.size("skins"));
      node.camera = o.index("camera", root_.size("cameras"));
      node.weights = o.floats("weights");
      node.visible = o.extension("KHR_node_visibility").flag("visible", true);
      node.has_instances = o.object("extensions").has("EXT_mesh_gpu_instancing");
    });
  }

  void animations() {
    root_.each("animations", [&](const Object& o) {
      AnimationInfo& animation = document_.animations.emplace_back();
      animation.name = o.text("name");
      struct Sampler {
        std::uint32_t input, output;
        Interpolation interpolation;
      };
      std::vector<Sampler> samplers;
      o.each("samplers", [&](const Object& s) {
        const std::string how = s.text("interpolation");
        samplers.push_back({s.required_index("input", document_.accessors.size()),
                            s.required_index("output", document_.accessors.size()),
                            how == "STEP"          ? Interpolation::step
                            : how == "CUBICSPLINE" ? Interpolation::cubic
                                                   : Interpolation::linear});
      });
      o.each("channels", [&](const Object& c) {
        const Sampler& sampler = samplers[c.required_index("sampler", samplers.size())];
        const Object target = c.object("target");
        constexpr std::pair<std::string_view, Path> paths[] = {{"translation", Path::translation},
                                                               {"rotation", Path::rotation},
                                                               {"scale", Path::scale},
                                                               {"weights", Path::weights}};
        const std::string name = target.text("path");
        const std::uint32_t node = target.index("node", document_.nodes.size());
        for (const auto& [path_name, path] : paths) {
          if (name == path_name && node != none) {
            animation.channels.push_back(
                {node, sampler.input, sampler.output, path, sampler.interpolation});
          }
        }
      });
    });
  }

  [[noreturn]] void fail_node(std::uint32_t node, const std::string& reason) const {
    root_.fail(concat("nodes[", node, "]: ", reason));
  }

  void order_nodes() {
    std::vector<Node>& nodes = document_.nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      for (const std::uint32_t child : nodes[i].children) {
        if (nodes[child].parent != none) fail_node(child, "it is a child of two nodes");
        nodes[child].parent = i;
      }
    }
    std::vector<std::uint32_t>& order = document_.order;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].parent == none) order.push_back(i);
    }
    for (std::size_t i = 0; i < order.size(); ++i)
      order.insert(order.end(), nodes[order[i]].children.begin(), nodes[order[i]].children.end());
    if (order.size() == nodes.size()) return;
    std::vector<bool> reached(nodes.size());
    for (const std::uint32_t i : order) reached[i] = true;
    const auto first = std::ranges::find(reached, false) - reached.begin();
    fail_node(static_cast<std::uint32_t>(first), "it is its own ancestor");
  }

  // Collects the visible nodes of the default scene. If none is named, uses the first scene; if
  // there is no scene, all nodes.
  void choose_scene() {
    const std::uint32_t chosen = root_.index("scene", root_.size("scenes"));
    std::vector<bool> shown(document_.nodes.size(), root_.size("scenes") == 0);
    std::uint32_t i = 0;
    root_.each("scenes", [&](const Object& o) {
      const std::vector<std::uint32_t> roots = o.indices("nodes", document_.nodes.size());
      if (i++ != (chosen == none ? 0 : chosen)) return;
      for (const std::uint32_t root : roots) shown[root] = true;
    });
    std::vector<bool> hidden(document_.nodes.size());
    for (const std::uint32_t node : document_.order) {
      const std::uint32_t parent = document_.nodes[node].parent;
      if (parent != none && shown[parent]) shown[node] = true;
      hidden[node] = !document_.nodes[node].visible || (parent != none && hidden[parent]);
      if (shown[node] && !hidden[node]) document_.shown.push_back(node);
    }
  }

  Object root_;
  Document document_;
};

}  // namespace

Document parse_document(std::string_view json, const std::string& source, bool animated) {
  json = without_byte_order_mark(json);
  if (json_nesting(json) > max_nesting)
    throw Error(Exit::scene, source + ": its JSON is nested too deeply");
  Json root;
  try {
    root = Json::parse(json);
  } catch (const Json::parse_error& error) {
    throw Error(Exit::scene, concat(source, ": byte ", error.byte, ": it is not valid JSON"));
  } catch (const Json::exception&) {  // a number that is out of range
    throw Error(Exit::scene, source + ": it is not valid JSON");
  }
  return Parser(root, source).run(animated);
}

}  // namespace heapwood::scenes::gltf
