// SPDX-License-Identifier: Apache-2.0
// Text as training samples: a memory-mapped file of bytes, split into text to train on and text held out.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace gpt {

// A file mapped for reading; ranks of one node share its pages.
class TextFile {
 public:
  // Throws std::runtime_error naming the file and the reason.
  explicit TextFile(const std::string& path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, size_}; }

 private:
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// The text that is used when the user names none: a file that the build writes beside the program.
std::string default_text_path();

// The loss, in nats per byte, of a model that knows nothing but how often each byte occurs.
double unigram_entropy(std::span<const uint8_t> text);

struct Batch {
  at::Tensor tokens;   // [samples, seq_length], int64
  at::Tensor targets;  // the same text one byte later
};

// Draws samples from a text. A sample is a pure function of the seed and its index, so the order of the data does not
// depend on how many ranks share the work, and resuming at an index continues the same order.
class Sampler {
 public:
  // Throws std::runtime_error when the text is too short for one sample; what names the text.
  Sampler(std::span<const uint8_t> text, const std::string& what, int64_t seq_length, uint64_t seed);

  Batch batch(int64_t first_sample, int64_t samples) const;

 private:
  std::span<const uint8_t> text_;
  int64_t seq_length_;
  uint64_t seed_;
};

// The text, its two parts and a sampler of each.
struct Dataset {
  Dataset(const std::string& path, double valid_fraction, int64_t seq_length, uint64_t seed, bool needs_valid);

  TextFile file;
  std::span<const uint8_t> train_text;
  std::span<const uint8_t> valid_text;
  Sampler train;
  std::optional<Sampler> valid;
};

}  // namespace gpt
