// SPDX-License-Identifier: Apache-2.0
// What set-up would decide in a process with this environment, whether what it records would arrive, and what is wrong.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lens/group.h"
#include "tools/doctor/probe.h"
#include "tools/doctor/settings.h"

namespace lens::doctor {

struct ExaminationOptions {
  std::string prefix = "NEMO_LENS";  // that the program reads first; NEMO_LENS stands behind any other
  std::reference_wrapper<const Vocabulary> vocabulary = SpanGroup::vocabulary();
  bool sends = true;  // one span, where the exporter is otlp; to other signals' endpoints a request of nothing
};

/// Something that keeps data from being recorded or from arriving.
struct Problem {
  std::string text, remedy;  // the remedy may be empty where the text says it
};

/// Were telemetry enabled.
struct Decision {
  int rank = 0, world_size = 1, local_rank = 0;
  std::string rank_source;  // the variables, or that there are none
  std::string run_id;       // empty: each process has its own
  bool exports = false;
  std::string why;
  std::vector<std::string> groups;                           // that it records
  std::string no_spans;                                      // why it records none all the same; empty when it does
  std::string exporter;                                      // otlp, file, console, none
  std::string file_dir;                                      // with the exporter file
  std::string shm_dir;                                       // of the rings; empty: private memory
  std::string spool_dir;                                     // with the exporter otlp; empty: none
  std::uint64_t spooled_spans = 0, spooled_log_records = 0;  // that earlier processes left there
};

struct Examination {
  std::vector<std::string> prefixes;
  std::vector<EffectiveSetting> settings;
  bool is_enabled = false;
  std::optional<Decision> decision;  // nothing when set-up would throw
  std::vector<ProbeResult> probes;   // of spans, and of what goes elsewhere than they do
  std::vector<Problem> problems;
};

Examination examine(const ExaminationOptions& options);

}  // namespace lens::doctor
