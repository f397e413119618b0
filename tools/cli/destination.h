// SPDX-License-Identifier: Apache-2.0
// What `lens send` and `lens flush` have in common: options that say where to and how fast, and the words in which
// they tell how it went.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "lens/config.h"
#include "tools/launch/console.h"
#include "tools/send/send_all.h"

namespace lens::cli {

struct DestinationOptions {
  std::string endpoint, protocol;  // empty: as the environment says
  double rate = 100'000;
  double retry_s = 60;
};

void add_destination_options(CLI::App& command, DestinationOptions& options);

/// Sends to what the options and `config` name together, and shows how far it is.
class Sender {
 public:
  Sender(const DestinationOptions& options, const Config& config);

  /// Throws std::invalid_argument when the endpoint is none.
  send::Delivery delivery(Signal signal);
  send::Progress send(send::Backlog& backlog, send::Delivery& delivery, Signal signal);
  void print_message(std::string_view line) { console_.print_message(line); }

 private:
  DestinationOptions options_;
  const Config& config_;
  launch::Console console_;
};

/// "1 span", "12,345 log records".
std::string format_items(std::uint64_t count, Signal signal);

/// "http://… took 12 spans and rejected 1 span".
std::string format_result(const send::Progress& progress, const send::Delivery& delivery, Signal signal);

}  // namespace lens::cli
