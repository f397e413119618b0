// SPDX-License-Identifier: Apache-2.0
#include "tools/send/sent_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include "src/base/file.h"
#include "src/base/md5.h"
#include "src/base/text.h"

namespace lens::send {
namespace {

using nlohmann::json;

// One log a destination, so that what one has taken is still sent to another.
std::string log_name(std::string_view destination) {
  return ".sent-" + base::hex(base::md5(destination)).substr(0, 8) + ".jsonl";
}

}  // namespace

SentLog::SentLog(const std::filesystem::path& directory, std::string_view destination)
    : path_(directory / log_name(destination)), destination_(destination) {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0)
    throw std::system_error(errno, std::generic_category(), "what is sent cannot be noted in " + path_.string());
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close(file_);
    throw std::runtime_error("another process is sending " + directory.string() + " to " + destination_);
  }
  try {
    read();
  } catch (...) {
    close(file_);
    throw;
  }
}

SentLog::~SentLog() { close(file_); }

void SentLog::read() try {
  std::string content = base::read_file(path_).value_or("");
  // A last line without its end was being written when its writer was killed.
  const std::size_t whole = content.rfind('\n') + 1;
  if (whole < content.size() && ftruncate(file_, static_cast<off_t>(whole)) != 0)
    throw std::system_error(errno, std::generic_category(), path_.string());
  content.resize(whole);
  for (const std::string_view line : base::split(content, '\n')) {
    if (line.empty()) continue;
    const json object = json::parse(line);
    if (object.contains("file")) sent_[object.at("file")] = object.at("sent_bytes").get<std::uint64_t>();
  }
  if (content.empty()) write(json{{"destination", destination_}}.dump() + '\n');
} catch (const json::exception&) {
  throw std::runtime_error(path_.string() + " cannot be understood; remove it to send everything again");
}

std::uint64_t SentLog::sent_bytes(const std::string& file) const {
  const auto found = sent_.find(file);
  return found == sent_.end() ? 0 : found->second;
}

void SentLog::add(const std::string& file, std::uint64_t sent_bytes) {
  write(json{{"file", file}, {"sent_bytes", sent_bytes}}.dump(-1, ' ', false, json::error_handler_t::replace) + '\n');
  sent_[file] = sent_bytes;
}

void SentLog::clear() {
  if (ftruncate(file_, 0) != 0) throw std::system_error(errno, std::generic_category(), path_.string());
  sent_.clear();
  write(json{{"destination", destination_}}.dump() + '\n');
}

void SentLog::write(const std::string& line) {
  if (!base::write_all(file_, line))
    throw std::system_error(errno, std::generic_category(), "what is sent cannot be noted in " + path_.string());
}

}  // namespace lens::send
