// SPDX-License-Identifier: MIT
#include "scenes/mesh_files.hpp"

#include <algorithm>
#include <cmath>

#include "tests/scenes/support.hpp"

namespace heapwood::scenes {
namespace {

using testing::expect_error;

Mesh parse_text(std::string_view text) { return parse_obj(text, "dir/foo.obj"); }

void refuses_text(std::string_view text, std::string_view message) {
  expect_error(Exit::scene, {"dir/foo.obj: ", message}, [&] { parse_text(text); });
}

const std::string three = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
const std::string four = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n";

TEST(Obj, ReadsATriangle) {
  const Mesh mesh = parse_text(three + "f 1 2 3\n");
  EXPECT_EQ(mesh.name, "foo");
  EXPECT_EQ(mesh.vertices, (std::vector<Vec3>{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}));
  EXPECT_EQ(mesh.triangles, (std::vector<Triangle>{{{0, 1, 2}}}));
}

TEST(Obj, ReadsATriangleHoweverItIsWritten) {
  const std::string more = three + "vt 0 0\nvn 0 0 1\n", face = "f 1 2 3\n";
  std::vector<std::string> texts{
      face + three, "\xef\xbb\xbf" + three + face, three + "f 1 2 3\\",
      "\fv\v0\f0 0\nv 1 0 0\v\nv 0 1 0\nf\f1 2\v3\n",
      "v 0 \\\n0 0\nv 1 0 0\nv 0 1 0\nf 1 \\\r\n 2 \\\n 3\n",
      // Keywords and elements that are not read.
      "# a comment\nmtllib missing.mtl\nmtllib\no thing\ng a b c\ng\ns off\ns 1\nusemtl none\n" +
          three +
          "vn a b c\nvt nan\nvw 0 -1 -1\nt crease 9999999/9999999/9999999\ncurv2 1 2\n\nvp 1 2\n"
          "\xff\xfe\nf 1 2 3"};
  for (const char* corners :
       {"f 1/1 2/1 3/1", "f 1//1 2//1 3//1", "f 1/1/1 2/1/1 3/1/1", "f -3/-1/-1 -2/-1/-1 -1/-1/-1",
        "\tf\t1/9/9   2/9/9\t3/9/9  ", "f +1 +2 +3", "f 1 2 3 # a comment", "fo 1 2 3"})
    texts.push_back(more + corners);
  for (const std::string end : {"\n", "\r\n", "\r", "\n\n", " \t\n"})
    texts.push_back(testing::with_line_ends(three + face, end));
  for (const std::string& text : texts) {
    EXPECT_EQ(parse_text(text).vertices.size(), 3u) << text;
    EXPECT_EQ(parse_text(text).triangles, (std::vector<Triangle>{{{0, 1, 2}}})) << text;
  }
}

TEST(Obj, RelativeIndicesCountFromTheFace) {
  const Mesh mesh = parse_text(three + "f -3 -2 -1\n" + three + "f -3 -2 -1\nf 1 -1 5\n");
  EXPECT_EQ(mesh.triangles, (std::vector<Triangle>{{{0, 1, 2}}, {{3, 4, 5}}, {{0, 5, 4}}}));
}

TEST(Obj, PolygonsOfAnySizeLoseNoTriangle) {
  for (const unsigned n : {5u, 6u, 254u, 255u, 256u, 257u, 509u, 1000u}) {
    std::string text, face = "f";
    for (unsigned i = 0; i < n; ++i) {
      text += "v " + std::to_string(i) + " " + std::to_string(i * i) + " 0\n";
      face += " " + std::to_string(i + 1);
    }
    const Mesh mesh = parse_text(text + face);
    ASSERT_EQ(mesh.triangles.size(), n - 2) << n;
    std::vector<bool> used(n);
    for (const Triangle& t : mesh.triangles) {
      for (const std::uint32_t v : t.v) used[v] = true;
    }
    EXPECT_EQ(std::ranges::count(used, true), n);
  }
}

// The order of the faces is preserved.
TEST(Obj, LargeConcavePolygonsStayInTheirOutline) {
  std::string text = four, face = "f";
  double area = 0;
  const unsigned teeth = 300;
  for (unsigned i = 0; i < teeth; ++i) {
    text += "v " + std::to_string(i) + " 0 0\nv " + std::to_string(i) + ".5 -9 0\n";
    face += " " + std::to_string(5 + 2 * i) + " " + std::to_string(6 + 2 * i);
    area += i + 1 < teeth ? 4.5 : 0;
  }
  text += "v 299 0 0\nv 299 1 0\nv 0 1 0\n";
  face += " 605 606 607";
  area += 299;
  const Mesh mesh = parse_text(text + "f 1 2 3\n" + face + "\nf 2 3 4\n");
  ASSERT_EQ(mesh.triangles.size(), 603 - 2 + 2u);
  EXPECT_EQ(mesh.triangles.front(), (Triangle{{0, 1, 2}}));
  EXPECT_EQ(mesh.triangles.back(), (Triangle{{1, 2, 3}}));
  double sum = 0;
  for (std::size_t i = 1; i + 1 < mesh.triangles.size(); ++i) {
    const std::uint32_t* v = mesh.triangles[i].v;
    sum += 0.5 * std::abs(double{cross(mesh.vertices[v[1]] - mesh.vertices[v[0]],
                                       mesh.vertices[v[2]] - mesh.vertices[v[0]])
                                     .z});
  }
  EXPECT_DOUBLE_EQ(sum, area);
  EXPECT_TRUE(mesh.notes.empty());
}

TEST(Obj, PolygonsThatIntersectThemselvesAreNotedOnce) {
  const Mesh mesh =
      parse_text("v 5 0 0\nv 9 4 0\nv 9 0 0\nv 5 4 0\nf 1 2 3 4\nf 2 3 4 1\nf 1 2 3\n");
  EXPECT_EQ(mesh.triangles.size(), 5u);
  ASSERT_EQ(mesh.notes.size(), 1u);
  EXPECT_EQ(
      mesh.notes[0].find("dir/foo.obj: 2 polygons intersect themselves, the first at (5, 0, 0)"),
      0u)
      << mesh.notes[0];
  EXPECT_TRUE(parse_text(four + "f 1 2 3 4\n").notes.empty());
}

TEST(Obj, FarCoordinatesKeepTheirShape) {
  const Mesh mesh = parse_text(
      "v 500028.125 4649776.25 129\nv 500028.25 4649776.25 129\nv 500028.125 4649777.0625 130\n"
      "v 0 0 0\nf 1 2 3\n");
  EXPECT_EQ(mesh.origin.z, 130);
  const auto vertex = [&](std::size_t i) { return mesh.origin + to_double(mesh.vertices[i]); };
  EXPECT_EQ(vertex(0), (Vec3d{500028.125, 4649776.25, 129}));
  EXPECT_EQ(vertex(1), (Vec3d{500028.25, 4649776.25, 129}));
  EXPECT_EQ(vertex(2), (Vec3d{500028.125, 4649777.0625, 130}));
  EXPECT_EQ(parse_text(three + "f 1 2 3\n").origin, Vec3d{});
}

TEST(Obj, ACommentDoesNotContinue) {
  for (const std::string comment : {"# C:\\models\\\n", "  # a \\\r\n", "g a # b\\\n", "#\\\n"}) {
    const Mesh mesh = parse_text(comment + three + "f 1 2 3\n" + comment + "f 1 3 2\n");
    EXPECT_EQ(mesh.vertices.size(), 3u) << comment;
    EXPECT_EQ(mesh.triangles.size(), 2u) << comment;
  }
  EXPECT_EQ(parse_text(three + "f 1 2 \\\n 3 # end \\\nf 1 2 3\n").triangles.size(), 2u);
  EXPECT_EQ(parse_text(three + "f 1 2 3\ng a#\\\nf 1 2 3\n").triangles.size(),
            1u);  // `#` belongs to a name here, it begins no comment
}

TEST(Obj, PointsAndLinesAreNoTriangles) {
  EXPECT_EQ(parse_text(three + "f\nf 1\nf 1 2\nl 1 2 3\np 1\nf 1 2 3\n").triangles.size(), 1u);
  refuses_text(three + "f 1 2\nl 1 2 3\n", "it contains no triangle");
}

TEST(Obj, AcceptsTheNumbersThatPeopleWrite) {
  const Mesh mesh = parse_text(
      "v +1 -.5 5.\nv 1e-3 1E2 1e-400 1.0\nv 1e-2147483649 0 1e-99999999999 0.5 0.5 0.5\nf 1 2 "
      "3\n");
  EXPECT_EQ(mesh.vertices[0], (Vec3{1, -0.5f, 5}));
  EXPECT_EQ(mesh.vertices[1], (Vec3{1e-3f, 100, 0}));
  EXPECT_EQ(mesh.vertices[2], (Vec3{0, 0, 0}));
}

TEST(Obj, RefusesIndicesOutOfRange) {
  refuses_text(three + "f -9 -2 -3\n",
               "line 4: the face refers to vertex -9, but only 3 precede it");
  refuses_text(three + "f 1 2 7\n", "line 4: the face refers to vertex 7, but there are 3");
  refuses_text(three + "f 1 2 0\n", "line 4: the face refers to vertex 0, but there are 3");
  refuses_text(three + "f 1 2 3\n\n\nf 4 1 2/2\n", "line 7: the face refers to vertex 4");
  refuses_text(three + "f 1 2 4294967297\n", "line 4: the face refers to vertex 4294967297");
  refuses_text(three + "f 1 2 -99999999999999999999999999\n",
               "line 4: the face refers to vertex -9999");
  refuses_text("f -1 -2 -3\n" + three,
               "line 1: the face refers to vertex -1, but only 0 precede it");
  refuses_text(three + "g a\\\nb\nf 1 2 9\n", "line 6");
}

TEST(Obj, RefusesCornersThatAreNoNumbers) {
  for (const char* bad : {"x", "1.5", "/1", "--1", "+-1", "++1", "1x/2", "\x01"}) {
    refuses_text(three + "f 1 2 " + bad + "\n", "line 4: `");
    refuses_text(three + "f 1 2 " + bad + "\n", "is not a corner of a face");
  }
}

TEST(Obj, RefusesBrokenVertices) {
  refuses_text("v 0 0\nf 1 1 1\n", "line 1: a vertex needs three numbers");
  refuses_text("v 0 0 x\nf 1 1 1\n", "line 1: `x` is not a number");
  refuses_text("v 0 0 1,5\nf 1 1 1\n", "line 1: `1,5` is not a number");
  refuses_text("v 0 0 +-1\nf 1 1 1\n", "line 1: `+-1` is not a number");
  for (const char* bad : {"nan", "inf", "-inf", "1e39", "1e999", "-1e2147483648"}) {
    refuses_text(std::string("#\nv 0 0 ") + bad + "\nf 1 1 1\n",
                 "line 2: the vertex is not finite");
  }
}

TEST(Obj, RefusesAFileWithoutFaces) {
  for (const char* text : {"", "\n", "# nothing\n", "v 0 0 0\n", "\x89PNG\r\n\x1a\n"})
    refuses_text(text, "it contains no triangle");
  refuses_text(std::string_view("\0\0\0\0", 4), "it contains no triangle");
}

}  // namespace
}  // namespace heapwood::scenes
