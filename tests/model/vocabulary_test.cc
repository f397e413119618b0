// SPDX-License-Identifier: Apache-2.0
// Groups, presets and specs of the two vocabularies, and of one that a library declares.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lens/group.h"
#include "lens/megatron.h"
#include "src/base/text.h"
#include "tests/support/throws.h"

namespace lens {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// What a library's author writes: two groups beside the base ones, and presets of its own.
struct RlSpanGroup : SpanGroup {
  static inline Group rollout{"rollout"}, reward{"reward"};

  static const Vocabulary& vocabulary() {
    static const Vocabulary rl{
        "rl",
        SpanGroup::vocabulary().groups() | GroupSet{rollout, reward},
        {{"default", {job, checkpoint, evaluate, rollout}}, {"per_step", SpanGroup::vocabulary().groups() | reward}}};
    return rl;
  }
  static GroupSet resolve(std::string_view spec) { return vocabulary().resolve(spec); }
};

// Contract: 1.presets
TEST(BaseVocabulary, HasEightGroupsAndThreePresets) {
  const GroupSet all = GroupSet::of(
      {"job", "checkpoint", "evaluate", "model_init", "load_checkpoint", "step", "forward_backward", "optimizer"});
  EXPECT_EQ(SpanGroup::vocabulary().groups(), all);
  EXPECT_EQ(SpanGroup::resolve("default"), GroupSet::of({"job", "checkpoint", "evaluate"}));
  EXPECT_EQ(SpanGroup::resolve("per_step"), all);
  EXPECT_EQ(SpanGroup::resolve("all"), all);
}

// Contract: 1.presets
TEST(MegatronVocabulary, HasFourteenGroupsAndPresetsThatReplaceTheBaseOnes) {
  EXPECT_EQ(MegatronSpanGroup::vocabulary().groups().size(), 14u);
  EXPECT_EQ(MegatronSpanGroup::resolve("default"), GroupSet::of({"job", "checkpoint", "evaluate", "inference"}));
  EXPECT_EQ(MegatronSpanGroup::resolve("per_step"),
            SpanGroup::vocabulary().groups() | GroupSet::of({"communication", "data_loading", "inference"}));
  EXPECT_EQ(MegatronSpanGroup::resolve("all"), MegatronSpanGroup::vocabulary().groups());
}

TEST(MegatronVocabulary, HasMicrobatchLayerAndOffloadInAllOnly) {
  const GroupSet per_step = MegatronSpanGroup::resolve("per_step");
  for (const char* group : {"microbatch", "layer", "activation_offload"}) {
    EXPECT_FALSE(per_step.contains(group));
    EXPECT_TRUE(MegatronSpanGroup::resolve("all").contains(group));
  }
}

// Contract: 1.spec
TEST(Spec, ResolvesAsTheVectorsSay) {
  std::ifstream file{LENS_TEST_VECTORS "/specs.json"};
  const auto vectors = nlohmann::json::parse(file);
  ASSERT_GE(vectors.size(), 50u);
  for (const auto& vector : vectors) {
    const std::string spec = vector.at("spec");
    const Vocabulary& vocabulary =
        vector.at("vocabulary") == "base" ? SpanGroup::vocabulary() : MegatronSpanGroup::vocabulary();
    SCOPED_TRACE(vocabulary.name() + ": \"" + spec + "\"");
    if (vector.contains("error")) {
      EXPECT_THAT(test::invalid_argument_of([&] { vocabulary.resolve(spec); }), HasSubstr("unknown"));
      continue;
    }
    const GroupSet resolved = vocabulary.resolve(spec);
    EXPECT_EQ(std::vector<std::string>(resolved.begin(), resolved.end()), vector.at("groups"));
  }
}

// Contract: 1.spec
TEST(Spec, AnUnknownWordIsNamedAndTheValidOnesAreListedInOrder) {
  EXPECT_THAT(test::invalid_argument_of([] { SpanGroup::resolve("step, Microbatch"); }),
              AllOf(HasSubstr("\"microbatch\""),
                    HasSubstr("all, checkpoint, default, evaluate, forward_backward, job, load_checkpoint, model_init, "
                              "optimizer, per_step, step")));
  EXPECT_THAT(test::invalid_argument_of([] { MegatronSpanGroup::resolve("stpe"); }),
              HasSubstr("activation_offload, all, checkpoint, communication, data_loading, default, evaluate, "
                        "forward_backward, inference, job, layer, load_checkpoint, microbatch, model_init, optimizer, "
                        "per_step, step"));
}

TEST(OwnVocabulary, LooksItsPresetsUpInItself) {
  EXPECT_EQ(RlSpanGroup::resolve("default,reward"),
            GroupSet::of({"job", "checkpoint", "evaluate", "rollout", "reward"}));
  EXPECT_EQ(RlSpanGroup::resolve("per_step"), SpanGroup::vocabulary().groups() | RlSpanGroup::reward);
}

TEST(OwnVocabulary, HasAllWithoutDeclaringIt) { EXPECT_EQ(RlSpanGroup::resolve("all").size(), 10u); }

TEST(OwnVocabulary, StandsBesideMegatronsInOneProcess) {
  EXPECT_FALSE(MegatronSpanGroup::vocabulary().groups().contains("rollout"));
  EXPECT_FALSE(RlSpanGroup::vocabulary().groups().contains("layer"));
  EXPECT_THROW(MegatronSpanGroup::resolve("rollout"), std::invalid_argument);
  EXPECT_THROW(RlSpanGroup::resolve("layer"), std::invalid_argument);
}

TEST(OwnVocabulary, MayNotNameAPresetLikeAGroup) {
  EXPECT_THAT(test::invalid_argument_of([] {
                Vocabulary("x", GroupSet::of({"step"}), {{"step", {}}});
              }),
              HasSubstr("\"step\""));
}

TEST(OwnVocabulary, MayNotHoldAGroupInAPresetThatItDoesNotDeclare) {
  EXPECT_THAT(test::invalid_argument_of([] {
                Vocabulary("x", GroupSet::of({"a"}), {{"p", GroupSet::of({"b"})}});
              }),
              HasSubstr("\"b\""));
}

}  // namespace
}  // namespace lens
