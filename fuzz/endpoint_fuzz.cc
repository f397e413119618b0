// SPDX-License-Identifier: Apache-2.0
// Any text as an endpoint and as a list of headers: std::invalid_argument, or a URL and headers of which a transport
// can be made.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "src/export/transport.h"
#include "src/setup/setting.h"

namespace {

using namespace lens;
using namespace lens::exporting;

bool is_in_one_piece(const std::string& url) {
  return std::ranges::none_of(url, [](unsigned char c) { return c <= ' ' || c == 0x7f; });
}

void read_endpoint(const OtlpConfig& config) try {
  for (const Signal signal : {Signal::traces, Signal::metrics, Signal::logs}) {
    const Endpoint endpoint = endpoint_of(config, signal);
    const bool is_http = endpoint.url.starts_with("http://") || endpoint.url.starts_with("https://");
    if (!is_http || !is_in_one_piece(endpoint.url)) std::abort();
  }
} catch (const std::invalid_argument&) {
}

void read_headers(OtlpConfig config, const std::string& text) try {
  config.headers = setup::pairs({"OTEL_EXPORTER_OTLP_HEADERS", text});
  Transport transport(config, {.url = "http://localhost"});
} catch (const std::invalid_argument&) {
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  OtlpConfig config;
  config.endpoint = text;
  for (const OtlpProtocol protocol : {OtlpProtocol::grpc, OtlpProtocol::http_protobuf}) {
    config.protocol = protocol;
    for (const bool flag : {false, true}) {
      config.endpoint_is_full = config.insecure = flag;
      read_endpoint(config);
    }
  }
  read_headers(config, text);
  return 0;
}
