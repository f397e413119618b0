// SPDX-License-Identifier: Apache-2.0
// The messages of one file of spans or metrics, in any of the forms that docs/trace_directory.md lists; the form is
// told by the content. Include this to read a single file; trace.h reads a directory of them.
//
// Ownership: a message is valid until the next call.
// Errors:    what cannot be read is a problem with its place in the file, and reading goes on behind it where the
//            framing allows. Only a file that cannot be opened throws (std::system_error).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/signal.h"

struct ZSTD_DCtx_s;

namespace lens::trace {

struct Problem {
  std::filesystem::path file;
  std::uint64_t offset_bytes;  // of the message that could not be read
  std::string reason;
};

class TraceFile {
 public:
  explicit TraceFile(std::filesystem::path path, Signal signal = Signal::traces);
  ~TraceFile();

  /// The next message as OTLP protobuf; nothing at the end. JSON is converted.
  std::optional<std::string_view> next();

  /// Goes on with the message that begins there.
  void seek(std::uint64_t offset_bytes);
  /// Where the message behind the last one begins.
  std::uint64_t offset_bytes() const noexcept { return offset_bytes_; }

  /// To be called by who finds that the message that `next` gave last is none of its signal.
  void report(std::string reason);

  std::uint64_t size_bytes() const noexcept { return size_bytes_; }
  const std::vector<Problem>& problems() const noexcept { return problems_; }

 private:
  enum class Form { none, frames, lines };

  Form detect_form();
  bool next_frame(std::string_view& payload);
  bool next_line(std::string_view& payload);
  bool unpack(std::string_view& payload);
  bool unpack_zstd(std::string_view& payload);
  bool report_torn();

  std::filesystem::path path_;
  Signal signal_;
  std::ifstream stream_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t offset_bytes_ = 0;   // where the next message begins
  std::uint64_t message_bytes_ = 0;  // where the last one began
  Form form_ = Form::none;
  std::string frame_, unpacked_, converted_;
  std::unique_ptr<ZSTD_DCtx_s, std::size_t (*)(ZSTD_DCtx_s*)> zstd_;
  std::vector<Problem> problems_;
};

}  // namespace lens::trace
