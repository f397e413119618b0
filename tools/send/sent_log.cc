// SPDX-License-Identifier: Apache-2.0
#include "tools/send/sent_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include "src/base/file.h"
#include "src/base/file_lock.h"
#include "src/base/md5.h"
#include "src/base/text.h"
#include "tools/trace/json_text.h"

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
  try {
    lock();
    read();
  } catch (...) {
    close(file_);
    throw;
  }
}

SentLog::~SentLog() { close(file_); }

void SentLog::lock() {
  switch (base::lock_file(file_)) {
    case base::FileLock::taken: return;
    case base::FileLock::none: is_locked_ = false; return;
    case base::FileLock::held: throw std::runtime_error("another process is sending the same to " + destination_);
    case base::FileLock::failed:
      throw std::system_error(errno, std::generic_category(), path_.string() + " cannot be locked");
  }
}

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
    if (!object.contains("file")) continue;
    sent_[object.at("file")] = {object.at("sent_bytes").get<std::uint64_t>(),
                                object.value("sent_items", std::uint64_t{0})};
  }
  if (content.empty()) write(trace::json_line(json{{"destination", destination_}}));
} catch (const json::exception&) {
  throw std::runtime_error(path_.string() + " cannot be understood; remove it to send everything again");
}

SentLog::Sent SentLog::sent(const std::string& file) const {
  const auto found = sent_.find(file);
  return found == sent_.end() ? Sent{} : found->second;
}

void SentLog::add(const std::string& file, Sent sent) {
  json line{{"file", file}, {"sent_bytes", sent.bytes}};
  if (sent.items > 0) line["sent_items"] = sent.items;
  write(trace::json_line(line));
  sent_[file] = sent;
}

void SentLog::clear() {
  if (ftruncate(file_, 0) != 0) throw std::system_error(errno, std::generic_category(), path_.string());
  sent_.clear();
  write(trace::json_line(json{{"destination", destination_}}));
}

void SentLog::write(const std::string& line) {
  if (!base::write_all(file_, line))
    throw std::system_error(errno, std::generic_category(), "what is sent cannot be noted in " + path_.string());
}

}  // namespace lens::send
