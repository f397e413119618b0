// SPDX-License-Identifier: Apache-2.0
// OTLP/JSON to and from OTLP protobuf, one line to one message. Include this to write what people and `jq` read, or
// to read JSON with the decoder of the protobuf form: there is one decoder, and JSON is a change of clothes.
//
// Errors:    DecodeError when the input is no such message; nothing is appended then.
#pragma once

#include <string>
#include <string_view>

#include "src/model/signal.h"
#include "src/otlp/decode.h"

namespace lens::otlp {

/// Appends a message of the signal as one line of OTLP/JSON, without a line end: lower-camel-case names, ids in
/// lower-case hex, 64-bit integers as strings, NaN and infinities as strings; bytes that are not UTF-8 become U+FFFD.
void append_json(std::string& json, Signal signal, std::string_view message);

/// Appends a text of JSON, in quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& json, std::string_view text);

/// The message of one line of OTLP/JSON. Takes what other writers emit: ids in either case, 64-bit integers as
/// numbers, unknown fields, bytes that are not UTF-8 within strings. Empty when the line holds another signal only.
std::string from_json(Signal signal, std::string_view line);
inline std::string traces_from_json(std::string_view line) { return from_json(Signal::traces, line); }

}  // namespace lens::otlp
