// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/checkpoint.h"

#include "examples/gpt/errors.h"
#include "lens/megatron.h"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string_view>

namespace gpt {

namespace mg = lens::megatron;
namespace {

namespace fs = std::filesystem;

constexpr const char* tracker_name = "latest_checkpointed_iteration.txt";

fs::path rank_file(const fs::path& directory, int64_t iteration, int rank) {
  char iteration_name[32], rank_name[32];
  std::snprintf(iteration_name, sizeof iteration_name, "iter_%07lld", static_cast<long long>(iteration));
  std::snprintf(rank_name, sizeof rank_name, "rank_%04d.pt", rank);
  return directory / iteration_name / rank_name;
}

[[noreturn]] void throw_errno(const std::string& what, const fs::path& path) {
  throw std::runtime_error("checkpoint: cannot " + what + ' ' + path.string() + ": " + std::strerror(errno));
}

// An open file that is closed at scope exit, for calls that need its descriptor.
struct Descriptor {
  Descriptor(const fs::path& path, int flags) : fd(open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (fd < 0) throw_errno("open", path);
  }
  ~Descriptor() { close(fd); }
  Descriptor(const Descriptor&) = delete;

  int fd;
};

// The file is either what it was or the new content, also after a crash of the machine.
void write_atomically(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + ".tmp";
  {
    const Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    while (!content.empty()) {
      const ssize_t written = write(file.fd, content.data(), content.size());
      if (written < 0 && errno != EINTR) throw_errno("write", temporary);
      if (written > 0) content.remove_prefix(static_cast<size_t>(written));
    }
    if (fsync(file.fd) != 0) throw_errno("write", temporary);
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) throw_errno("rename", temporary);
  const Descriptor folder(path.parent_path(), O_RDONLY | O_DIRECTORY);
  if (fsync(folder.fd) != 0) throw_errno("write", path.parent_path());
}

void write_rank_file(const fs::path& path, const std::string& content) {
  auto span = lens::managed_span(mg::SpanGroup::checkpoint, mg::save_checkpoint_io_write);
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed)
    throw std::runtime_error("checkpoint: cannot create " + path.parent_path().string() + ": " + failed.message());
  write_atomically(path, content);
}

// 64-bit FNV-1a: the archive itself does not notice a changed byte within a tensor.
uint64_t checksum(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

// The state as bytes, taken while no one trains on.
std::string state_dict(const TrainingState& state, const Layout& layout) {
  auto span = lens::managed_span(mg::SpanGroup::checkpoint, mg::save_checkpoint_state_dict);
  torch::serialize::OutputArchive archive, model, optimizer;
  for (const auto& parameter : state.stage.named_parameters()) model.write(parameter.key(), parameter.value());
  state.optimizer.save(optimizer);
  archive.write("model", model);
  archive.write("optimizer", optimizer);
  archive.write("seed", state.seed);
  archive.write("iteration", state.iteration);
  archive.write("consumed_samples", state.consumed_samples);
  archive.write("world_size", int64_t{layout.world_size});
  archive.write("pipeline_size", int64_t{layout.pipeline_size});
  std::ostringstream bytes;
  archive.save_to(bytes);
  std::string content = std::move(bytes).str();
  const uint64_t sum = checksum(content);
  content.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return content;
}

int64_t read_integer(torch::serialize::InputArchive& archive, const std::string& key) {
  c10::IValue value;
  archive.read(key, value);
  return value.toInt();
}

void check_layout(torch::serialize::InputArchive& archive, const Layout& layout) {
  const int64_t ranks = read_integer(archive, "world_size"), stages = read_integer(archive, "pipeline_size");
  if (ranks == layout.world_size && stages == layout.pipeline_size) return;
  throw std::runtime_error("it was written by " + std::to_string(ranks) +
                           " ranks with --pipeline-model-parallel-size " + std::to_string(stages) +
                           "; resume with the same");
}

std::string_view verified(std::string_view content) {
  uint64_t sum = 0;
  if (content.size() < sizeof sum) throw std::runtime_error("it is damaged");
  const std::string_view archive = content.substr(0, content.size() - sizeof sum);
  std::memcpy(&sum, archive.end(), sizeof sum);
  if (sum != checksum(archive)) throw std::runtime_error("it is damaged");
  return archive;
}

// In place: gradients and optimizer refer to the parameters as they are.
void restore_parameters(torch::serialize::InputArchive& archive, Stage& stage) {
  const torch::NoGradGuard no_grad;
  for (auto& parameter : stage.named_parameters()) {
    at::Tensor saved;
    if (!archive.try_read(parameter.key(), saved) || saved.sizes() != parameter.value().sizes())
      throw std::runtime_error(
          "it is of another model; --num-layers, --hidden-size and --max-position-embeddings must be "
          "as when it was written");
    parameter.value().copy_(saved);
  }
}

void restore(std::string_view content, TrainingState& state, const Layout& layout) {
  torch::serialize::InputArchive archive, model, optimizer;
  const std::string_view verified_content = verified(content);
  archive.load_from(verified_content.data(), verified_content.size());
  check_layout(archive, layout);
  archive.read("model", model);
  archive.read("optimizer", optimizer);
  restore_parameters(model, state.stage);
  state.optimizer.load(optimizer);
  state.seed = read_integer(archive, "seed");
  state.iteration = read_integer(archive, "iteration");
  state.consumed_samples = read_integer(archive, "consumed_samples");
}

std::string read_file(const fs::path& path) {
  auto span = lens::managed_span(mg::SpanGroup::load_checkpoint, mg::load_checkpoint_io_read);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw_errno("open", path);
  std::string content(std::istreambuf_iterator<char>(file), {});
  if (file.bad()) throw_errno("read", path);
  return content;
}

int64_t latest_iteration(const fs::path& directory) {
  const fs::path tracker = directory / tracker_name;
  if (!fs::exists(tracker))
    throw std::runtime_error("checkpoint: " + directory.string() + " holds none (no " + tracker_name +
                             "); check --load");
  int64_t iteration = -1;
  std::ifstream(tracker) >> iteration;
  if (iteration < 0) throw std::runtime_error("checkpoint: " + tracker.string() + " does not name an iteration");
  return iteration;
}

}  // namespace

void require_writable(const std::string& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (!failed && access(directory.c_str(), W_OK) != 0) failed = {errno, std::generic_category()};
  if (failed)
    throw std::runtime_error("checkpoints cannot be written to " + directory + ": " + failed.message() +
                             "; name another directory by --save");
}

void save_checkpoint(const std::string& directory, const TrainingState& state, const Layout& layout,
                     const Group& world) {
  auto span = lens::managed_span(mg::SpanGroup::checkpoint, mg::save_checkpoint, mg::iteration = state.iteration,
                                 mg::goodput = true);
  const fs::path path = rank_file(directory, state.iteration, layout.rank);
  write_rank_file(path, state_dict(state, layout));
  world.barrier();
  if (layout.rank == 0) write_atomically(fs::path(directory) / tracker_name, std::to_string(state.iteration) + '\n');
}

void load_checkpoint(const std::string& directory, TrainingState& state, const Layout& layout) {
  auto span = lens::managed_span(mg::SpanGroup::load_checkpoint, mg::load_checkpoint, mg::goodput = true);
  const fs::path path = rank_file(directory, latest_iteration(directory), layout.rank);
  const std::string content = read_file(path);
  try {
    restore(content, state, layout);
  } catch (const std::exception& error) {
    throw std::runtime_error("checkpoint: cannot use " + path.string() + ": " + message_of(error));
  }
}

}  // namespace gpt
