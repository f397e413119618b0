// SPDX-License-Identifier: Apache-2.0
// Everything that set-up decides, decided without a side effect: no thread, no file, no socket.
// Include this to wire telemetry from a plan.
#pragma once

#include <string>
#include <vector>

#include "lens/config.h"
#include "lens/group.h"
#include "lens/rank.h"
#include "lens/resource.h"
#include "src/model/sampler.h"

namespace lens::setup {

enum class Exporter { otlp, console, file, none };
enum class FileFormat { proto, json };

struct Plan {
  bool exports = false;  ///< false: disabled, or not this rank; nothing below but `why` and `warnings` is needed then
  std::string why = {};  ///< one clause for people: why this rank exports or does not
  Rank rank = {};        ///< with the local rank resolved
  bool records_spans = false;  ///< this rank exports, and no setting says that it has no spans
  std::string no_spans = {};   ///< one clause for people: why a rank that exports has no spans; empty when it has
  bool records_logs = false;   ///< this rank exports, and log records are on
  GroupSet groups = {};        ///< to enable; empty unless this rank records spans
  model::TraceSampler sampler = {};
  Exporter exporter = Exporter::none;
  FileFormat file_format = FileFormat::proto;
  std::string file_dir = {};                             ///< where the file exporter writes
  BatchConfig span_batch = StandardConfig{}.span_batch;  ///< no batch is larger than the queue
  BatchConfig log_batch = StandardConfig{}.log_batch;
  std::string spool_dir = {};  ///< where the OTLP exporter keeps what it could not send; empty: nowhere
  std::string run_id = {};
  std::string instance_id = {};  ///< `{run}-rank{r}`
  ResourceAttributes resource = {};
  std::vector<std::string> warnings = {};  ///< for Config::on_error, those of the config and the rank included
};

/// Decides in this order: disabled? → groups, strategy, exporter → identity → does this rank export? → resource.
/// Throws std::invalid_argument that names the valid choices, the same on every rank; nothing is checked when disabled.
Plan make_plan(const Config& config, const Rank& rank, const ResourceAttributes& caller = {});

}  // namespace lens::setup
