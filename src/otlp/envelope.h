// SPDX-License-Identifier: Apache-2.0
// What stands around the spans or metrics of a request: resource and instrumentation scope, encoded once per process.
// Requests of both signals have the same form, and so the same envelope.
#pragma once

#include <string>
#include <string_view>

#include "lens/resource.h"

namespace protozero {
template <typename Buffer>
class basic_pbf_writer;
}

namespace lens::otlp {

/// Attributes as the repeated field `field` of `message`.
void append_attributes(protozero::basic_pbf_writer<std::string>& message, std::uint32_t field,
                       const ResourceAttributes& attributes);

/// What one attribute takes, and Envelope::resource() of attributes that take so many bytes together.
std::size_t attribute_bytes(const ResourceAttributes::value_type& attribute);
std::size_t resource_bytes(std::size_t attributes_bytes) noexcept;

class Envelope {
 public:
  Envelope(const ResourceAttributes& resource, std::string_view scope_name, std::string_view scope_version);
  /// Of parts that another envelope encoded.
  Envelope(std::string resource, std::string scope) : resource_(std::move(resource)), scope_(std::move(scope)) {}

  /// What goes before `element_bytes` bytes of ScopeSpans.spans or ScopeMetrics.metrics elements to make a request of
  /// them.
  std::string head(std::size_t element_bytes) const;
  std::string request(std::string_view elements) const { return head(elements.size()).append(elements); }

  const std::string& resource() const noexcept { return resource_; }
  const std::string& scope() const noexcept { return scope_; }

 private:
  std::string resource_;  // field 1 of ResourceSpans and of ResourceMetrics
  std::string scope_;     // field 1 of ScopeSpans and of ScopeMetrics
};

}  // namespace lens::otlp
