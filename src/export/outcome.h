// SPDX-License-Identifier: Apache-2.0
// What a response means for the spans that were sent: the table of the OTLP specification.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "src/export/endpoint.h"
#include "src/export/response.h"

namespace lens::exporting {

struct Outcome {
  enum class Kind {
    accepted,
    retry,      // later: the same request may be taken then, be it by another server
    too_large,  // less at a time may be taken
    refused,    // never
  };
  /// What is wrong, where it is of a kind that has a remedy of its own.
  enum class Reason {
    none,
    host_name,
    connection,
    connection_timeout,  // none came
    tls_timeout,         // a connection came, over which TLS did not
    timeout,             // no answer to what was sent
    tls,
    protocol,
    credentials,
    path,
    other,
  };

  Kind kind = Kind::accepted;
  Reason reason = Reason::none;
  std::uint64_t rejected = 0;   // of an accepted request: spans that were not taken, and never will be
  std::string cause = {};       // of a failure, in a word: "timeout", "503", "UNAVAILABLE"
  std::string message = {};     // for people: what happened and, where there is one, the remedy; may be empty
  bool same_each_time = false;  // the message is, where a failure's wording is chance
  std::optional<std::chrono::milliseconds> retry_after = {};  // as the destination asked
  Proxy proxy = {};                                           // that the request went through, or should have
};

/// What is too large is halved no further than this: it was not the size, or there is no end to it.
constexpr std::size_t least_halved_bytes = 8 << 10;

Outcome outcome_of(const Response& response, const Endpoint& endpoint, OtlpProtocol protocol);

}  // namespace lens::exporting
