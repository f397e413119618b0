// SPDX-License-Identifier: Apache-2.0
#include "src/setup/ancestors.h"

#include <algorithm>
#include <cstdlib>

#include "src/base/file.h"
#include "src/base/text.h"

namespace lens::setup {
namespace {

std::string read(pid_t process, const char* file) {
  return base::read_file("/proc/" + std::to_string(process) + "/" + file).value_or("");
}

/// A number out of /proc/…/stat, counted from the blank behind the name.
std::string stat_field(pid_t process, std::size_t field) {
  const std::string stat = read(process, "stat");
  const auto name_end = stat.rfind(')');  // the name, second of the fields, may hold anything
  if (name_end == std::string::npos) return {};
  const auto fields = base::split(std::string_view{stat}.substr(name_end + 1), ' ');
  return fields.size() > field ? std::string{fields[field]} : std::string{};
}

}  // namespace

pid_t parent_of(pid_t process) { return std::atoi(stat_field(process, 2).c_str()); }

std::string start_time_of(pid_t process) { return stat_field(process, 20); }

bool was_started_with(pid_t process, std::string_view variable) {
  const std::string environment = read(process, "environ");
  const auto entries = base::split(environment, '\0');
  return std::ranges::any_of(entries, [&](std::string_view entry) {
    return entry.starts_with(variable) && entry.substr(variable.size()).starts_with('=');
  });
}

}  // namespace lens::setup
