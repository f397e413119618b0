// SPDX-License-Identifier: Apache-2.0
// Files of traces are one format: the collector reads ours, and we read the collector's.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "src/otlp/json.h"
#include "tests/interop/comparison.h"
#include "tests/interop/receiver.h"

namespace lens::tests {
namespace {

/// What a command prints; a command that fails fails the test.
std::string output_of(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  std::array<char, 65536> bytes;
  for (std::size_t size; (size = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    output.append(bytes.data(), size);
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

class OurFile : public testing::TestWithParam<std::string> {};

TEST_P(OurFile, IsReadByTheCollectorsDecoders) {
  const auto filecat = find_peer("filecat");
  if (!filecat) GTEST_SKIP() << "filecat is not installed: scripts/interop-setup";
  TemporaryDirectory directory;
  Config config = sending_config({OtlpProtocol::grpc, OtlpCompression::none}, "");
  config.exporter = "file";
  config.file_dir = directory.path();
  config.file_format = GetParam();
  const Sample sample = record_sample(config);

  std::string files;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    if (entry.path().filename().string().starts_with("traces-")) files += " '" + entry.path().string() + '\'';
  std::istringstream lines(output_of(*filecat + files));
  std::vector<RecordedRequest> requests;
  for (std::string line; std::getline(lines, line);) requests.push_back(read_request(otlp::traces_from_json(line)));
  expect_received(sample, requests);
}

INSTANTIATE_TEST_SUITE_P(OfFormat, OurFile, testing::Values("proto", "json"),
                         [](const auto& info) { return info.param; });

class CollectorsFile : public testing::TestWithParam<std::string> {};

TEST_P(CollectorsFile, IsReadByUs) {
  const auto program = find_peer("otelcol");
  if (!program) GTEST_SKIP() << "otelcol is not installed: scripts/interop-setup";
  Collector collector(*program);
  const Sample sample = record_sample(
      sending_config({OtlpProtocol::grpc, OtlpCompression::none}, collector.endpoint(OtlpProtocol::grpc)));
  collector.stop();
  expect_received(sample, requests_in(collector.file(GetParam())));
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(OfForm, CollectorsFile, testing::ValuesIn(Collector::forms), name_of);

}  // namespace
}  // namespace lens::tests
