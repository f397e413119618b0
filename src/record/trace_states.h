// SPDX-License-Identifier: Apache-2.0
// The W3C tracestate of traces that began elsewhere, by trace: a context is 32 bytes and does not carry it. What was
// received with a trace goes with each of its spans, to the exporter and in what is sent on.
//
// Threads:   any.
// Ownership: copies; the last 256 traces, of each what there must be room for in a header.
// Errors:    std::bad_alloc only.
#pragma once

#include <string>
#include <string_view>

#include "lens/context.h"

namespace lens::record {

class RingFile;

/// Empty or malformed: nothing is remembered, and what was known of the trace stays.
void remember_trace_state(const TraceId& trace, std::string_view tracestate);
/// Empty: none is known.
std::string trace_state_of(const TraceId& trace);
/// Whether any was ever remembered: while not, nobody needs to ask.
bool has_trace_states() noexcept;

/// Those known by now and all that come are copied to `file` before anybody can record a span of their trace, for
/// readers outside.
void publish_trace_states_to(RingFile* file);

// For the recorder, around fork.
void lock_trace_states_for_fork();
void forget_trace_states_file_after_fork() noexcept;  // in the child, while they are locked
void unlock_trace_states_after_fork();

}  // namespace lens::record
