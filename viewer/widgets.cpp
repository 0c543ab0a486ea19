// SPDX-License-Identifier: MIT
#include "viewer/widgets.hpp"

namespace heapwood::viewer::ui {

namespace {

constexpr double hint_delay = 0.45;  // delay in seconds

struct Rest {
  ImVec2 mouse;
  double since = 0;
};
Rest rest;  // position of the mouse, and since when
bool hints_shown = false;
std::string hint_text;

}  // namespace

bool begin_area(const char* name, const Area& area, ImGuiWindowFlags flags) {
  ImGui::SetNextWindowPos({area.x, area.y});
  ImGui::SetNextWindowSize({area.width, area.height});
  return ImGui::Begin(name, nullptr, flags);
}

bool begin_card(const char* name, ImVec2 position, ImVec2 pivot, bool mouse, float opacity,
                float width) {
  const float em = ImGui::GetFontSize();
  ImGui::SetNextWindowPos(position, ImGuiCond_Always, pivot);
  ImGui::SetNextWindowBgAlpha(opacity);
  if (width > 0) ImGui::SetNextWindowSize({width, 0});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, em * 0.5f);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {em * 0.75f, em * 0.5f});
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 1);
  constexpr ImGuiWindowFlags flags = ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove |
                                     ImGuiWindowFlags_NoSavedSettings |
                                     ImGuiWindowFlags_NoFocusOnAppearing | ImGuiWindowFlags_NoNav;
  return ImGui::Begin(name, nullptr,
                      flags | (width > 0 ? 0 : ImGuiWindowFlags_AlwaysAutoResize) |
                          (mouse ? 0 : ImGuiWindowFlags_NoInputs));
}
void end_card() {
  ImGui::End();
  ImGui::PopStyleVar(3);
}

bool section(const char* title, bool open) {
  ImGui::Dummy({0, 2});
  ImGui::PushFont(fonts().bold);
  // The suffix is needed because a button with the same name in the section would share its state.
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

void row(const char* label, const std::string& value, const char* explanation,
         const ImVec4& colour) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  text(label, colour::dim);
  if (explanation) hint(explanation);
  ImGui::TableNextColumn();
  wrapped_text(value, colour);
}

bool button(State& state, const char* label, bool strong, bool enabled, float width) {
  if (strong) {
    for (const auto& [which, as] : {std::pair{ImGuiCol_Button, ImGuiCol_SliderGrab},
                                    std::pair{ImGuiCol_ButtonHovered, ImGuiCol_SliderGrabActive},
                                    std::pair{ImGuiCol_ButtonActive, ImGuiCol_SliderGrabActive}})
      ImGui::PushStyleColor(which, ImGui::GetStyleColorVec4(as));
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

bool checkbox(State& state, const char* label, bool& value, const std::string& explanation) {
  const bool pressed = ImGui::Checkbox(label, &value);
  state.places.note(label);
  hint(explanation);
  return pressed;
}

bool slider(const char* label, int& value, int low, int high, const char* format,
            ImGuiSliderFlags flags) {
  field(label);
  return ImGui::SliderInt(("##" + std::string(label)).c_str(), &value, low, high, format, flags);
}
bool slider(const char* label, float& value, float low, float high, const char* format,
            ImGuiSliderFlags flags) {
  field(label);
  return ImGui::SliderFloat(("##" + std::string(label)).c_str(), &value, low, high, format, flags);
}

bool begin_combo(State& state, const char* id, const std::string& shown) {
  if (!ImGui::BeginCombo(id, shown.c_str(), ImGuiComboFlags_HeightLarge)) return false;
  if (state.close_popups) ImGui::CloseCurrentPopup();
  return true;
}

bool item(const std::string& text, bool chosen, const std::string& explanation, bool enabled) {
  ImGui::BeginDisabled(!enabled);
  const bool pressed = ImGui::Selectable(text.c_str(), chosen);
  ImGui::EndDisabled();
  hint(explanation);
  return pressed;
}

const registry::RegisteredAllocator* choose_allocator(State& state, const char* id,
                                                      const registry::RegisteredAllocator* chosen) {
  const registry::RegisteredAllocator* pressed = nullptr;
  if (!begin_combo(state, id, chosen ? chosen->traits->label : "")) return nullptr;
  for (const registry::RegisteredAllocator& entry : registry::allocators()) {
    const alloc::AllocatorTraits& traits = *entry.traits;
    const char* reason = why_not_buildable(state, entry);
    const std::string why = reason ? std::string(" Cannot build trees: ") + reason : "";
    if (item(fmt::format("{}{}", traits.label, traits.lower_bound ? " *" : ""), &entry == chosen,
             fmt::format("{}. {}{}", traits.paper, traits.note, why), !reason))
      pressed = &entry;
  }
  ImGui::EndCombo();
  return pressed;
}

void field(const char* label) {
  ImGui::AlignTextToFramePadding();
  text(label, colour::dim);
  ImGui::SameLine(ImGui::GetFontSize() * 6.2f);
  ImGui::SetNextItemWidth(-1);
}

void flow(float width) {
  ImGui::SameLine();
  if (ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
}

float share_of_line(int count) {
  const auto n = static_cast<float>(count);
  return (ImGui::GetContentRegionAvail().x - (n - 1) * ImGui::GetStyle().ItemSpacing.x) / n;
}

void hint(const std::string& text) {
  if (text.empty() || !hints_shown || !ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled))
    return;
  hint_text = text;
  ImGui::BeginTooltip();
  ImGui::PushTextWrapPos(ImGui::GetFontSize() * 24);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  ImGui::EndTooltip();
}

void allow_hints(bool allowed) {
  hint_text.clear();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  const bool moved = mouse.x != rest.mouse.x || mouse.y != rest.mouse.y;
  if (moved || ImGui::IsMouseDown(0)) rest = {mouse, ImGui::GetTime()};
  hints_shown = allowed && ImGui::GetTime() - rest.since >= hint_delay;
}

const std::string& shown_hint() { return hint_text; }

void text(const std::string& text, const ImVec4& colour) {
  ImGui::TextColored(colour, "%s", text.c_str());
}

void styled_text(ImFont* font, const std::string& words, const ImVec4& colour) {
  ImGui::PushFont(font);
  text(words, colour);
  ImGui::PopFont();
}

void dim_text(const std::string& text) { wrapped_text(text, colour::dim); }

void wrapped_text(const std::string& text, const ImVec4& colour) {
  if (text.empty()) return;
  ImGui::PushStyleColor(ImGuiCol_Text, colour);
  ImGui::TextWrapped("%s", text.c_str());
  ImGui::PopStyleColor();
}

float width_of(const std::string& text) { return ImGui::CalcTextSize(text.c_str()).x; }

void cpu_notice(State& state) {
  if (state.choice.device.id.kind != simt::DeviceKind::cpu) return;
  dim_text(state.places.texts["notice"] = "CPU threads: these times say nothing about a GPU.");
}

ImVec4 shade_of(std::size_t side, float opacity) {
  ImVec4 shade = side == 0 ? colour::accent : colour::second;
  shade.w = opacity;
  return shade;
}

void bars(State& state, const char* id, ImVec2 size, const std::vector<std::uint64_t>& values,
          std::optional<std::size_t> marked, const std::array<std::string, 2>& ends,
          const std::function<std::string(std::size_t)>& tip) {
  const std::uint64_t maximum =
      values.empty() ? 1 : std::max<std::uint64_t>(1, *std::ranges::max_element(values));
  ImGui::BeginGroup();
  const Plot plot(state, id, size, 7);
  const float step = size.x / std::max(static_cast<float>(values.size()), 1.0f),
              mouse = ImGui::GetIO().MousePos.x;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float left = plot.corner.x + step * static_cast<float>(i),
                right = left + std::max(1.0f, step - 1),
                top = size.y * static_cast<float>(values[i]) / static_cast<float>(maximum);
    const bool under = plot.hovered && mouse >= left && mouse < left + step;
    if (under) fill({left, plot.corner.y}, {right, plot.end.y}, tint(16));
    if (values[i])
      fill({left, plot.end.y - std::max(top, 1.0f)}, {right, plot.end.y},
           ImGui::GetColorU32(i == marked ? colour::marked : colour::accent));
    if (under) ImGui::SetTooltip("%s", tip(i).c_str());
  }
  text(ends[0], colour::dim);
  ImGui::SameLine(0, size.x - width_of(ends[0]) - width_of(ends[1]));
  text(ends[1], colour::dim);
  ImGui::EndGroup();
}

void fill(ImVec2 low, ImVec2 high, ImU32 colour, float round) {
  ImGui::GetWindowDrawList()->AddRectFilled(low, high, colour, round);
}
void line(ImVec2 from, ImVec2 to, ImU32 colour, float thick) {
  ImGui::GetWindowDrawList()->AddLine(from, to, colour, thick);
}
void text_at(ImVec2 corner, const std::string& text, ImU32 colour) {
  ImGui::GetWindowDrawList()->AddText(corner, colour, text.c_str());
}

Plot::Plot(State& state, const char* id, ImVec2 wanted, unsigned ground)
    : corner(ImGui::GetCursorScreenPos()),
      size{std::max(wanted.x, 1.0f), std::max(wanted.y, 1.0f)},
      end{corner.x + size.x, corner.y + size.y} {
  ImGui::InvisibleButton(id, size);
  state.places.note(id);
  hovered = ImGui::IsItemHovered();
  if (ground) fill(corner, end, tint(ground), 4);
}
ImVec2 Plot::place(double right, double up) const {
  return {corner.x + size.x * static_cast<float>(std::clamp(right, 0.0, 1.0)),
          corner.y + size.y * (1 - 0.95f * static_cast<float>(std::clamp(up, 0.0, 1.0)))};
}

}  // namespace heapwood::viewer::ui
