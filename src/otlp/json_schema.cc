// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/json_schema.h"

#include <algorithm>

namespace lens::otlp {
namespace {

extern const JsonMessage any_value;
extern const JsonMessage key_value;

constexpr JsonField array_value_fields[] = {
    {1, "values", JsonType::message, true, &any_value},
};
constexpr JsonMessage array_value{array_value_fields};

constexpr JsonField key_value_list_fields[] = {
    {1, "values", JsonType::message, true, &key_value},
};
constexpr JsonMessage key_value_list{key_value_list_fields};

constexpr JsonField any_value_fields[] = {
    {1, "stringValue", JsonType::text},
    {2, "boolValue", JsonType::boolean},
    {3, "intValue", JsonType::int64},
    {4, "doubleValue", JsonType::floating},
    {5, "arrayValue", JsonType::message, false, &array_value},
    {6, "kvlistValue", JsonType::message, false, &key_value_list},
    {7, "bytesValue", JsonType::base64},
};
constexpr JsonMessage any_value{any_value_fields};

constexpr JsonField key_value_fields[] = {
    {1, "key", JsonType::text},
    {2, "value", JsonType::message, false, &any_value},
};
constexpr JsonMessage key_value{key_value_fields};

constexpr JsonField event_fields[] = {
    {1, "timeUnixNano", JsonType::fixed64},
    {2, "name", JsonType::text},
    {3, "attributes", JsonType::message, true, &key_value},
    {4, "droppedAttributesCount", JsonType::number},
};
constexpr JsonMessage event{event_fields};

constexpr JsonField link_fields[] = {
    {1, "traceId", JsonType::hex},
    {2, "spanId", JsonType::hex},
    {3, "traceState", JsonType::text},
    {4, "attributes", JsonType::message, true, &key_value},
    {5, "droppedAttributesCount", JsonType::number},
    {6, "flags", JsonType::flags},
};
constexpr JsonMessage link{link_fields};

constexpr JsonField status_fields[] = {
    {2, "message", JsonType::text},
    {3, "code", JsonType::number},
};
constexpr JsonMessage status{status_fields};

constexpr JsonField span_fields[] = {
    {1, "traceId", JsonType::hex},
    {2, "spanId", JsonType::hex},
    {3, "traceState", JsonType::text},
    {4, "parentSpanId", JsonType::hex},
    {5, "name", JsonType::text},
    {6, "kind", JsonType::number},
    {7, "startTimeUnixNano", JsonType::fixed64},
    {8, "endTimeUnixNano", JsonType::fixed64},
    {9, "attributes", JsonType::message, true, &key_value},
    {10, "droppedAttributesCount", JsonType::number},
    {11, "events", JsonType::message, true, &event},
    {12, "droppedEventsCount", JsonType::number},
    {13, "links", JsonType::message, true, &link},
    {14, "droppedLinksCount", JsonType::number},
    {15, "status", JsonType::message, false, &status},
    {16, "flags", JsonType::flags},
};
constexpr JsonMessage span{span_fields};

constexpr JsonField scope_fields[] = {
    {1, "name", JsonType::text},
    {2, "version", JsonType::text},
    {3, "attributes", JsonType::message, true, &key_value},
    {4, "droppedAttributesCount", JsonType::number},
};
constexpr JsonMessage scope{scope_fields};

constexpr JsonField scope_spans_fields[] = {
    {1, "scope", JsonType::message, false, &scope},
    {2, "spans", JsonType::message, true, &span},
    {3, "schemaUrl", JsonType::text},
};
constexpr JsonMessage scope_spans{scope_spans_fields};

constexpr JsonField resource_fields[] = {
    {1, "attributes", JsonType::message, true, &key_value},
    {2, "droppedAttributesCount", JsonType::number},
};
constexpr JsonMessage resource{resource_fields};

constexpr JsonField resource_spans_fields[] = {
    {1, "resource", JsonType::message, false, &resource},
    {2, "scopeSpans", JsonType::message, true, &scope_spans},
    {3, "schemaUrl", JsonType::text},
};
constexpr JsonMessage resource_spans{resource_spans_fields};

constexpr JsonField traces_data_fields[] = {
    {1, "resourceSpans", JsonType::message, true, &resource_spans},
};

constexpr JsonField number_point_fields[] = {
    {2, "startTimeUnixNano", JsonType::fixed64},
    {3, "timeUnixNano", JsonType::fixed64},
    {4, "asDouble", JsonType::floating},
    {6, "asInt", JsonType::sfixed64},
    {7, "attributes", JsonType::message, true, &key_value},
    {8, "flags", JsonType::number},
};
constexpr JsonMessage number_point{number_point_fields};

constexpr JsonField gauge_fields[] = {
    {1, "dataPoints", JsonType::message, true, &number_point},
};
constexpr JsonMessage gauge{gauge_fields};

constexpr JsonField sum_fields[] = {
    {1, "dataPoints", JsonType::message, true, &number_point},
    {2, "aggregationTemporality", JsonType::number},
    {3, "isMonotonic", JsonType::boolean},
};
constexpr JsonMessage sum{sum_fields};

constexpr JsonField histogram_point_fields[] = {
    {2, "startTimeUnixNano", JsonType::fixed64},
    {3, "timeUnixNano", JsonType::fixed64},
    {4, "count", JsonType::fixed64},
    {5, "sum", JsonType::floating},
    {6, "bucketCounts", JsonType::fixed64, true},
    {7, "explicitBounds", JsonType::floating, true},
    {9, "attributes", JsonType::message, true, &key_value},
    {10, "flags", JsonType::number},
    {11, "min", JsonType::floating},
    {12, "max", JsonType::floating},
};
constexpr JsonMessage histogram_point{histogram_point_fields};

constexpr JsonField histogram_fields[] = {
    {1, "dataPoints", JsonType::message, true, &histogram_point},
    {2, "aggregationTemporality", JsonType::number},
};
constexpr JsonMessage histogram{histogram_fields};

constexpr JsonField metric_fields[] = {
    {1, "name", JsonType::text},
    {2, "description", JsonType::text},
    {3, "unit", JsonType::text},
    {5, "gauge", JsonType::message, false, &gauge},
    {7, "sum", JsonType::message, false, &sum},
    {9, "histogram", JsonType::message, false, &histogram},
};
constexpr JsonMessage metric{metric_fields};

constexpr JsonField scope_metrics_fields[] = {
    {1, "scope", JsonType::message, false, &scope},
    {2, "metrics", JsonType::message, true, &metric},
    {3, "schemaUrl", JsonType::text},
};
constexpr JsonMessage scope_metrics{scope_metrics_fields};

constexpr JsonField resource_metrics_fields[] = {
    {1, "resource", JsonType::message, false, &resource},
    {2, "scopeMetrics", JsonType::message, true, &scope_metrics},
    {3, "schemaUrl", JsonType::text},
};
constexpr JsonMessage resource_metrics{resource_metrics_fields};

constexpr JsonField metrics_data_fields[] = {
    {1, "resourceMetrics", JsonType::message, true, &resource_metrics},
};

constexpr JsonField log_record_fields[] = {
    {1, "timeUnixNano", JsonType::fixed64},
    {2, "severityNumber", JsonType::number},
    {3, "severityText", JsonType::text},
    {5, "body", JsonType::message, false, &any_value},
    {6, "attributes", JsonType::message, true, &key_value},
    {7, "droppedAttributesCount", JsonType::number},
    {8, "flags", JsonType::flags},
    {9, "traceId", JsonType::hex},
    {10, "spanId", JsonType::hex},
    {11, "observedTimeUnixNano", JsonType::fixed64},
    {12, "eventName", JsonType::text},
};
constexpr JsonMessage log_record{log_record_fields};

constexpr JsonField scope_logs_fields[] = {
    {1, "scope", JsonType::message, false, &scope},
    {2, "logRecords", JsonType::message, true, &log_record},
    {3, "schemaUrl", JsonType::text},
};
constexpr JsonMessage scope_logs{scope_logs_fields};

constexpr JsonField resource_logs_fields[] = {
    {1, "resource", JsonType::message, false, &resource},
    {2, "scopeLogs", JsonType::message, true, &scope_logs},
    {3, "schemaUrl", JsonType::text},
};
constexpr JsonMessage resource_logs{resource_logs_fields};

constexpr JsonField logs_data_fields[] = {
    {1, "resourceLogs", JsonType::message, true, &resource_logs},
};

}  // namespace

constexpr JsonMessage traces_data_json{traces_data_fields};
constexpr JsonMessage metrics_data_json{metrics_data_fields};
constexpr JsonMessage logs_data_json{logs_data_fields};

const JsonMessage& json_schema_of(Signal signal) noexcept {
  return signal == Signal::traces ? traces_data_json : signal == Signal::metrics ? metrics_data_json : logs_data_json;
}

const JsonField* JsonMessage::find(std::uint32_t number) const noexcept {
  auto found = std::ranges::find(fields, number, &JsonField::number);
  return found == fields.end() ? nullptr : &*found;
}

const JsonField* JsonMessage::find(std::string_view name) const noexcept {
  auto found = std::ranges::find(fields, name, &JsonField::name);
  return found == fields.end() ? nullptr : &*found;
}

}  // namespace lens::otlp
