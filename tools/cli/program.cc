// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/format.h>

#include "lens/version.h"
#include "tools/cli/commands.h"

namespace lens::cli {
namespace {

// The parser's own codes tell its errors apart; a caller needs to know only that the command line is wrong.
int explain(const CLI::App& program, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {  // --help and --version
    program.exit(error);
    return exit_success;
  }
  auto chosen = program.get_subcommands();
  auto words = program.remaining();
  std::string message = error.what(), help = "lens --help";
  if (!chosen.empty()) {
    help = fmt::format("lens {} --help", chosen.front()->get_name());
  } else if (words.empty()) {
    message = "which command?";
  } else {
    message = fmt::format("there is no command or option '{}'", words.front());
  }
  fmt::print(stderr, "lens: {}\nSee `{}`.\n", message, help);
  return exit_usage;
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  CLI::App program{"Runs training programs traced, and says where their time goes."};
  program.name("lens");
  program.set_version_flag("--version", fmt::format("lens {}", version), "Print the version and exit");
  program.require_subcommand(1);
  program.failure_message([](const CLI::App*, const CLI::Error& error) { return std::string(error.what()); });
  program.footer("Exit codes: 0 done, 1 failed, 2 wrong usage; `lens run` ends with the code of the rank that failed.");

  int exit_code = exit_success;
  add_run_command(program, exit_code);
  add_report_command(program, exit_code);
  add_top_command(program, exit_code);
  add_set_command(program, exit_code);
  add_recover_command(program, exit_code);
  add_send_command(program, exit_code);
  add_flush_command(program, exit_code);
  add_doctor_command(program, exit_code);
  add_groups_command(program, exit_code);
  add_help_command(program, exit_code);
  try {
    program.parse(argc, argv);
    return exit_code;
  } catch (const CLI::ParseError& error) {
    return explain(program, error);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "lens: {}\n", error.what());
    return exit_usage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "lens: {}\n", error.what());
    return exit_failed;
  }
}

}  // namespace lens::cli
