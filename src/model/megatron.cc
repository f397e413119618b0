// SPDX-License-Identifier: Apache-2.0
#include "lens/megatron.h"

namespace lens {

const Vocabulary& MegatronSpanGroup::vocabulary() {
  static const auto* megatron = new Vocabulary{
      "megatron",
      SpanGroup::vocabulary().groups() |
          GroupSet{microbatch, layer, communication, activation_offload, data_loading, inference},
      {{"default", {job, checkpoint, evaluate, inference}},
       {"per_step", SpanGroup::vocabulary().groups() | GroupSet{communication, data_loading, inference}}}};
  return *megatron;
}

}  // namespace lens
