// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tools/cli/commands.h"

namespace lens::cli {
namespace {

std::string help_of(const CLI::App& program, const std::string& topic) {
  // Not program.help(), which would explain the command that was chosen: this one.
  if (topic.empty())
    return program.get_formatter()->make_help(&program, program.get_name(), CLI::AppFormatMode::Normal);
  for (const CLI::App* command : program.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == topic) return command->help(program.get_name());
  }
  throw std::invalid_argument(fmt::format("there is no command '{}': see `lens --help`", topic));
}

}  // namespace

void add_help_command(CLI::App& program, int& exit_code) {
  CLI::App* command = program.add_subcommand("help", "Print the help of the program or of a command");
  auto topic = std::make_shared<std::string>();
  command->add_option("COMMAND", *topic, "The command to explain");
  command->callback([&program, &exit_code, topic] {
    fmt::print("{}", help_of(program, *topic));
    exit_code = exit_success;
  });
}

}  // namespace lens::cli
