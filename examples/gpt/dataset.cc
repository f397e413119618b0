// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/dataset.h"

#include "examples/gpt/seeds.h"

#include <torch/torch.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace gpt {
namespace {

[[noreturn]] void throw_errno(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

}  // namespace

TextFile::TextFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw_errno("cannot open the text " + path + " (name another with --data-path)");
  struct stat status {};
  const bool known = fstat(fd, &status) == 0;
  size_ = known ? static_cast<size_t>(status.st_size) : 0;
  void* mapped = size_ > 0 ? mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  if (known && size_ == 0) throw std::runtime_error("the text " + path + " is empty");
  if (mapped == MAP_FAILED) throw_errno("cannot map the text " + path);
  data_ = static_cast<const uint8_t*>(mapped);
}

TextFile::~TextFile() { munmap(const_cast<uint8_t*>(data_), size_); }

std::string default_text_path() {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("gpt-text.txt");
}

double unigram_entropy(std::span<const uint8_t> text) {
  std::array<double, 256> counts{};
  for (const uint8_t byte : text) ++counts[byte];
  double entropy = 0;
  for (const double count : counts) {
    const double probability = count / static_cast<double>(text.size());
    if (count > 0) entropy -= probability * std::log(probability);
  }
  return entropy;
}

Sampler::Sampler(std::span<const uint8_t> text, const std::string& what, int64_t seq_length, uint64_t seed)
    : text_(text), seq_length_(seq_length), seed_(seed) {
  if (static_cast<int64_t>(text.size()) <= seq_length)
    throw std::runtime_error(what + " has " + std::to_string(text.size()) + " bytes, too few for --seq-length " +
                             std::to_string(seq_length));
}

Batch Sampler::batch(int64_t first_sample, int64_t samples) const {
  const auto starts = text_.size() - static_cast<size_t>(seq_length_);
  Batch batch{torch::empty({samples, seq_length_}, torch::kInt64), torch::empty({samples, seq_length_}, torch::kInt64)};
  auto tokens = batch.tokens.accessor<int64_t, 2>();
  auto targets = batch.targets.accessor<int64_t, 2>();
  for (int64_t sample = 0; sample < samples; ++sample) {
    const uint8_t* text = &text_[derive_seed(seed_, static_cast<uint64_t>(first_sample + sample)) % starts];
    for (int64_t i = 0; i < seq_length_; ++i) {
      tokens[sample][i] = text[i];
      targets[sample][i] = text[i + 1];
    }
  }
  return batch;
}

Dataset::Dataset(const std::string& path, double valid_fraction, int64_t seq_length, uint64_t seed, bool needs_valid)
    : file(path),
      train_text(file.bytes().first(file.bytes().size() -
                                    static_cast<size_t>(valid_fraction * static_cast<double>(file.bytes().size())))),
      valid_text(file.bytes().subspan(train_text.size())),
      train(train_text, "the training part of " + path, seq_length, derive_seed(seed, "train")) {
  if (needs_valid) valid.emplace(valid_text, "the held-out part of " + path, seq_length, derive_seed(seed, "valid"));
}

}  // namespace gpt
