// SPDX-License-Identifier: MIT
#include "scenes/mesh_files.hpp"

#include <bit>
#include <cstdint>

#include "scenes/file.hpp"
#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using namespace testing;

Mesh parse_bytes(const std::string& text) { return parse_ply(bytes_of(text), "dir/foo.ply"); }

void refuses_bytes(const std::string& text, std::initializer_list<std::string_view> parts) {
  expect_error(Exit::scene, {"dir/foo.ply: "}, [&] { parse_bytes(text); });
  expect_error(Exit::scene, parts, [&] { parse_bytes(text); });
}

std::string header(const std::string& format, const std::string& rest) {
  return "ply\nformat " + format + " 1.0\n" + rest + "end_header\n";
}

std::string ascii(const std::string& elements) { return header("ascii", elements); }
std::string binary(bool big, const std::string& elements) {
  return header(big ? "binary_big_endian" : "binary_little_endian", elements);
}

const std::string xyz = "property float x\nproperty float y\nproperty float z\n";
std::string vertices(const std::string& count) { return "element vertex " + count + "\n" + xyz; }
std::string faces(const std::string& count) {
  return "element face " + count + "\nproperty list uchar int vertex_indices\n";
}
const std::string plain = vertices("4") + faces("2");
const std::string square_text = ascii(plain) + "0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n";

std::string square_binary(bool big) {
  std::string data = binary(big, plain);
  for (const Vec3& p : unit_square().vertices) {
    for (unsigned axis = 0; axis < 3; ++axis) data += raw(p[axis], big);
  }
  for (const Triangle& t : unit_square().triangles) {
    data += '\3';
    for (const std::uint32_t v : t.v) data += raw(v, big);
  }
  return data;
}

TEST(Ply, ReadsAsciiAndBothEndians) {
  expect_same(parse_bytes(square_text), unit_square());
  expect_same(parse_bytes(square_binary(false)), unit_square());
  expect_same(parse_bytes(square_binary(true)), unit_square());
  EXPECT_EQ(parse_bytes(square_text).name, "foo");
}

TEST(Ply, LineEndsCommentsAndWhiteSpaceAreFree) {
  expect_same(parse_bytes(with_line_ends(square_text, "\r\n")), unit_square());
  std::string text = square_text;
  text.insert(text.find("element"), "comment element vertex 9\nobj_info none\n\n");
  text.insert(text.find("3 0 1"), "\n\n\t ");
  expect_same(parse_bytes(text), unit_square());
  text.pop_back();  // no line end after the last number
  expect_same(parse_bytes(text), unit_square());
}

TEST(Ply, AcceptsTheNumbersThatPeopleWrite) {
  const std::string text =
      ascii(vertices("3") + "element face 1\nproperty list int uint vertex_index\n") +
      "+1 -.5 5.\n1e-3 1E2 1e-400\n0x 0 0\n3 0 1 2\n";
  refuses_bytes(text, {"line 12: `0x` in vertex 2 is not a number"});
  refuses_bytes(replaced(text, "0x", "+-1"), {"line 12: `+-1` in vertex 2 is not a number"});
  const Mesh mesh = parse_bytes(replaced(text, "0x", "-0"));
  EXPECT_EQ(mesh.vertices[0], (Vec3{1, -0.5f, 5}));
  EXPECT_EQ(mesh.vertices[1], (Vec3{1e-3f, 100, 0}));
}

// Every scalar type as a coordinate, as a list's length and as an index, in both endians.
template <class T>
void any_type(const std::string& name, bool big, bool integer) {
  const std::string type = "property " + name;
  std::string data = binary(big, "element vertex 3\n" + type + " z\n" + type + " x\n" + type +
                                     " y\nelement face 1\nproperty list " +
                                     (integer ? name : "uchar") + " " + name + " vertex_indices\n");
  for (unsigned i = 0; i < 9; ++i) data += raw(static_cast<T>(i * i), big);
  data += integer ? raw(static_cast<T>(3), big) : "\3";
  for (unsigned i = 0; i < 3; ++i) data += raw(static_cast<T>(2 - i), big);
  Mesh expected;
  expected.vertices = {{1, 4, 0}, {16, 25, 9}, {49, 64, 36}};
  expected.triangles = {{{2, 1, 0}}};
  expect_same(parse_bytes(data), expected);
}

TEST(Ply, ReadsEveryTypeInAnyOrder) {
  for (const bool big : {false, true}) {
    for (const char* name : {"char", "int8"}) any_type<std::int8_t>(name, big, true);
    for (const char* name : {"uchar", "uint8"}) any_type<std::uint8_t>(name, big, true);
    for (const char* name : {"short", "int16"}) any_type<std::int16_t>(name, big, true);
    for (const char* name : {"ushort", "uint16"}) any_type<std::uint16_t>(name, big, true);
    for (const char* name : {"int", "int32"}) any_type<std::int32_t>(name, big, true);
    for (const char* name : {"uint", "uint32"}) any_type<std::uint32_t>(name, big, true);
    for (const char* name : {"float", "float32"}) any_type<float>(name, big, false);
    for (const char* name : {"double", "float64"}) any_type<double>(name, big, false);
  }
}

TEST(Ply, SkipsOtherPropertiesAndElements) {
  const std::string elements =
      "element camera 2\nproperty double zoom\nproperty list uchar short lens\n"
      "element vertex 3\nproperty uchar red\nproperty float x\nproperty list uchar float "
      "weights\nproperty float y\n"
      "property double quality\nproperty float z\n"
      "element nothing 1000000000000\n"
      "element face 1\nproperty list uchar float texcoord\nproperty list uchar int "
      "vertex_indices\nproperty uchar "
      "flags\n"
      "element edge 1\nproperty int from\nproperty int to\n";
  Mesh expected;
  expected.vertices = {{1, 2, 3}, {4, 5, 6}, {7, 8, 10}};
  expected.triangles = {{{0, 1, 2}}};
  const std::string text = ascii(elements) +
                           "9.5 2 7 8\n1 0\n"
                           "255 1 0 2 0.5 3\n255 4 2 9 9 5 0.5 6\n255 7 1 9 8 0.5 10\n"
                           "6 0 0 1 0 1 1 3 0 1 2 1\n1 2\n";
  expect_same(parse_bytes(text), expected);
  for (const bool big : {false, true}) {
    std::string data = binary(big, elements);
    const auto put = [&](auto... values) { ((data += raw(values, big)), ...); };
    const auto byte = [](int x) { return static_cast<std::uint8_t>(x); };
    put(9.5, byte(2), std::int16_t{7}, std::int16_t{8}, 1.0, byte(0));
    put(byte(255), 1.0f, byte(0), 2.0f, 0.5, 3.0f);
    put(byte(255), 4.0f, byte(2), 9.0f, 9.0f, 5.0f, 0.5, 6.0f);
    put(byte(255), 7.0f, byte(1), 9.0f, 8.0f, 0.5, 10.0f);
    put(byte(2), 0.0f, 0.0f, byte(3), 0, 1, 2, byte(1), 1, 2);
    expect_same(parse_bytes(data), expected);
  }
}

TEST(Ply, FacesMayStandBeforeVertices) {
  expect_same(
      parse_bytes(ascii(faces("2") + vertices("4")) + "3 0 1 2 3 0 2 3 0 0 0 1 0 0 1 1 0 0 1 0"),
      unit_square());
}

TEST(Ply, PolygonsBecomeTrianglesAndLinesNothing) {
  const std::string text = ascii(vertices("5") + faces("4")) +
                           "0 0 0 1 0 0 1 1 0 0 1 0 -1 0 0\n5 0 1 2 3 4\n0\n2 0 1\n4 1 2 3 4\n";
  EXPECT_EQ(
      parse_bytes(text).triangles,
      (std::vector<Triangle>{{{0, 1, 2}}, {{0, 2, 3}}, {{0, 3, 4}}, {{1, 2, 3}}, {{1, 3, 4}}}));
}

TEST(Ply, PolygonsBeforeVerticesStayInTheirOutline) {
  const std::string points = vertices("8"), corners = "8 0 1 2 3 4 5 6 7\n";
  const std::string u = "0 0 0 3 0 0 3 3 0 2 3 0 2 1 0 1 1 0 1 3 0 0 3 0\n";
  for (const std::string& text :
       {ascii(points + faces("1")) + u + corners, ascii(faces("1") + points) + corners + u}) {
    const Mesh mesh = parse_bytes(text);
    EXPECT_EQ(mesh.triangles.size(), 6u);
    float area = 0;
    for (const Triangle& t : mesh.triangles) {
      const Vec3 a = mesh.vertices[t.v[0]], b = mesh.vertices[t.v[1]], c = mesh.vertices[t.v[2]];
      EXPECT_GT(cross(b - a, c - a).z, 0);
      area += 0.5f * cross(b - a, c - a).z;
    }
    EXPECT_EQ(area, 7);
  }
}

TEST(Ply, FileWithoutATriangleIsOneError) {
  const std::string point = vertices("1");
  for (const std::string& text :
       {std::string(), ascii(vertices("0") + faces("0")), ascii(point) + "0 0 0\n",
        ascii(faces("0")), ascii(""), binary(false, point + faces("0")) + std::string(12, '\0'),
        ascii(point + faces("2")) + "0 0 0\n2 0 0\n0\n",
        ascii(point + "element tristrips 1\nproperty list uchar int vertex_indices\n") +
            "0 0 0\n5 0 0 0 0 0\n"}) {
    refuses_bytes(text, {"dir/foo.ply: it contains no triangle"});
  }
  refuses_bytes(ascii(faces("1")) + "3 0 0 0\n", {"no element `vertex`"});
}

TEST(Ply, ReadsStripsOfTriangles) {
  const std::string elements =
      vertices("5") + "element tristrips 1\nproperty list int int vertex_index\n";
  const std::string points = "0 0 0\n1 0 0\n0 1 0\n1 1 0\n0 2 0\n";
  // Two strips of alternating winding; the third only repeats a corner to turn.
  const std::string text = ascii(elements) + points + "14 0 1 2 3 4 -1 2 1 0 -1 0 1 1 2\n";
  EXPECT_EQ(parse_bytes(text).triangles,
            (std::vector<Triangle>{{{0, 1, 2}}, {{2, 1, 3}}, {{2, 3, 4}}, {{2, 1, 0}}}));
  // Together with faces, in the order of the file, with -1 in an unsigned type.
  const std::string both = replaced(elements, "int int", "int uint") + faces("1");
  EXPECT_EQ(parse_bytes(ascii(both) + points + "7 0 1 2 4294967295 1 2 3\n3 0 2 1\n").triangles,
            (std::vector<Triangle>{{{0, 1, 2}}, {{1, 2, 3}}, {{0, 2, 1}}}));
  refuses_bytes(ascii(elements) + points + "3 0 1 5\n",
                {"line 15: tristrips 0 refers to vertex 5"});
  refuses_bytes(ascii(elements) + points + "3 0 1 -2\n", {"tristrips 0 refers to vertex -2"});
  refuses_bytes(ascii(elements) + points + "9 0 1 2\n", {"the file ends within tristrips 0"});
}

TEST(Ply, ReadsLineEndsOfAllSystems) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string text = with_line_ends(square_text, end);
    expect_same(parse_bytes(text), unit_square());
    refuses_bytes(replaced(text, "0 2 3", "0 2 9"), {"line 15: face 1 refers to vertex 9"});

    // In binary data the first byte may look like the rest of a line end.
    const std::string data = square_binary(false),
                      body = data.substr(data.find("end_header\n") + 11),
                      head = with_line_ends(data.substr(0, data.size() - body.size()), end);
    expect_same(parse_bytes(head + body), unit_square());
    const std::string tens = raw(std::bit_cast<float>(0x0a0a0a0a));
    Mesh expected = unit_square();
    expected.vertices[0].x = std::bit_cast<float>(0x0a0a0a0a);
    expect_same(parse_bytes(head + tens + body.substr(4)), expected);
  }
}

TEST(Ply, ByteOrderMarksAndBlanksAreSkipped) {
  expect_same(parse_bytes("\xef\xbb\xbf" + square_text), unit_square());
  std::string text = replaced(square_text, "format ascii", "\vformat\fascii");
  text.insert(3, " \t");
  expect_same(parse_bytes(replaced(text, "0 0 0", "0\v0\f0")), unit_square());
  refuses_bytes("plywood\n", {"line 1", "the first line must be `ply`"});
}

TEST(Ply, FarCoordinatesKeepTheirShape) {
  const Vec3d points[] = {
      {500028.125, 4649776.25, 1}, {500028.25, 4649776.25, 1}, {500028.125, 4649777.0625, 1.5}};
  const auto expect_kept = [&](const Mesh& mesh) {
    EXPECT_NE(mesh.origin, Vec3d{});
    EXPECT_EQ(mesh.origin.z, 0);
    for (unsigned i = 0; i < 3; ++i)
      EXPECT_EQ(mesh.origin + to_double(mesh.vertices[i]), points[i]);
  };
  // Text may have more digits than its type holds.
  expect_kept(parse_bytes(
      ascii(vertices("3") + faces("1")) +
      "500028.125 4649776.25 1\n500028.25 4649776.25 1\n500028.125 4649777.0625 1.5\n3 0 1 2\n"));
  for (const bool big : {false, true}) {
    std::string data =
        binary(big, "element vertex 3\nproperty double x\nproperty double y\nproperty float z\n" +
                        faces("1"));
    for (const Vec3d& p : points)
      data += raw(p.x, big) + raw(p.y, big) + raw(static_cast<float>(p.z), big);
    data += '\3';
    for (int i = 0; i < 3; ++i) data += raw(i, big);
    expect_kept(parse_bytes(data));
  }
}

TEST(Ply, RefusesABrokenHeaderAndSaysWhere) {
  refuses_bytes("ply", {"line 1", "ends before `end_header`"});
  refuses_bytes("obj\n", {"line 1", "the first line must be `ply`"});
  refuses_bytes("ply\nformat ascii 1.0\n", {"line 3", "ends before `end_header`"});
  refuses_bytes("ply\nelement vertex 1\n" + xyz + "end_header\n", {"no `format` line"});
  refuses_bytes("ply\nformat text 1.0\n", {"line 2", "expected `format ascii 1.0`"});
  refuses_bytes("ply\nformat ascii\n", {"line 2", "expected `format ascii 1.0`"});
  refuses_bytes("ply\nformat ascii 2.0\n", {"line 2", "version 2.0"});
  refuses_bytes(ascii("element vertex\n"), {"line 3", "element NAME COUNT"});
  refuses_bytes(ascii("element vertex -1\n"), {"line 3", "`-1` is not a count"});
  refuses_bytes(ascii("element vertex 99999999999999999999\n"), {"line 3", "is not a count"});
  refuses_bytes(ascii("property float x\n"), {"line 3", "precedes the first element"});
  refuses_bytes(ascii("element vertex 1\nproperty real x\n"),
                {"line 4", "`real` is not a property type"});
  refuses_bytes(ascii("element vertex 1\nproperty float\n"), {"line 4", "expected `property"});
  refuses_bytes(ascii("element face 1\nproperty list uchar vertex_indices\n"),
                {"line 4", "expected `property"});
  refuses_bytes(ascii("element face 1\nproperty list float int vertex_indices\n"),
                {"line 4", "length of a list"});
  refuses_bytes(ascii("vertices 4\n"), {"line 3", "`vertices` is not a keyword"});
  refuses_bytes(ascii("\x1b[31m\n"), {"line 3", "`\\x1b[31m` is not a keyword"});
}

TEST(Ply, RefusesElementsThatDoNotFit) {
  refuses_bytes(ascii(vertices("0") + vertices("0") + faces("1")), {"`vertex` appears twice"});
  refuses_bytes(ascii(vertices("0") + "property float x\n" + faces("1")), {"`x` appears twice"});
  refuses_bytes(ascii("element vertex 0\nproperty float x\nproperty float y\n" + faces("1")),
                {"no property `z`"});
  refuses_bytes(ascii("element vertex 0\nproperty list uchar float x\n" + faces("1")),
                {"`x` must not be a list"});
  refuses_bytes(ascii(vertices("0") + "element face 1\nproperty int vertex_indices\n") + "0 0 0\n",
                {"must be a list"});
  refuses_bytes(ascii(vertices("0") + "element face 1\nproperty int area\n") + "0 0 0\n",
                {"no property `vertex_indices`"});
  refuses_bytes(ascii("element vertex 7\n" + faces("1")), {"`vertex` has no properties"});
}

TEST(Ply, RefusesIndicesOutOfRange) {
  const std::string_view indices[][2] = {
      {"4", "4, but there are 4"}, {"-1", "-1, but there are 4"}, {".5", "0.5"}, {"nan", "nan"}};
  for (const auto& [index, vertex] : indices) {
    refuses_bytes(replaced(square_text, "3 0 2 3", "3 0 2 " + std::string(index)),
                  {"line 15: face 1 refers to vertex " + std::string(vertex)});
  }
  std::string data = square_binary(false);
  data.replace(data.size() - 4, 4, raw(std::int32_t{99}));
  refuses_bytes(data, {"byte " + std::to_string(data.size() - 4) +
                       ": face 1 refers to vertex 99, but there are 4"});
}

TEST(Ply, RefusesVerticesThatAreNotFinite) {
  for (const char* bad : {"nan", "inf", "-inf", "1e39", "1e999"}) {
    refuses_bytes(replaced(square_text, "1 1 0", bad + std::string(" 1 0")),
                  {"line 12: vertex 2 is not finite"});
  }
  std::string data = square_binary(true);
  const std::size_t second = data.find("end_header\n") + 11 + 12;
  data.replace(second + 4, 4, raw(std::uint32_t{0x7fc00000}, true));
  refuses_bytes(data, {"byte " + std::to_string(second) + ": vertex 1 is not finite"});
}

TEST(Ply, RefusesListsOfStrangeLength) {
  const std::string start =
      binary(false, vertices("0") + "element face 1\nproperty list char int vertex_indices\n");
  refuses_bytes(start + "\xff",
                {"byte " + std::to_string(start.size()) + ": a list in face 0 has a length of -1"});
  refuses_bytes(start + "\x7f", {"the file ends within face 0"});
  refuses_bytes(ascii(vertices("0") + "element face 1\nproperty list uint int vertex_indices\n") +
                    "1.5 0 0\n",
                {"has a length of 1.5"});
}

TEST(Ply, RefusesWhatIsCutOff) {
  for (const std::string& whole : {square_text, square_binary(false), square_binary(true)}) {
    // Text without its last line end is complete.
    for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
      expect_error(Exit::scene, {}, [&] { parse_bytes(whole.substr(0, length)); });
    }
  }
}

TEST(Ply, ClaimsBeyondTheFileCostNothing) {
  for (const std::string format : {"ascii", "binary_little_endian"}) {
    for (const std::string count : {"100000", "4000000000", "18446744073709551615"}) {
      const std::string points = header(format, vertices(count) + faces("1")) + "0 0 0\n";
      expect_error(Exit::scene, {}, [&] { parse_bytes(points); });
      refuses_bytes(header(format, vertices("0") + faces(count)) + "0 0 0\n",
                    {"the header claims"});
      refuses_bytes(
          header(format, "element other " + count +
                             "\nproperty list uchar int a\nelement vertex 0\n" + xyz + faces("1")),
          {"the header claims"});
    }
    refuses_bytes(
        header(format, vertices("0") + "element face 1\nproperty list uint int vertex_indices\n") +
            (format == "ascii" ? "4294967295 0 0" : "\xff\xff\xff\xff____"),
        {""});
  }
}

TEST(Ply, AStrangePathStaysOnOneLine) {
  expect_error(Exit::scene, {"a\\nb.ply: line 1"}, [] { parse_ply(bytes_of("x"), "a\nb.ply"); });
  EXPECT_EQ(parse_ply(bytes_of(square_text), "a\nb\x1b.ply").name, "a\\nb\\x1b");
}

}  // namespace
}  // namespace heapwood::scenes
