// SPDX-License-Identifier: Apache-2.0
// A library's own groups and presets, beside those of Megatron in one process.
//   RL_OTEL_ENABLED=1 RL_OTEL_EXPORTER=console RL_OTEL_SPAN_GROUPS=default,layer ./own_groups
#include <lens/lens.h>
#include <lens/megatron.h>

#include <iostream>
using namespace lens::literals;

struct RlSpanGroup : lens::MegatronSpanGroup {
  static inline lens::Group rollout{"rollout"}, reward{"reward"};

  static const lens::Vocabulary& vocabulary() {
    static const lens::Vocabulary rl{
        "rl",
        MegatronSpanGroup::vocabulary().groups() | lens::GroupSet{rollout, reward},
        {{"default", {job, checkpoint, evaluate, rollout}},
         {"per_step", MegatronSpanGroup::resolve("per_step") | lens::GroupSet{rollout, reward}}}};
    return rl;  // "all" is every group of the vocabulary
  }
  static lens::GroupSet resolve(std::string_view spec) { return vocabulary().resolve(spec); }
};

int main() try {
  const auto config = lens::Config::from_env(
      {.prefix = "RL_OTEL", .fallback_prefix = "NEMO_LENS", .vocabulary = RlSpanGroup::vocabulary()});
  auto telemetry = lens::setup_telemetry(config, lens::Rank::from_env());

  auto job = lens::managed_span(RlSpanGroup::job, "rl.train");
  for (int prompt = 0; prompt < 3; ++prompt) {
    auto rollout = lens::managed_span(RlSpanGroup::rollout, "rl.rollout", "rl.prompt"_a = prompt);
    auto layer = lens::managed_span(RlSpanGroup::layer, lens::megatron::layer_forward);
    auto reward = lens::managed_span(RlSpanGroup::reward, "rl.reward");
  }
} catch (const std::exception& error) {
  std::cerr << "own_groups: " << error.what() << '\n';
  return 1;
}
