// SPDX-License-Identifier: Apache-2.0
#include "examples/gpt/offload.h"
#include "lens/megatron.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <unordered_set>
#include <utility>

namespace gpt {

namespace mg = lens::megatron;
namespace {

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::runtime_error("activation offload: " + what + ": " + std::strerror(errno));
}

int open_temporary(const std::string& directory) {
  const auto folder = directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(directory);
  std::string path = folder / "gpt-activations-XXXXXX";
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0)
    throw_errno("cannot create a file in " + folder.string() + " (choose another with --cpu-offloading-dir)");
  unlink(path.c_str());
  return file;
}

void write_all(int file, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(file, data, size);
    if (written < 0 && errno != EINTR) throw_errno("cannot write (free space, or choose another --cpu-offloading-dir)");
    if (written > 0) data += written, size -= static_cast<size_t>(written);
  }
}

void read_all(int file, char* data, size_t size, off_t offset) {
  while (size > 0) {
    const ssize_t got = pread(file, data, size, offset);
    if (got == 0) throw std::runtime_error("activation offload: the file is shorter than what was written");
    if (got < 0 && errno != EINTR) throw_errno("cannot read");
    if (got > 0) data += got, size -= static_cast<size_t>(got), offset += got;
  }
}

}  // namespace

OffloadedActivations::OffloadedActivations(OffloadedActivations&& other) noexcept { *this = std::move(other); }

OffloadedActivations& OffloadedActivations::operator=(OffloadedActivations&& other) noexcept {
  std::swap(storages_, other.storages_);
  std::swap(sizes_, other.sizes_);
  std::swap(bytes_, other.bytes_);
  std::swap(file_, other.file_);
  return *this;
}

OffloadedActivations::~OffloadedActivations() {
  if (file_ >= 0) close(file_);
}

OffloadedActivations OffloadedActivations::offload(const SavedActivations& saved, const std::string& directory) {
  auto span = lens::managed_span(mg::SpanGroup::activation_offload, mg::activation_offload);
  OffloadedActivations offloaded;
  offloaded.file_ = open_temporary(directory);
  std::unordered_set<const c10::StorageImpl*> seen;  // several tensors may be views of one storage
  for (const auto& tensor : saved) {
    c10::Storage storage = tensor.storage();
    if (!seen.insert(storage.unsafeGetStorageImpl()).second) continue;
    write_all(offloaded.file_, static_cast<const char*>(storage.data()), storage.nbytes());
    offloaded.bytes_ += storage.nbytes();
    offloaded.sizes_.push_back(storage.nbytes());
    offloaded.storages_.push_back(std::move(storage));
  }
  for (auto& storage : offloaded.storages_) {
    storage.set_data_ptr_noswap({nullptr, c10::Device(c10::kCPU)});
    storage.set_nbytes(0);
  }
  malloc_trim(0);  // the allocator would keep it for itself
  return offloaded;
}

void OffloadedActivations::reload() {
  auto span = lens::managed_span(mg::SpanGroup::activation_offload, mg::activation_reload);
  off_t offset = 0;
  for (size_t i = 0; i < storages_.size(); ++i) {
    storages_[i].set_data_ptr_noswap(c10::GetAllocator(c10::kCPU)->allocate(sizes_[i]));
    storages_[i].set_nbytes(sizes_[i]);
    read_all(file_, static_cast<char*>(storages_[i].data()), sizes_[i], offset);
    offset += static_cast<off_t>(sizes_[i]);
  }
  *this = OffloadedActivations();
}

}  // namespace gpt
