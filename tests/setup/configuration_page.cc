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
environment of a worker that is spawned, and name the run of this process, which the worker is then of.

An empty or blank value counts as unset, and values are trimmed. This page is printed from the table in
`src/setup/variables.cc`; change it there.

## Variables of Lens

Each key stands behind a prefix: `NEMO_LENS_` unless the program chose another one. Programs of the Megatron family use
`MEGATRON_OTEL_`, and fall back to `NEMO_LENS_` key by key. A malformed number or boolean is an error that names the
variable. Unknown names (of groups, strategies, exporters) are errors at set-up, on every rank alike, and only when
telemetry is enabled. A variable with a prefix that is not in this table is reported with the nearest name that is.

Booleans are 1/0, true/false, yes/no, on/off, in any case.

Log records: [logs.md](logs.md); metrics: [metrics.md](metrics.md). What the exporter `otlp` does: [otlp.md](otlp.md).
Which ranks, traces and steps are kept: [sampling.md](sampling.md); OTEL_PROPAGATORS, TRACEPARENT: [propagation.md](propagation.md).
The key EXPORTER names the destination of all signals; without it OTEL_TRACES_EXPORTER does.

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
## Variables of launchers, schedulers, drivers and proxies

Read where they are set; a malformed one is reported and passed over. Where one launcher started another, as in
`lens run -- mpirun …`, several say a rank: that of the largest world is believed; of equal worlds, that of the first in the order
torchrun, Open MPI, MPICH, Slurm. Where the inner one has the smaller world (`srun -n 4` of jobs with two ranks each), unset the outer
one's variables, such as `SLURM_PROCID`, for what it starts. The rank on this node is that of the launcher that says the rank, else
asked for in the order LOCAL_RANK, SLURM_LOCALID, OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID.

The run id is the first that there is of: `RUN_ID`; the Slurm job with its step; torchrun's run id; mpirun's job. Where no launcher
names the job, a world of 1 is a run of its own, and the ranks of one node are a run where one process has started them: that
process's, or, once a start script has ended (`nohup`), that of their process group. Else it is a hash of the rendezvous. What
torchrun starts again is another run. What may split a run or join two is warned of, as `RUN_ID` mends it.

What a Slurm batch script starts itself, without srun, is rank 0 of 1: Slurm tells it the job's number of tasks and the rank 0,
but no step (`SLURM_STEP_ID`, `SLURM_STEP_NUM_TASKS`). Hand those to a container along with `SLURM_PROCID`. The run of all that a
script starts so is the job; where it starts several runs, give each a `RUN_ID`. A script that `sbatch` was given inside of a step
inherits that step's variables and is taken for one of its tasks: unset `SLURM_STEP_ID` and `SLURM_STEP_NUM_TASKS` there, or set `RANK`
and `WORLD_SIZE` for what it starts.

The resource has what this host says besides: its name, `/etc/machine-id`, in a pod the namespace of its service account, and where
CUDA_VISIBLE_DEVICES is not set the directory of the driver in `/proc`. Nothing there waits for another machine, for a device or for
a process: no name is looked up, and what is no regular file is passed over. Were `/etc` on a network that hangs, the program would
not have come so far: its libraries are found by way of it.

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
