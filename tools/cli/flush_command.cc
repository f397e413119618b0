// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/cli/commands.h"
#include "tools/cli/destination.h"
#include "tools/send/spool_backlog.h"

namespace lens::cli {
namespace {

struct FlushOptions {
  std::string spool_directory;
  DestinationOptions destination;
};

std::string spool_directory(const FlushOptions& options, const Config& config) {
  for (const std::string& directory : {options.spool_directory, config.spool_dir, Config::default_spool_dir()})
    if (!directory.empty()) return directory;
  throw std::invalid_argument("there is no spool: HOME is not set; name one by --spool-dir");
}

/// False when not everything was taken.
bool flush(exporting::Spool& spool, Signal signal, Sender& sender) {
  send::Delivery delivery = sender.delivery(signal);
  send::Progress progress;
  {
    send::SpoolBacklog backlog(spool, signal);
    progress = sender.send(backlog, delivery, signal);
  }
  if (!progress.stopped.empty()) sender.print_message(progress.stopped);
  if (progress.accepted + progress.rejected > 0)  // else it is said why it stopped, and what waits
    fmt::print("{}{}\n", format_result(progress, delivery, signal),
               progress.rejected == 0   ? ""
               : progress.rejected == 1 ? ", which is dropped"
                                        : ", which are dropped");
  const bool is_left_to_others = progress.stopped.empty() && spool.unusable_files() == 0;
  const exporting::SpoolContents left = spool.contents(signal);
  if (left.requests > 0)
    fmt::print("{} {} in {}{}\n", format_items(left.items, signal), left.items == 1 ? "waits" : "wait",
               spool.directory(),
               is_left_to_others ? ", which running processes are sending or have just put there" : "");
  return progress.is_whole() && spool.unusable_files() == 0;
}

int run_flush(const FlushOptions& options) {
  const Config config = Config::from_env({.prefix = "MEGATRON_OTEL", .fallback_prefix = "NEMO_LENS"});
  Sender sender(options.destination, config);
  exporting::Spool spool({spool_directory(options, config), std::numeric_limits<std::uint64_t>::max(), ""},
                         [&](std::string_view line) { sender.print_message(line); });
  bool is_whole = true, is_empty = true;
  for (const Signal signal : {Signal::traces, Signal::logs}) {
    if (spool.contents(signal).requests == 0) continue;
    is_empty = false;
    is_whole = flush(spool, signal, sender) && is_whole;
  }
  if (is_empty) fmt::print("nothing to send: the spool {} is empty\n", spool.directory());
  return is_whole ? exit_success : exit_failed;
}

}  // namespace

void add_flush_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("flush", "Send what could not be sent and waits in the spool");
  auto options = std::make_shared<FlushOptions>();
  command->add_option("--spool-dir", options->spool_directory,
                      "The spool (default: SPOOL_DIR behind either prefix, else ~/.local/state/lens/spool)");
  add_destination_options(*command, options->destination);
  command->footer(
      "Of all runs. What a running process is sending just now is left to it; what cannot be sent stays.\n"
      "All OTEL_EXPORTER_OTLP_ variables apply, such as _HEADERS and _CERTIFICATE.");
  command->callback([options, &exit_code] { exit_code = run_flush(*options); });
}

}  // namespace lens::cli
