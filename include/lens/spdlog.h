// SPDX-License-Identifier: Apache-2.0
// A sink that brings what spdlog logs to Lens: each message becomes a log record of the span that is current where it
// is logged. Include it in one file of a program that uses spdlog; it compiles against the program's own spdlog.
//
//   spdlog::default_logger()->sinks().push_back(lens::spdlog_sink());
//
// Threads:   any. With an asynchronous logger the sink runs on a thread of spdlog's, so records name no span.
// Errors:    none: what finds no room is dropped and counted.
#pragma once

#include <spdlog/common.h>
#include <spdlog/details/log_msg.h>
#include <spdlog/formatter.h>
#include <spdlog/sinks/sink.h>

#include <memory>
#include <string>
#include <string_view>

#include "lens/log.h"

namespace lens {

constexpr Severity severity_of(spdlog::level::level_enum level) noexcept {
  switch (level) {
    case spdlog::level::trace: return Severity::trace;
    case spdlog::level::debug: return Severity::debug;
    case spdlog::level::warn: return Severity::warn;
    case spdlog::level::err: return Severity::error;
    case spdlog::level::critical: return Severity::fatal;
    default: return Severity::info;
  }
}

/// The body is the message without the logger's pattern. Attributes: thread.id; the logger's name, where it has one,
/// as `logger.name`; and the place in the source, where the macros SPDLOG_… tell it.
class SpdlogSink final : public spdlog::sinks::sink {
 public:
  void log(const spdlog::details::log_msg& message) override {
    if (!is_logging()) return;
    const std::string_view body(message.payload.data(), message.payload.size());
    const std::string_view logger(message.logger_name.data(), message.logger_name.size());
    const auto log_with = [&](const auto&... more) {
      lens::log(severity_of(message.level), body, message.time, "thread.id"_a = message.thread_id, more...);
    };
    const auto log_named = [&](const auto&... more) {
      logger.empty() ? log_with(more...) : log_with("logger.name"_a = logger, more...);
    };
    if (message.source.empty())
      log_named();
    else
      log_named("code.file.path"_a = message.source.filename, "code.line.number"_a = message.source.line,
                "code.function.name"_a = message.source.funcname);
  }
  void flush() override {}
  void set_pattern(const std::string&) override {}
  void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
};

/// For `spdlog::logger::sinks`; any number of loggers may share it.
inline spdlog::sink_ptr spdlog_sink() { return std::make_shared<SpdlogSink>(); }

}  // namespace lens
