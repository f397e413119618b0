// SPDX-License-Identifier: Apache-2.0
#include "src/export/console_exporter.h"

#include <string.h>

#include <cerrno>

#include "src/base/file.h"
#include "src/otlp/json.h"
#include "src/otlp/wire.h"

namespace lens::exporting {

void ConsoleExporter::export_batch(Batch batch) {
  const auto began = std::chrono::steady_clock::now();
  std::string_view rest = batch.elements;
  std::uint64_t printed = 0;
  while (!rest.empty()) {
    const std::string_view element = signal_ == Signal::metrics ? rest : otlp::wire::first_field(rest);
    if (element.empty() || !print(element)) break;
    rest.remove_prefix(element.size());
    printed += signal_ == Signal::metrics ? batch.count : 1;
  }
  counts_.exported += printed;
  count_lost(batch.count - printed, "write_failed");
  count_duration(std::chrono::steady_clock::now() - began, printed == batch.count ? "" : "write_failed");
}

bool ConsoleExporter::print(std::string_view elements) {
  std::string json;
  otlp::append_json(json, signal_, envelope_.request(elements));
  const std::string line = "{\"signal\":\"" + std::string(signal_name(signal_)) + "\"," + json.substr(1) + "\n";
  // One write a line, so that lines of several processes on one terminal or pipe stay whole.
  if (base::write_all(file_, line)) return true;
  last_failure_ = std::string("console exporter: ") + strerror(errno);
  on_error_(last_failure_);
  return false;
}

}  // namespace lens::exporting
