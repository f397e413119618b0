// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace file: read to the end, with problems at most.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

#include "tools/analyze/report.h"
#include "tools/cli/report_json.h"
#include "tools/trace/trace.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "/dev/shm/lens-fuzz-" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  lens::cli::report_json(lens::analyze::make_report(lens::trace::open_trace(path)));
  return 0;
}
