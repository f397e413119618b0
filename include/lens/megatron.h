// SPDX-License-Identifier: Apache-2.0
// Megatron's vocabulary: its groups, the names of its spans and the typed keys of their attributes.
// Include it in trainers of the Megatron family.
#pragma once

#include "lens/span.h"

namespace lens {

/// The base groups and Megatron's six. Its presets replace the base ones wholesale.
struct MegatronSpanGroup : SpanGroup {
  static inline Group microbatch{"microbatch"}, layer{"layer"}, communication{"communication"},
      activation_offload{"activation_offload"}, data_loading{"data_loading"}, inference{"inference"};

  LENS_API static const Vocabulary& vocabulary();
  static GroupSet resolve(std::string_view spec) { return vocabulary().resolve(spec); }
};

namespace megatron {

using SpanGroup = MegatronSpanGroup;

// Spans, each with the group that controls it.
inline constexpr Name pretrain = "megatron.pretrain";                                      // job
inline constexpr Name startup = "megatron.startup";                                        // job
inline constexpr Name train = "megatron.train";                                            // job
inline constexpr Name model_init = "megatron.model_init";                                  // model_init
inline constexpr Name load_checkpoint = "megatron.load_checkpoint";                        // load_checkpoint
inline constexpr Name load_checkpoint_io_read = "megatron.load_checkpoint.io_read";        // load_checkpoint
inline constexpr Name train_step = "megatron.train_step";                                  // step
inline constexpr Name forward_backward = "megatron.forward_backward";                      // forward_backward
inline constexpr Name microbatch_forward = "megatron.microbatch.forward";                  // microbatch
inline constexpr Name microbatch_backward = "megatron.microbatch.backward";                // microbatch
inline constexpr Name layer_forward = "megatron.layer.forward";                            // layer
inline constexpr Name layer_self_attention = "megatron.layer.self_attention";              // layer
inline constexpr Name layer_mlp = "megatron.layer.mlp";                                    // layer
inline constexpr Name pp_recv_forward_linked = "megatron.pp.recv_forward.linked";          // communication
inline constexpr Name p2p_recv_forward = "megatron.p2p.recv_forward";                      // communication
inline constexpr Name p2p_send_forward = "megatron.p2p.send_forward";                      // communication
inline constexpr Name p2p_recv_backward = "megatron.p2p.recv_backward";                    // communication
inline constexpr Name p2p_send_backward = "megatron.p2p.send_backward";                    // communication
inline constexpr Name activation_offload = "megatron.activation.offload";                  // activation_offload
inline constexpr Name activation_reload = "megatron.activation.reload";                    // activation_offload
inline constexpr Name grad_sync_start = "megatron.grad_sync.start";                        // communication
inline constexpr Name grad_sync_finish = "megatron.grad_sync.finish";                      // communication
inline constexpr Name optimizer_step = "megatron.optimizer_step";                          // optimizer
inline constexpr Name save_checkpoint = "megatron.save_checkpoint";                        // checkpoint
inline constexpr Name save_checkpoint_state_dict = "megatron.save_checkpoint.state_dict";  // checkpoint
inline constexpr Name save_checkpoint_io_write = "megatron.save_checkpoint.io_write";      // checkpoint
inline constexpr Name evaluate = "megatron.evaluate";                                      // evaluate
inline constexpr Name evaluate_step = "megatron.evaluate.step";                            // evaluate
inline constexpr Name data_loading_get_batch = "megatron.data_loading.get_batch";          // data_loading
inline constexpr Name inference_request = "megatron.inference.request";                    // inference

// Attributes, each with the spans it is set on.
inline constexpr TypedKey<"megatron.model_type", std::string_view> model_type;            // pretrain
inline constexpr TypedKey<"megatron.train_iters", std::int64_t> train_iters;              // pretrain, train
inline constexpr TypedKey<"megatron.global_batch_size", std::int64_t> global_batch_size;  // pretrain
inline constexpr TypedKey<"megatron.iteration", std::int64_t> iteration;                  // train_step, save_checkpoint
inline constexpr TypedKey<"megatron.loss", double> loss;                                  // train_step
inline constexpr TypedKey<"megatron.grad_norm", double> grad_norm;                        // train_step, optimizer_step
inline constexpr TypedKey<"megatron.num_microbatches", std::int64_t> num_microbatches;    // forward_backward
inline constexpr TypedKey<"megatron.microbatch_id", std::int64_t> microbatch_id;          // microbatch.forward
inline constexpr TypedKey<"megatron.eval_iters", std::int64_t> eval_iters;                // evaluate
inline constexpr TypedKey<"megatron.update_successful", bool> update_successful;          // optimizer_step
inline constexpr TypedKey<"dl.pipeline_parallel.rank", std::int64_t> pipeline_parallel_rank;  // pp.recv_forward.linked
inline constexpr TypedKey<"dl.microbatch_id", std::int64_t> dl_microbatch_id;  // pp.recv_forward.linked, warm-up only

/// Marks the spans that account for a rank's wall time: they follow one another and never nest, so that their sums add
/// up. On startup, model_init, load_checkpoint, train_step, save_checkpoint, evaluate.
inline constexpr TypedKey<"is_goodput_span", bool> goodput;

}  // namespace megatron
}  // namespace lens
