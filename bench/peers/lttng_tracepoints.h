// SPDX-License-Identifier: Apache-2.0
// A span as LTTng-UST has it: one tracepoint where it begins, with three fields or none, and one where it ends.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER lens_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/peers/lttng_tracepoints.h"

#if !defined(LENS_BENCH_LTTNG_TRACEPOINTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LENS_BENCH_LTTNG_TRACEPOINTS_H

#include <lttng/tracepoint.h>

#include <cstdint>

LTTNG_UST_TRACEPOINT_EVENT(lens_bench, begin, LTTNG_UST_TP_ARGS(std::uint32_t, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint32_t, name, name)))

LTTNG_UST_TRACEPOINT_EVENT(lens_bench, begin_with_attributes,
                           LTTNG_UST_TP_ARGS(std::uint32_t, name, std::int64_t, count, double, half, const char*, text),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint32_t, name, name)
                                                   lttng_ust_field_integer(std::int64_t, count, count)
                                                       lttng_ust_field_float(double, half, half)
                                                           lttng_ust_field_string(text, text)))

LTTNG_UST_TRACEPOINT_EVENT(lens_bench, end, LTTNG_UST_TP_ARGS(std::uint32_t, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(std::uint32_t, name, name)))

#endif

#include <lttng/tracepoint-event.h>
