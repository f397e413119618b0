// SPDX-License-Identifier: Apache-2.0
// An OTLP exporter with everything that a test looks at, and no patience.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "src/export/otlp_exporter.h"
#include "tests/export/spans.h"

namespace lens::tests {

using namespace std::chrono_literals;

class ExporterUnderTest {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ExporterUnderTest(exporting::OtlpExporterOptions options, const std::string& service = "svc") {
    setenv("no_proxy", "*", 1);  // a machine's proxy would stand between
    const auto note = [this](std::string_view line) { said_ += std::string(line) + '\n'; };
    const auto announce = [this](std::string_view line) { announced_ += std::string(line) + '\n'; };
    exporter_ = std::make_unique<exporting::OtlpExporter>(options, envelope_of(service), note, announce);
  }

  void take(const std::string& spans, std::uint64_t count) {
    auto memory = std::make_shared<const std::string>(spans);
    const std::string_view elements = *memory;
    exporter_->export_batch({elements, count, std::move(memory)});
  }

  /// Drives it until something holds; false when that takes too long.
  bool until(const std::function<bool()>& holds, std::chrono::milliseconds most = 10s) {
    for (const auto end = Clock::now() + most; Clock::now() < end; std::this_thread::yield()) {
      exporter_->poll();
      count();
      if (holds()) return true;
    }
    return false;
  }
  bool until_flushed() {
    exporter_->flush();
    return until([this] { return exporter_->is_flushed(); });
  }
  /// How long it took.
  std::chrono::milliseconds drain(std::chrono::milliseconds most, std::chrono::milliseconds then_keep = 5s) {
    const auto begin = Clock::now();
    exporter_->drain(begin + most, begin + most + then_keep);
    count();
    exporter_->finish({});
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  }

  std::uint64_t exported() const noexcept { return counts_.exported; }
  std::uint64_t refused() const noexcept { return counts_.refused(); }
  const std::string& said() const noexcept { return said_; }
  const std::string& announced() const noexcept { return announced_; }
  exporting::OtlpExporter& operator*() noexcept { return *exporter_; }

 private:
  void count() { counts_ = exporter_->counts(); }

  std::string said_, announced_;
  exporting::ExportCounts counts_;
  std::unique_ptr<exporting::OtlpExporter> exporter_;
};

/// To be answered by a peer on loopback; retries come at once.
inline exporting::OtlpExporterOptions options_for(OtlpProtocol protocol, const std::string& endpoint) {
  exporting::OtlpExporterOptions options;
  options.otlp.protocol = protocol;
  options.otlp.endpoint = endpoint;
  options.retry = {.first = 10ms, .factor = 1.5, .longest = 50ms};
  return options;
}

inline exporting::OtlpExporterOptions http(const HttpPeer& peer) {
  return options_for(OtlpProtocol::http_protobuf, peer.url());
}

inline std::shared_ptr<exporting::Spool> spool_in(const std::string& directory, std::uint64_t most_bytes,
                                                  const std::string& run) {
  return std::make_shared<exporting::Spool>(exporting::SpoolOptions{directory, most_bytes, run},
                                            [](std::string_view) {});
}

}  // namespace lens::tests
