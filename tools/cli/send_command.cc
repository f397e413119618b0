// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/commands.h"
#include "tools/cli/destination.h"
#include "tools/send/trace_backlog.h"
#include "tools/trace/trace.h"

namespace lens::cli {
namespace {

namespace fs = std::filesystem;

struct SendOptions {
  std::string path, state_directory;
  bool again = false;
  DestinationOptions destination;
};

/// Beside the trace, or where the options say; there, traces of other directories have theirs too.
send::SentLog open_log(const SendOptions& options, const fs::path& directory, const std::string& destination) try {
  if (options.state_directory.empty()) return send::SentLog(directory, destination);
  return send::SentLog(options.state_directory, destination + " from " + directory.string());
} catch (const std::system_error& error) {
  throw std::runtime_error(fmt::format("{}; --state-dir names another place", error.what()));
}

std::string text_of(const trace::Problem& problem) {
  return fmt::format("{}, byte {}: {}", problem.file.string(), problem.offset_bytes, problem.reason);
}

/// Once.
void warn_of_no_locks(const send::SentLog& log, Sender& sender, bool& warned) {
  if (log.is_locked() || std::exchange(warned, true)) return;
  sender.print_message(
      fmt::format("the file system of {} has no locks: what another `lens send` sends at the same time comes twice; "
                  "--state-dir names another place",
                  log.path().string()));
}

/// Of one signal; false when not everything that can be read was taken.
bool send_files(const SendOptions& options, Sender& sender, const std::vector<fs::path>& files, Signal signal,
                bool& warned) {
  send::Delivery delivery = sender.delivery(signal);
  // However the directory is named, it is the same one.
  const fs::path directory = fs::weakly_canonical(fs::absolute(files.front()).parent_path());
  send::SentLog log = open_log(options, directory, delivery.destination());
  warn_of_no_locks(log, sender, warned);
  if (options.again) log.clear();
  send::TraceBacklog backlog(files, signal, log);
  const send::Progress progress = sender.send(backlog, delivery, signal);
  for (const trace::Problem& problem : backlog.problems()) sender.print_message(text_of(problem));
  if (!progress.stopped.empty())
    sender.print_message(
        fmt::format("{}; what was not sent is sent by the same command, once this is mended", progress.stopped));
  const bool is_nothing = progress.accepted == 0 && progress.rejected == 0 && progress.stopped.empty();
  if (is_nothing) {
    fmt::print("nothing to send: {} has taken all that can be read so far; --again sends it anew\n",
               delivery.destination());
  } else {
    fmt::print("{}\n", format_result(progress, delivery, signal));
  }
  return progress.is_whole() && backlog.unreadable_files() == 0;
}

using FilesOfSignals = std::vector<std::pair<Signal, std::vector<fs::path>>>;

/// Of a directory where nothing can be read. False where there may be, once its ranks have written some more.
bool is_wrong(const FilesOfSignals& signals, Sender& sender) {
  std::uint64_t bytes = 0, files = 0;
  std::vector<trace::Problem> problems;
  for (const auto& [signal, paths] : signals)
    for (const fs::path& path : paths) {
      if (send::may_hold_requests(path, signal, problems)) return false;
      std::error_code ignored;
      const auto size = fs::file_size(path, ignored);
      bytes += ignored ? 0 : size;
      ++files;
    }
  for (const trace::Problem& problem : problems) sender.print_message(text_of(problem));
  return files == 0 || bytes > 0;
}

[[noreturn]] void explain_empty(const fs::path& path) {
  std::string message = fmt::format("{} holds no trace files that can be read", path.string());
  if (const auto newest = trace::newest_run(path)) message += fmt::format("; did you mean {}?", newest->string());
  throw std::invalid_argument(message);
}

int run_send(const SendOptions& options) {
  const Config config = Config::from_env({.prefix = ""});
  const trace::Trace trace = trace::open_trace(options.path);
  const FilesOfSignals signals = {
      {Signal::traces, trace.files}, {Signal::metrics, trace.metrics_files}, {Signal::logs, trace.logs_files}};
  Sender sender(options.destination, config);
  if (is_wrong(signals, sender)) explain_empty(options.path);
  bool is_whole = true, warned = false;
  for (const auto& [signal, files] : signals)
    if (!files.empty()) is_whole = send_files(options, sender, files, signal, warned) && is_whole;
  return is_whole ? exit_success : exit_failed;
}

}  // namespace

void add_send_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("send", "Send a trace directory to a collector, going on where it ended");
  auto options = std::make_shared<SendOptions>();
  command->add_option("DIR", options->path, "A trace directory or a single file of one")->required();
  add_destination_options(*command, options->destination);
  command->add_flag("--again", options->again, "Send what was taken before, too");
  command->add_option("--state-dir", options->state_directory,
                      "Where to note what was taken, when the trace directory cannot be written");
  command->footer("All OTEL_EXPORTER_OTLP_ variables apply, such as _HEADERS and _CERTIFICATE.");
  command->callback([options, &exit_code] { exit_code = run_send(*options); });
}

}  // namespace lens::cli
