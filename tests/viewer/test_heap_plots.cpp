// SPDX-License-Identifier: MIT
// The Heap tab's plots: zoom, the range selected, and what is played.
#include "tests/viewer/program.hpp"
#include "viewer/heap_map.hpp"

namespace heapwood::viewer {

namespace {

TEST(PlotRange, ZoomKeepsThePlaceUnderTheMouse) {
  PlotRange range;
  EXPECT_TRUE(range.is_whole());
  range.zoom(0.3, 0.5);
  EXPECT_NEAR(range.span(), 0.5, 1e-12);
  EXPECT_NEAR(range.share_of(0.3), 0.3, 1e-12);
  range.zoom(0.3, 0.5);
  EXPECT_NEAR(range.share_of(0.3), 0.3, 1e-12);
  EXPECT_NEAR(range.place_at(range.share_of(0.27)), 0.27, 1e-12);
  for (int i = 0; i < 40; ++i) range.zoom(0.3, 0.5);
  EXPECT_NEAR(range.span(), PlotRange::min_span, 1e-12);
  EXPECT_TRUE(range.contains(0.3));
  for (int i = 0; i < 40; ++i) range.zoom(0.3, 2);
  EXPECT_TRUE(range.is_whole());
}

TEST(PlotRange, StaysWithinTheRecording) {
  PlotRange range;
  range.select(0.9, 0.7);
  EXPECT_NEAR(range.from, 0.7, 1e-12);
  EXPECT_NEAR(range.to, 0.9, 1e-12);
  range.zoom(0.7, 3);
  EXPECT_NEAR(range.to, 1, 1e-12);
  EXPECT_NEAR(range.span(), 0.6, 1e-12);
  range.select(1, 1);  // one point
  EXPECT_NEAR(range.to, 1, 1e-12);
  EXPECT_NEAR(range.span(), PlotRange::min_span, 1e-12);
}

}  // namespace

}  // namespace heapwood::viewer

namespace heapwood::tests {

namespace {

class HeapPlots : public Program {};

// The wheel zooms about the mouse, a drag selects, a double click shows everything, a click sets
// the time. Space plays the range from its start.
TEST_F(HeapPlots, ZoomAndRangeSelection) {
  run("pipes:1k --allocator cfmmalloc --mode normals --spp 1 --size 1280x800",
      "wait built; key H; wait recorded; wait 0.2; click memory curves; wait 0.1; report @clicked; "
      "scroll 3; wait 0.1; report @zoomed; drag memory curves 0.25 0.75; wait 0.1; "
      "report @selected; key Space; wait 0.4; report @played; key Space; "
      "double click share curves; wait 0.1; report @whole; drag share curves 0.6 0.2; "
      "click large plots; wait 0.1; report @dragged");
  const auto range = [&](const std::string& name) {
    const Json value = json(name)["heap_range"];
    return std::pair{value[0].get<double>(), value[1].get<double>()};
  };
  EXPECT_EQ(range("clicked"), std::pair(0.0, 1.0));
  EXPECT_NEAR(json("clicked")["heap_place"].get<double>(), 0.5, 0.02);
  const double span = 0.8 * 0.8 * 0.8;
  EXPECT_NEAR(range("zoomed").second - range("zoomed").first, span, 1e-6);
  EXPECT_NEAR(range("zoomed").first, 0.5 - span / 2, 0.02);
  EXPECT_NEAR(json("zoomed")["heap_place"].get<double>(), 0.5, 0.02);
  EXPECT_NEAR(range("selected").first, 0.5 - span / 4, 0.02);
  EXPECT_NEAR(range("selected").second, 0.5 + span / 4, 0.02);
  EXPECT_NEAR(json("selected")["heap_place"].get<double>(), 0.5, 0.02);  // a drag is no click
  EXPECT_GT(json("played")["heap_place"], range("selected").first);
  EXPECT_LE(json("played")["heap_place"], range("selected").second);
  EXPECT_EQ(range("whole"), std::pair(0.0, 1.0));
  EXPECT_NEAR(range("dragged").first, 0.2, 0.02);
  EXPECT_NEAR(range("dragged").second, 0.6, 0.02);
  // The axis says what is shown.
  EXPECT_EQ(json("whole")["texts"]["times"].get<std::string>().substr(0, 11), "event 0 to ");
  EXPECT_NE(json("dragged")["texts"]["times"], json("whole")["texts"]["times"]);
}

// A recording that was played ends where its pool was in the worst state, not on an empty map.
TEST_F(HeapPlots, PlayingEndsAtTheWorstMoment) {
  run("pipes:1k --allocator cfmmalloc --mode normals --spp 1",
      "wait built; key H; wait recorded; drag time 0.5 0.97; key Space; wait stopped; report @end; "
      "key Space; wait 0.3; report @again; click loop; drag time 0.5 0.97; key Space; wait 1; "
      "report @loop; click Worst moment; report @worst");
  const Json end = json("end")["heap"][0], again = json("again");
  EXPECT_EQ(json("end")["heap_playing"], false);
  EXPECT_EQ(json("end")["texts"]["time"].get<std::string>().find("worst moment: event "), 0u);
  EXPECT_EQ(again["texts"]["time"].get<std::string>().find("event "), 0u);
  EXPECT_GT(end["used_bytes"], 0);
  EXPECT_LT(end["time"], end["events"]);
  // Space plays it from the start.
  EXPECT_EQ(again["heap_playing"], true);
  EXPECT_LT(again["heap_place"], 0.2);
  EXPECT_EQ(json("loop")["heap_playing"], true);
  EXPECT_LT(json("loop")["heap_place"], 0.9);
  EXPECT_EQ(json("worst")["heap_playing"], false);
  EXPECT_EQ(json("worst")["heap"][0]["time"], end["time"]);
}

}  // namespace

}  // namespace heapwood::tests
