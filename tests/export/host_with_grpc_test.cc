// SPDX-License-Identifier: Apache-2.0
// A program that brings gRPC, protobuf and abseil of its own, and links the library as users do.
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include "lens/lens.h"
#include "tests/export/grpc_peer.h"

namespace lens::tests {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Contract: C15
TEST(HostWithGrpc, UsesItsOwnBesideTheLibraryThatSpeaksGrpcToo) {
  GrpcPeer peer([](int, const GrpcRequest&) { return GrpcAnswer{}; });
  Config config;
  config.enabled = true;
  config.span_groups = "step";
  config.metrics_enabled = false;
  config.shm_dir = "";
  config.spool_size_bytes = 0;
  config.standard.otlp_traces.endpoint = "http://127.0.0.1:" + std::to_string(peer.port());
  {
    auto telemetry = setup_telemetry(config, Rank{});
    auto step = managed_span(SpanGroup::step, "step");
  }
  ASSERT_EQ(peer.requests().size(), 1u);
  EXPECT_EQ(peer.requests()[0].method, "/opentelemetry.proto.collector.trace.v1.TraceService/Export");
  UnknownFieldSet request;
  ASSERT_TRUE(request.ParseFromString(peer.requests()[0].message));
  ASSERT_EQ(request.field_count(), 1);
  EXPECT_EQ(request.field(0).number(), 1);
  EXPECT_EQ(request.field(0).type(), UnknownField::TYPE_LENGTH_DELIMITED);
}

}  // namespace
}  // namespace lens::tests
