// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/envelope.h"

#include <protozero/pbf_writer.hpp>

#include "src/base/utf8.h"
#include "src/otlp/wire.h"

namespace lens::otlp {
namespace {

void add_value(protozero::pbf_writer& any, bool value) { any.add_bool(2, value); }
void add_value(protozero::pbf_writer& any, std::int64_t value) { any.add_int64(3, value); }
void add_value(protozero::pbf_writer& any, double value) { any.add_double(4, value); }
void add_value(protozero::pbf_writer& any, const std::string& value) {
  any.add_string(1, base::is_utf8(value) ? value : base::repaired_utf8(value));
}

template <class T>
void add_value(protozero::pbf_writer& any, const std::vector<T>& values) {
  protozero::pbf_writer array(any, 5);
  for (const T& value : values) {
    protozero::pbf_writer element(array, 1);
    add_value(element, value);
  }
}

void put_field_head(std::string& out, std::uint32_t field, std::size_t size) {
  std::byte bytes[2 * wire::max_varint_bytes];
  const std::byte* end = wire::put_varint(wire::put_tag(bytes, field, wire::bytes_type), size);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(end - bytes));
}

}  // namespace

void append_attributes(protozero::pbf_writer& message, std::uint32_t field, const ResourceAttributes& attributes) {
  for (const auto& [key, value] : attributes) {
    protozero::pbf_writer entry(message, field);
    entry.add_string(1, key);
    protozero::pbf_writer any(entry, 2);
    std::visit([&any](const auto& alternative) { add_value(any, alternative); }, value);
  }
}

std::size_t attribute_bytes(const ResourceAttributes::value_type& attribute) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  append_attributes(message, 1, {attribute});
  return bytes.size();
}

std::size_t resource_bytes(std::size_t attributes_bytes) noexcept { return wire::bytes_field_bytes(attributes_bytes); }

Envelope::Envelope(const ResourceAttributes& resource, std::string_view scope_name, std::string_view scope_version) {
  std::string attributes;
  protozero::pbf_writer message(attributes);
  append_attributes(message, 1, resource);
  protozero::pbf_writer(resource_).add_message(1, attributes);  // one without attributes too
  protozero::pbf_writer scope_spans(scope_);
  protozero::pbf_writer scope(scope_spans, 1);
  scope.add_string(1, scope_name.data(), scope_name.size());
  scope.add_string(2, scope_version.data(), scope_version.size());
}

std::string Envelope::head(std::size_t element_bytes) const {
  std::string scope_head;
  put_field_head(scope_head, 2, scope_.size() + element_bytes);
  std::string head;
  put_field_head(head, 1, resource_.size() + scope_head.size() + scope_.size() + element_bytes);
  return head + resource_ + scope_head + scope_;
}

}  // namespace lens::otlp
