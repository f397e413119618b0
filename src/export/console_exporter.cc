// SPDX-License-Identifier: Apache-2.0
#include "src/export/console_exporter.h"

#include <string.h>

#include <cerrno>

#include "src/base/file.h"
#include "src/otlp/json.h"
#include "src/otlp/wire.h"

namespace lens::exporting {

void ConsoleExporter::export_spans(Batch batch) {
  std::string_view spans = batch.elements;
  std::uint64_t printed = 0;
  std::string json, line;
  while (!spans.empty()) {
    const std::string_view element = otlp::wire::first_field(spans);
    if (element.empty()) break;
    spans.remove_prefix(element.size());
    json.clear();
    otlp::append_json(json, Signal::traces, envelope_.request(element));
    line = "{\"signal\":\"traces\"," + json.substr(1) + "\n";
    // One write a line, so that lines of several processes on one terminal or pipe stay whole.
    if (!base::write_all(file_, line)) {
      on_error_(std::string("console exporter: ") + strerror(errno));
      break;
    }
    ++printed;
  }
  counts_.exported += printed;
  counts_.refused += batch.count - printed;
}

}  // namespace lens::exporting
