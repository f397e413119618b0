// SPDX-License-Identifier: Apache-2.0
// Trace files whose spans can be told apart.
#pragma once

#include <cstdlib>
#include <fstream>
#include <string>

#include "src/otlp/framing.h"
#include "tests/cli/lens_process.h"
#include "tests/export/spans.h"

namespace lens::tests {

/// A message of a trace file, framed: spans named {prefix}{from} and up.
inline std::string framed_spans(const std::string& prefix, int from, int count) {
  otlp::Framer framer;
  return std::string(framer.frame(envelope_of("svc").request(spans_of(prefix, from, count))));
}

inline void append(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary | std::ios::app) << bytes;
}

/// A machine's proxy would stand between.
inline void use_no_proxy() { setenv("no_proxy", "*", 1); }

}  // namespace lens::tests
