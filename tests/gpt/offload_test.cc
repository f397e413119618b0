// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/offload.h"

#include <gtest/gtest.h>

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>
#include <csignal>
#include <fstream>

namespace gpt {
namespace {

constexpr ModelShape shape{.num_layers = 2, .hidden_size = 256, .num_attention_heads = 4, .max_positions = 256};

size_t resident_bytes() {
  size_t total_pages = 0, resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

at::Tensor some_tokens() { return torch::arange(8 * 256).remainder(vocabulary_size).view({8, 256}); }

TEST(Offload, ResidentMemoryFallsAndComesBack) {
  mallopt(M_MMAP_THRESHOLD, 1 << 16);  // so that what is freed leaves the process, and can be seen to
  Stage model(shape, 0, 1, 7);
  SavedActivations saved;
  const auto output = model.forward(some_tokens(), &saved, 2);
  const size_t before = resident_bytes();
  auto offloaded = OffloadedActivations::offload(saved, "");
  const size_t away = resident_bytes();
  const size_t bytes = offloaded.bytes();
  EXPECT_GT(bytes, size_t{64} << 20);
  EXPECT_LT(away, before - bytes * 9 / 10);
  offloaded.reload();
  EXPECT_GT(resident_bytes(), away + bytes * 9 / 10);
}

TEST(Offload, MostOfWhatTheForwardPassLeftIsAmongIt) {
  mallopt(M_MMAP_THRESHOLD, 1 << 16);
  Stage model(shape, 0, 1, 7);
  model.forward(some_tokens());  // libraries set up their scratch memory
  const size_t before = resident_bytes();
  SavedActivations saved;
  const auto output = model.forward(some_tokens(), &saved, 2);
  const size_t left = resident_bytes() - before;
  const auto offloaded = OffloadedActivations::offload(saved, "");
  EXPECT_GT(offloaded.bytes(), left * 8 / 10);  // the rest: norms and logits at the model's end, statistics
}

TEST(Offload, GradientsAreTheSameToTheLastBit) {
  const auto gradients = [](bool offload) {
    Stage model(shape, 0, 1, 7);
    SavedActivations saved;
    const auto loss = model.forward(some_tokens(), &saved, 2).square().mean();
    if (offload) {
      auto offloaded = OffloadedActivations::offload(saved, "");
      offloaded.reload();
    }
    loss.backward();
    std::vector<at::Tensor> result;
    for (const auto& parameter : model.parameters()) result.push_back(parameter.grad());
    return result;
  };
  const auto stayed = gradients(false), returned = gradients(true);
  ASSERT_EQ(stayed.size(), returned.size());
  for (size_t i = 0; i < stayed.size(); ++i) EXPECT_TRUE(torch::equal(stayed[i], returned[i])) << i;
}

TEST(Offload, ViewsOfOneStorageAreWrittenOnce) {
  const auto tensor = torch::arange(1000, torch::kFloat32);
  const auto expected = tensor.clone();
  auto offloaded = OffloadedActivations::offload({tensor, tensor.narrow(0, 10, 20)}, "");
  EXPECT_EQ(offloaded.bytes(), 4000U);
  offloaded.reload();
  EXPECT_EQ(offloaded.bytes(), 0U);
  EXPECT_TRUE(torch::equal(tensor, expected));
}

TEST(Offload, NamesADirectoryThatIsMissing) {
  try {
    OffloadedActivations::offload({torch::ones(4)}, "/nonexistent");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent"), std::string::npos);
  }
}

TEST(Offload, ATensorThatCouldNotBeWrittenStays) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit nothing{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &nothing);  // every write fails, as on a full disk
  const auto tensor = torch::ones(4);
  EXPECT_THROW(OffloadedActivations::offload({tensor}, ""), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(tensor.sum().item<float>(), 4);
}

}  // namespace
}  // namespace gpt
