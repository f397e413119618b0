// SPDX-License-Identifier: Apache-2.0
// Asks a living process, by the control block in its file of rings, to turn groups on and off.
//
// Errors: std::system_error when the file cannot be written to, std::runtime_error when it has been cut off,
//         std::invalid_argument for a spec that is too long.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "src/record/layout.h"

namespace lens::trace {

struct GroupAnswer {
  bool is_applied = false;
  std::string text;  // the groups that are on now, or why the process refused
};

class GroupRequest {
 public:
  /// Of a file that `RingFile` takes for one of rings.
  explicit GroupRequest(const std::filesystem::path& rings);
  ~GroupRequest();
  GroupRequest(GroupRequest&& other) noexcept;
  GroupRequest& operator=(GroupRequest&&) = delete;

  /// Writes the request. False while another program is at one of its own: try again soon.
  bool write(std::string_view spec);
  /// Nothing before the process has answered.
  std::optional<GroupAnswer> read_answer() const;

 private:
  template <class T>
  T read(std::size_t offset) const;
  void store(std::size_t offset, const void* bytes, std::size_t count) const;

  std::filesystem::path path_;
  int file_;
  std::uint64_t number_ = 0;  // of the request
};

}  // namespace lens::trace
