// SPDX-License-Identifier: Apache-2.0
#include "src/export/spool_listing.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>

namespace lens::exporting {
namespace {

// As who reads trace directories expects it.
constexpr std::string_view logs_prefix = "logs-", suffix = ".otlp.zst";
constexpr std::size_t longest_run_name = 120;
// A file under its first name is being written, unless whoever did has died.
constexpr std::chrono::nanoseconds longest_write = std::chrono::minutes(1);

bool read_number(std::string_view& name, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end == name.data() + name.size() || *end != '-') return false;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()) + 1);
  return true;
}

bool is_abandoned(const SpoolFile& unfinished) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return now - std::chrono::nanoseconds(unfinished.begun_unix_ns) > longest_write;
}

/// Others are not ours, whatever their names: a FIFO, a directory.
bool is_regular(DIR* directory, const dirent& entry) {
  struct stat status;
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_REG;
  return fstatat(dirfd(directory), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

void keep_oldest(std::vector<SpoolFile>& files) {
  std::ranges::sort(files, {}, &SpoolFile::age);
  if (files.size() > SpoolListing::most_names) files.resize(SpoolListing::most_names);
}

}  // namespace

std::string SpoolFile::name() const {
  return std::string(signal == Signal::logs ? logs_prefix : "") + std::to_string(begun_unix_ns) + '-' +
         std::to_string(writer) + '-' + std::to_string(items) + '-' + std::to_string(bytes) + '-' + run +
         std::string(suffix);
}

std::optional<SpoolFile> SpoolFile::of(std::string_view name) {
  SpoolFile file;
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  if (name.starts_with(logs_prefix)) {
    file.signal = Signal::logs;
    name.remove_prefix(logs_prefix.size());
  }
  if (!read_number(name, file.begun_unix_ns) || !read_number(name, file.writer) || !read_number(name, file.items) ||
      !read_number(name, file.bytes))
    return std::nullopt;
  file.run = name;
  return file;
}

std::string spool_run(std::string run_id) {
  std::ranges::replace_if(
      run_id, [](unsigned char c) { return c <= ' ' || c == '/' || c == 0x7f; }, '_');
  return run_id.substr(0, longest_run_name);
}

SpoolListing list_spool(const std::string& directory, const SpoolQuery& query) {
  SpoolListing listing;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(directory.c_str()), closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    const bool is_finished = !name.starts_with('.');
    const auto file = SpoolFile::of(name.substr(is_finished ? 0 : 1));
    if (!file || !is_regular(entries.get(), *entry)) continue;
    if (!is_finished && is_abandoned(*file)) unlink((directory + '/' + entry->d_name).c_str());
    if (!is_finished) continue;
    const bool is_of_signal = file->signal == query.signal;
    const bool is_of_run = is_of_signal && (query.run.empty() || file->run == query.run);
    listing.bytes += file->bytes;
    if (is_of_signal) listing.all.add(*file);
    if (is_of_run) listing.of_run.add(*file);
    if (is_of_signal && file->writer == query.writer) listing.of_writer.add(*file);
    if (query.to_take && (!is_of_run || file->age() <= query.after.age())) continue;
    listing.oldest.push_back(*file);
    if (listing.oldest.size() == 2 * SpoolListing::most_names) keep_oldest(listing.oldest);
  }
  keep_oldest(listing.oldest);
  return listing;
}

}  // namespace lens::exporting
