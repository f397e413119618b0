// SPDX-License-Identifier: Apache-2.0
#include "tools/analyze/group_spans.h"

namespace lens::analyze {

std::span<const GroupSpan> group_spans() {
  static constexpr GroupSpan table[] = {
      {"job", "megatron.pretrain"},
      {"job", "megatron.startup"},
      {"job", "megatron.train"},
      {"checkpoint", "megatron.save_checkpoint"},
      {"checkpoint", "megatron.save_checkpoint.state_dict"},
      {"checkpoint", "megatron.save_checkpoint.io_write"},
      {"evaluate", "megatron.evaluate"},
      {"evaluate", "megatron.evaluate.step"},
      {"model_init", "megatron.model_init"},
      {"load_checkpoint", "megatron.load_checkpoint"},
      {"load_checkpoint", "megatron.load_checkpoint.io_read"},
      {"step", "megatron.train_step"},
      {"forward_backward", "megatron.forward_backward"},
      {"optimizer", "megatron.optimizer_step"},
      {"microbatch", "megatron.microbatch.forward"},
      {"microbatch", "megatron.microbatch.backward"},
      {"layer", "megatron.layer.forward"},
      {"layer", "megatron.layer.self_attention"},
      {"layer", "megatron.layer.mlp"},
      {"communication", "megatron.p2p.recv_forward"},
      {"communication", "megatron.p2p.send_forward"},
      {"communication", "megatron.p2p.recv_backward"},
      {"communication", "megatron.p2p.send_backward"},
      {"communication", "megatron.grad_sync.start"},
      {"communication", "megatron.grad_sync.finish"},
      {"communication", "megatron.pp.recv_forward.linked"},
      {"activation_offload", "megatron.activation.offload"},
      {"activation_offload", "megatron.activation.reload"},
      {"data_loading", "megatron.data_loading.get_batch"},
      {"inference", "megatron.inference.request"},
  };
  return table;
}

}  // namespace lens::analyze
