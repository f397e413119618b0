// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "lens/group.h"
#include "lens/megatron.h"
#include "tools/analyze/group_spans.h"
#include "tools/cli/commands.h"
#include "tools/trace/json_text.h"

namespace lens::cli {
namespace {

struct GroupsOptions {
  std::optional<std::string> spec;  // an empty one enables nothing
  std::string vocabulary = "megatron";
  bool is_json = false;
};

using Names = std::vector<std::string>;

Names names_of(const GroupSet& groups) { return {groups.begin(), groups.end()}; }

Names spans_of(std::string_view group) {
  Names spans;
  for (const analyze::GroupSpan& entry : analyze::group_spans()) {
    if (entry.group == group) spans.emplace_back(entry.span);
  }
  return spans;
}

std::string groups_json(const Vocabulary& vocabulary, const GroupSet& groups, const GroupsOptions& options) {
  nlohmann::ordered_json object{{"vocabulary", vocabulary.name()}};
  object["spec"] = options.spec ? nlohmann::ordered_json(*options.spec) : nlohmann::ordered_json(nullptr);
  object["groups"] = names_of(groups);
  for (const auto& [name, preset] : vocabulary.presets()) object["presets"][name] = names_of(preset);
  for (const std::string& group : groups) object["spans"][group] = spans_of(group);
  return trace::json_text(object);
}

std::string groups_text(const Vocabulary& vocabulary, const GroupSet& groups, const GroupsOptions& options) {
  std::string text = options.spec ? fmt::format("`{}`", *options.spec) : "All groups";
  text += fmt::format(" of the vocabulary {}, and the spans that each controls\n", vocabulary.name());
  if (groups.empty()) text += "  no group: nothing would be recorded\n";
  for (const std::string& group : groups) {
    std::string label = group;
    for (const std::string& span : spans_of(group)) {
      text += fmt::format("  {:<20}{}\n", label, span);
      label.clear();
    }
  }
  if (options.spec) return text;
  text += "\nPresets\n";
  for (const auto& [name, preset] : vocabulary.presets()) {
    bool is_all = preset == vocabulary.groups();
    text += fmt::format("  {:<20}{}\n", name, is_all ? "every group" : fmt::format("{}", fmt::join(preset, ", ")));
  }
  return text + "\nA spec is a comma list of presets and groups, such as `default,microbatch`.\n";
}

int run_groups(const GroupsOptions& options) {
  const Vocabulary& vocabulary =
      options.vocabulary == "base" ? SpanGroup::vocabulary() : MegatronSpanGroup::vocabulary();
  GroupSet groups = options.spec ? vocabulary.resolve(*options.spec) : vocabulary.groups();
  fmt::print("{}",
             options.is_json ? groups_json(vocabulary, groups, options) : groups_text(vocabulary, groups, options));
  return exit_success;
}

}  // namespace

void add_groups_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("groups", "List span groups and presets, and what a spec resolves to");
  auto options = std::make_shared<GroupsOptions>();
  command->add_option("SPEC", options->spec, "A comma list of presets and groups (default: every group)");
  command->add_option("--vocabulary", options->vocabulary, "Whose groups: base or megatron")
      ->check(CLI::IsMember({"base", "megatron"}))
      ->capture_default_str();
  command->add_flag("--json", options->is_json, "Print JSON with the keys groups, presets and spans");
  command->callback([options, &exit_code] { exit_code = run_groups(*options); });
}

}  // namespace lens::cli
