// SPDX-License-Identifier: Apache-2.0
// What stands around the spans of a request: resource and instrumentation scope, encoded once per process.
#pragma once

#include <string>
#include <string_view>

#include "lens/resource.h"

namespace lens::otlp {

/// A KeyValue list of `resource` as repeated field `field` of some message.
std::string encoded_attributes(const ResourceAttributes& attributes, std::uint32_t field);

class TraceEnvelope {
 public:
  TraceEnvelope(const ResourceAttributes& resource, std::string_view scope_name, std::string_view scope_version);
  /// Of parts that another envelope encoded.
  TraceEnvelope(std::string resource, std::string scope) : resource_(std::move(resource)), scope_(std::move(scope)) {}

  /// What goes before `span_bytes` bytes of ScopeSpans.spans elements to make an ExportTraceServiceRequest of them.
  std::string head(std::size_t span_bytes) const;
  std::string request(std::string_view spans) const { return head(spans.size()).append(spans); }

  const std::string& resource() const noexcept { return resource_; }
  const std::string& scope() const noexcept { return scope_; }

 private:
  std::string resource_;  // field 1 of ResourceSpans
  std::string scope_;     // field 1 of ScopeSpans
};

}  // namespace lens::otlp
