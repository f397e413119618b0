// SPDX-License-Identifier: Apache-2.0
// Any text as a line of OTLP/JSON: a DecodeError at most, and what is read stays the same when it is written and read
// once more.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "src/otlp/json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  using namespace lens::otlp;
  const std::string message = traces_from_json({reinterpret_cast<const char*>(data), size});
  std::string first, second;
  append_json(first, lens::Signal::traces, message);
  append_json(second, lens::Signal::traces, traces_from_json(first));
  if (first != second) std::abort();
  return 0;
} catch (const lens::otlp::DecodeError&) {
  return 0;
}
