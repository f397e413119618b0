// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/group_request.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace lens::trace {
namespace {

using record::ControlBlock;
using record::ControlOutcome;

constexpr std::size_t control_at = offsetof(record::FileHeader, control);

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw std::system_error(errno, std::generic_category(), path.string());
}

[[noreturn]] void fail_short(const std::filesystem::path& path) {
  throw std::runtime_error(path.string() + " ends before its control block does");
}

/// What a process says goes to a terminal.
std::string printable(const char* text, std::size_t room) {
  std::string shown(text, strnlen(text, room));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char letter) { return letter < ' ' || letter == 0x7f; }, '?');
  return shown;
}

}  // namespace

GroupRequest::GroupRequest(const std::filesystem::path& rings)
    : path_(rings), file_(open(rings.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
  if (file_ < 0) fail(path_);
}

GroupRequest::~GroupRequest() {
  if (file_ >= 0) close(file_);  // the lock goes with it
}

GroupRequest::GroupRequest(GroupRequest&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), number_(other.number_) {}

template <class T>
T GroupRequest::read(std::size_t offset) const {
  T value;
  const ssize_t got = pread(file_, &value, sizeof value, off_t(control_at + offset));
  if (got < 0) fail(path_);
  if (got != ssize_t(sizeof value)) fail_short(path_);
  return value;
}

void GroupRequest::store(std::size_t offset, const void* bytes, std::size_t count) const {
  if (pwrite(file_, bytes, count, off_t(control_at + offset)) != ssize_t(count)) fail(path_);
}

// The lock is held until this object goes, so that the answer is ours.
bool GroupRequest::write(std::string_view spec) {
  std::array<char, sizeof(ControlBlock::spec)> text{};
  if (spec.size() > text.size()) throw std::invalid_argument(fmt::format("a spec has {} letters at most", text.size()));
  struct stat status;
  if (fstat(file_, &status) != 0) fail(path_);
  if (std::size_t(status.st_size) < control_at + sizeof(ControlBlock)) fail_short(path_);
  struct flock block {};
  block.l_type = F_WRLCK;
  block.l_whence = SEEK_SET;
  block.l_start = off_t(control_at);
  block.l_len = sizeof(ControlBlock);
  if (fcntl(file_, F_OFD_SETLK, &block) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    fail(path_);
  }
  std::copy(spec.begin(), spec.end(), text.begin());
  // Odd while the spec is being written; one who died at that left it odd.
  const std::uint64_t writing = read<std::uint64_t>(offsetof(ControlBlock, request)) | 1;
  number_ = writing + 1;
  while (number_ == 0 || number_ == read<std::uint64_t>(offsetof(ControlBlock, answered))) number_ += 2;
  store(offsetof(ControlBlock, request), &writing, sizeof writing);
  store(offsetof(ControlBlock, spec), text.data(), text.size());
  store(offsetof(ControlBlock, request), &number_, sizeof number_);
  return true;
}

std::optional<GroupAnswer> GroupRequest::read_answer() const {
  // First: what it is the answer of was stored last.
  if (number_ == 0 || read<std::uint64_t>(offsetof(ControlBlock, answered)) != number_) return std::nullopt;
  const auto outcome = read<std::uint32_t>(offsetof(ControlBlock, outcome));
  const auto text = read<std::array<char, sizeof(ControlBlock::answer)>>(offsetof(ControlBlock, answer));
  return GroupAnswer{outcome == std::uint32_t(ControlOutcome::applied), printable(text.data(), text.size())};
}

}  // namespace lens::trace
