// SPDX-License-Identifier: Apache-2.0
// Activations moved out of memory while their microbatch waits for its backward pass.
#pragma once

#include "examples/gpt/model.h"

#include <string>
#include <vector>

namespace gpt {

// The saved activations of one microbatch, in memory or in a file.
//
// offload writes the bytes of every tensor to a temporary file and frees its memory; reload allocates it again and
// reads the bytes back. The tensors themselves, and what autograd has saved of them, share the memory through its
// StorageImpl, so they are valid again after reload, with the same bits. Nobody may touch them in between.
//
// Errors: std::runtime_error naming the file (disk full, no such directory). The file has no name in its directory
// once it is open, so it vanishes with the process, however that ends.
class OffloadedActivations {
 public:
  OffloadedActivations() = default;
  OffloadedActivations(OffloadedActivations&& other) noexcept;
  OffloadedActivations& operator=(OffloadedActivations&& other) noexcept;
  ~OffloadedActivations();

  // Empty directory: the system's for temporary files.
  static OffloadedActivations offload(const SavedActivations& saved, const std::string& directory);

  void reload();

  size_t bytes() const { return bytes_; }

 private:
  std::vector<c10::Storage> storages_;
  std::vector<size_t> sizes_;
  size_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace gpt
