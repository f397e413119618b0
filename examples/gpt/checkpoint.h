// SPDX-License-Identifier: Apache-2.0
// Checkpoints: the state of training in a directory, one file per rank.
#pragma once

#include "examples/gpt/model.h"
#include "examples/gpt/parallel.h"

#include <torch/torch.h>

#include <cstdint>
#include <string>

namespace gpt {

// What a rank must know to go on as if it had never stopped. The samples consumed are the position in the data, and
// together with the seed all there is of random state.
struct TrainingState {
  Stage& stage;
  torch::optim::AdamW& optimizer;
  int64_t seed;
  int64_t iteration = 0;
  int64_t consumed_samples = 0;
};

// Throws std::runtime_error when checkpoints could not be written there: better before training than after.
void require_writable(const std::string& directory);

// Writes DIR/iter_0000100/rank_0002.pt on every rank, then, once all are there, names that iteration in
// DIR/latest_checkpointed_iteration.txt. A rank's file is a libtorch archive with a checksum behind it. Each file
// appears whole or not at all, so a run that dies in between leaves the previous checkpoint in force. Collective.
// Throws std::runtime_error naming the file.
void save_checkpoint(const std::string& directory, const TrainingState& state, const Layout& layout,
                     const Group& world);

// Reads this rank's file of the latest checkpoint; the ranks must be laid out as when it was written. Throws
// std::runtime_error naming the file when there is none, or it is damaged, or it is of another model.
void load_checkpoint(const std::string& directory, TrainingState& state, const Layout& layout);

}  // namespace gpt
