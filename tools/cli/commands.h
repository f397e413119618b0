// SPDX-License-Identifier: Apache-2.0
// The commands of the program `lens`, one file each. A command adds itself to the program with its options and its
// help; it runs when it was chosen, and leaves the exit code.
//
// Errors: std::invalid_argument is a mistake of the caller (exit code 2), any other exception a failure (1). Both
//         messages say what to do about it.
#pragma once

#include <CLI/CLI.hpp>

namespace lens::cli {

inline constexpr int exit_success = 0, exit_failed = 1, exit_usage = 2;

void add_run_command(CLI::App& program, int& exit_code);
void add_report_command(CLI::App& program, int& exit_code);
void add_top_command(CLI::App& program, int& exit_code);
void add_set_command(CLI::App& program, int& exit_code);
void add_recover_command(CLI::App& program, int& exit_code);
void add_send_command(CLI::App& program, int& exit_code);
void add_flush_command(CLI::App& program, int& exit_code);
void add_doctor_command(CLI::App& program, int& exit_code);
void add_groups_command(CLI::App& program, int& exit_code);
void add_help_command(CLI::App& program, int& exit_code);

/// Parses, runs, reports errors on stderr, and gives the exit code.
int run_program(int argc, const char* const* argv);

}  // namespace lens::cli
