// SPDX-License-Identifier: MIT
#include "viewer/widgets.hpp"

namespace heapwood::viewer::ui {

bool section(const char* title, bool open) {
  ImGui::Dummy({0, 2});
  ImGui::PushFont(fonts().bold);
  // Its own name: a button of the same name in the section would share its state.
  const std::string label = std::string(title) + "##section";
  const bool shown =
      ImGui::CollapsingHeader(label.c_str(), open ? ImGuiTreeNodeFlags_DefaultOpen : 0);
  ImGui::PopFont();
  return shown;
}

bool begin_rows(const char* id) {
  if (!ImGui::BeginTable(id, 2, ImGuiTableFlags_SizingStretchProp)) return false;
  ImGui::TableSetupColumn("label", ImGuiTableColumnFlags_WidthStretch, 0.42f);
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch, 0.58f);
  return true;
}

void row(const char* label, const std::string& value, const char* text, const ImVec4& colour) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::TextDisabled("%s", label);
  if (text) hint(text);
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextWrapped("%s", value.c_str());
  ImGui::PopStyleColor();
}

void end_rows() { ImGui::EndTable(); }

bool button(State& state, const char* label, bool strong, bool enabled, float width) {
  if (strong) {
    ImGui::PushStyleColor(ImGuiCol_Button, {0.22f, 0.42f, 0.31f, 1});
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, {0.26f, 0.52f, 0.38f, 1});
    ImGui::PushStyleColor(ImGuiCol_ButtonActive, {0.32f, 0.62f, 0.45f, 1});
  }
  ImGui::BeginDisabled(!enabled);
  const bool pressed = ImGui::Button(label, {width, 0});
  ImGui::EndDisabled();
  state.places.note(label);
  if (ImGui::CalcTextSize(label, nullptr, true).x > ImGui::GetItemRectSize().x)
    state.places.texts["clipped"] += std::string(label) + "; ";
  if (strong) ImGui::PopStyleColor(3);
  return pressed;
}

bool begin_combo(State& state, const char* id, const std::string& shown) {
  if (!ImGui::BeginCombo(id, shown.c_str(), ImGuiComboFlags_HeightLarge)) return false;
  if (state.close_popups) ImGui::CloseCurrentPopup();
  return true;
}

namespace {

constexpr double hint_delay = 0.45;  // seconds

struct Rest {
  ImVec2 mouse;
  double since = 0;
};
Rest rest;  // the mouse stays where it is
bool hints_shown = false;
std::string hint_text;

}  // namespace

void allow_hints(bool allowed) {
  hint_text.clear();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool moved = mouse.x != rest.mouse.x || mouse.y != rest.mouse.y;
  if (moved || ImGui::IsMouseDown(0)) rest = {mouse, ImGui::GetTime()};
  hints_shown = allowed && ImGui::GetTime() - rest.since >= hint_delay;
}

const std::string& shown_hint() { return hint_text; }

void hint(const char* text) {
  if (!hints_shown || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled)) return;
  hint_text = text;
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 24);
  ImGui::TextUnformatted(text);
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void dim_text(const std::string& text) { wrapped_text(text, colour::dim); }

void wrapped_text(const std::string& text, const ImVec4& colour) {
  if (text.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextWrapped("%s", text.c_str());
  ImGui::PopStyleColor();
}

void cpu_notice(State& state) {
  if (state.choice.device.id.kind != simt::DeviceKind::cpu) return;
  const char* text = "CPU threads: these times say nothing about a GPU.";
  dim_text(text);
  state.places.texts["notice"] = text;
}

void flow(float width) {
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

void field(const char* label) {
  ImGui::AlignTextToFramePadding();
  ImGui::TextDisabled("%s", label);
  ImGui::SameLine(ImGui::GetFontSize() * 6.2f);
  ImGui::SetNextItemWidth(-1);
}

}  // namespace heapwood::viewer::ui
