// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/trace_file.h"

#include <cerrno>
#include <system_error>

#include <zstd.h>

#include "src/otlp/json.h"

namespace lens::trace {
namespace {

constexpr std::string_view zstd_magic = "\x28\xb5\x2f\xfd";
constexpr std::size_t length_size = 4;

// No exporter makes such messages. It also tells text from a length: four ASCII characters are more than this.
constexpr std::uint64_t max_message_bytes = 256u << 20;

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (unsigned char byte : bytes.substr(0, length_size)) value = value << 8 | byte;
  return value;
}

bool is_space(char character) {
  return character == ' ' || character == '\t' || character == '\r' || character == '\n';
}

}  // namespace

TraceFile::TraceFile(std::filesystem::path path, Signal signal)
    : path_(std::move(path)),
      signal_(signal),
      stream_(path_, std::ios::binary),
      zstd_(ZSTD_createDCtx(), ZSTD_freeDCtx) {
  if (!stream_) throw std::system_error(errno, std::generic_category(), path_.string());
  size_bytes_ = std::filesystem::file_size(path_);
  form_ = detect_form();
}

TraceFile::~TraceFile() = default;

TraceFile::Form TraceFile::detect_form() {
  char buffer[64];
  stream_.read(buffer, sizeof buffer);
  std::string_view head(buffer, static_cast<std::size_t>(stream_.gcount()));
  stream_.clear();
  stream_.seekg(0);

  std::string_view text = head;
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  if (text.starts_with('{')) return Form::lines;
  if (text.empty()) return Form::none;
  if (head.starts_with(zstd_magic)) {
    report("a plain zstd stream, not messages with their lengths: unpack it with `zstd -d` first");
    return Form::none;
  }
  if (head.size() <= length_size) return Form::frames;  // a tail torn within the first length
  bool is_message = head[length_size] == '\x0a' || head.substr(length_size).starts_with(zstd_magic);
  if (is_message && big_endian(head) <= max_message_bytes) return Form::frames;
  report("not a trace file");
  return Form::none;
}

void TraceFile::seek(std::uint64_t offset_bytes) {
  stream_.clear();
  stream_.seekg(static_cast<std::streamoff>(offset_bytes));
  offset_bytes_ = offset_bytes;
}

std::optional<std::string_view> TraceFile::next() {
  std::string_view payload;
  while (form_ == Form::frames ? next_frame(payload) : form_ == Form::lines && next_line(payload)) {
    if (unpack(payload)) return payload;
  }
  return std::nullopt;
}

void TraceFile::report(std::string reason) { problems_.push_back({path_, message_bytes_, std::move(reason)}); }

bool TraceFile::report_torn() {
  report("ends within a message, as after a kill; everything before it is used");
  return false;
}

bool TraceFile::next_frame(std::string_view& payload) {
  message_bytes_ = offset_bytes_;
  char length_bytes[length_size];
  stream_.read(length_bytes, length_size);
  if (stream_.gcount() == 0) return false;
  if (stream_.gcount() < static_cast<std::streamsize>(length_size)) return report_torn();
  std::uint64_t length = big_endian({length_bytes, length_size});
  if (length > max_message_bytes) {
    report("no message begins here; the rest of the file is not used");
    return false;
  }
  // Asked anew, since a live rank's file has grown since it was opened.
  std::error_code ignored;
  if (length > std::filesystem::file_size(path_, ignored) - offset_bytes_) return report_torn();
  frame_.resize(length);
  stream_.read(frame_.data(), static_cast<std::streamsize>(length));
  if (static_cast<std::uint64_t>(stream_.gcount()) < length) return report_torn();
  offset_bytes_ += length_size + length;
  payload = frame_;
  return true;
}

bool TraceFile::next_line(std::string_view& payload) {
  do {
    message_bytes_ = offset_bytes_;
    if (!std::getline(stream_, frame_)) return false;
    offset_bytes_ += frame_.size() + 1;
    payload = frame_;
    while (!payload.empty() && is_space(payload.back())) payload.remove_suffix(1);
  } while (payload.empty());
  return true;
}

bool TraceFile::unpack(std::string_view& payload) {
  if (payload.starts_with(zstd_magic) && !unpack_zstd(payload)) return false;
  if (!payload.starts_with('{')) return true;
  try {
    converted_ = otlp::from_json(signal_, payload);
    payload = converted_;
    return true;
  } catch (const otlp::DecodeError& error) {
    // A last line without its end is torn; a whole one without its end is how a rotated file may end.
    form_ == Form::lines&& stream_.eof() ? static_cast<void>(report_torn()) : report(error.what());
    return false;
  }
}

// Writers that stream leave the unpacked size out, so the buffer grows until all of it fits.
bool TraceFile::unpack_zstd(std::string_view& payload) {
  auto declared = ZSTD_getFrameContentSize(payload.data(), payload.size());
  bool is_declared = declared != ZSTD_CONTENTSIZE_UNKNOWN && declared != ZSTD_CONTENTSIZE_ERROR;
  if (is_declared && declared > max_message_bytes) {
    report("unpacks to more than 256 MiB");
    return false;
  }
  std::size_t wanted = is_declared ? static_cast<std::size_t>(declared) : 4 * payload.size();
  if (unpacked_.size() < wanted) unpacked_.resize(wanted);
  ZSTD_DCtx_reset(zstd_.get(), ZSTD_reset_session_only);
  ZSTD_inBuffer in{payload.data(), payload.size(), 0};
  ZSTD_outBuffer out{unpacked_.data(), unpacked_.size(), 0};
  for (;;) {
    std::size_t left = ZSTD_decompressStream(zstd_.get(), &out, &in);
    if (ZSTD_isError(left)) {
      report(std::string("cannot be unpacked: ") + ZSTD_getErrorName(left));
      return false;
    }
    if (left == 0) break;
    if (out.pos < out.size) {  // it wants input that is not there
      report("cannot be unpacked: the frame is cut short");
      return false;
    }
    if (out.size >= max_message_bytes) {
      report("unpacks to more than 256 MiB");
      return false;
    }
    unpacked_.resize(2 * out.size + 1024);
    out.dst = unpacked_.data();
    out.size = unpacked_.size();
  }
  payload = {unpacked_.data(), out.pos};
  return true;
}

}  // namespace lens::trace
