// SPDX-License-Identifier: Apache-2.0
// Prints docs/configuration.md from the table of variables; given a file, checks that it holds just that.
#include <iostream>
#include <sstream>

#include "src/base/file.h"
#include "src/setup/environment.h"

namespace {

using lens::setup::Family;
using lens::setup::Variable;

constexpr std::string_view head = R"(# Configuration

A program configures telemetry by `lens::Config::from_env()` and may then change any field; flags of its own, such as
`--otel-enabled`, `--otel-service-name` and `--otel-span-groups`, are assignments to `enabled`, `service_name` and
`span_groups`, so that they win over the environment. `config.to_env()` gives the variables that say the same, to be set in the
environment of a worker that is spawned.

An empty or blank value counts as unset, and values are trimmed. This page is printed from the table in
`src/setup/variables.cc`; change it there.

## Variables of Lens

Each key stands behind a prefix: `NEMO_LENS_` unless the program chose another one. Programs of the Megatron family use
`MEGATRON_OTEL_`, and fall back to `NEMO_LENS_` key by key. A malformed number or boolean is an error that names the
variable. Unknown names (of groups, strategies, exporters) are errors at set-up, on every rank alike, and only when
telemetry is enabled. A variable with a prefix that is not in this table is reported with the nearest name that is.

Booleans are 1/0, true/false, yes/no, on/off, in any case.

This version records and exports spans, and metrics of itself ([metrics.md](metrics.md)). It reads and checks every variable
of this page, but these have no effect yet: LOGS_ENABLED, OTEL_BLRP_…, OTEL_EXPORTER_OTLP_LOGS_…. What the exporter `otlp` does with the others: [otlp.md](otlp.md).
Which ranks, traces and steps are kept: [sampling.md](sampling.md); OTEL_PROPAGATORS, TRACEPARENT: [propagation.md](propagation.md).
OTEL_TRACES_EXPORTER and its like are not read: the key EXPORTER names the destination of all signals.

)";

constexpr std::string_view standard_head = R"(
## Standard variables

A malformed value is reported and the default is used. Durations are whole milliseconds.

)";

constexpr std::string_view otlp_head = R"(
## OTLP

Each key stands behind `OTEL_EXPORTER_OTLP_`, for all signals, or `OTEL_EXPORTER_OTLP_TRACES_`, `…_METRICS_`, `…_LOGS_` for
one, which wins.

)";

constexpr std::string_view detected_head = R"(
## Variables of launchers, schedulers and drivers

Read where they are set; a malformed one is reported and passed over. Ranks are asked for in the order torchrun, Open
MPI, MPICH, Slurm; the rank on this node in the order LOCAL_RANK, SLURM_LOCALID, OMPI_COMM_WORLD_LOCAL_RANK,
MPI_LOCALRANKID.

)";

std::string code(std::string_view text) { return text.empty() ? "" : "`" + std::string{text} + "`"; }

void print_table(std::ostream& page, Family family) {
  page << "| variable | also | type | default | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const Variable& variable : lens::setup::variables()) {
    if (variable.family != family) continue;
    page << "| " << code(variable.key) << " | " << code(variable.aliases) << " | " << variable.type << " | "
         << variable.fallback << " | " << variable.meaning << " |\n";
  }
}

std::string configuration_page() {
  std::ostringstream page;
  page << head;
  print_table(page, Family::prefixed);
  page << standard_head;
  print_table(page, Family::standard);
  page << otlp_head;
  print_table(page, Family::otlp);
  page << detected_head;
  print_table(page, Family::detected);
  return page.str();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string page = configuration_page();
  if (argc < 2) {
    std::cout << page;
    return 0;
  }
  if (lens::base::read_file(argv[1]) == page) return 0;
  std::cerr << argv[1] << " is not what the table of variables says; bring it up to date with\n  " << argv[0] << " > "
            << argv[1] << '\n';
  return 1;
}
