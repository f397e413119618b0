// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/trace_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <system_error>

#include "src/otlp/json.h"
#include "tests/otlp/trace_message.h"
#include "tests/support/temporary_directory.h"
#include "tests/trace/trace_forms.h"

namespace lens::trace {
namespace {

using namespace lens::tests;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string request = request_of_span(bytes_field(9, integer_attribute("iteration", 1)));

std::string to_json(std::string_view message) {
  std::string json;
  otlp::append_json(json, Signal::traces, message);
  return json;
}

std::string json_request() { return to_json(request); }

class TraceFileTest : public testing::Test {
 protected:
  void read(std::string_view content) {
    messages.clear();
    TraceFile file(directory.write("traces-rank0-1-1.otlp", content));
    while (auto message = file.next()) messages.emplace_back(*message);
    problems = file.problems();
  }

  TemporaryDirectory directory;
  std::vector<std::string> messages;
  std::vector<Problem> problems;
};

TEST_F(TraceFileTest, reads_every_form) {
  for (std::string content :
       {framed(request) + framed(request), framed(compressed(request)) + framed(compressed(request)),
        framed(compressed_by_stream(request)) + framed(compressed_by_stream(request)),
        json_request() + "\n" + json_request() + "\n",
        framed(compressed(json_request())) + framed(compressed(json_request()))}) {
    read(content);
    ASSERT_EQ(messages.size(), 2u) << content;
    EXPECT_EQ(to_json(messages[0]), json_request());
    EXPECT_EQ(to_json(messages[1]), json_request());
    EXPECT_THAT(problems, IsEmpty());
  }
}

TEST_F(TraceFileTest, unpacks_large_messages_whose_size_is_not_declared) {
  std::string large = request_of_span(bytes_field(9, text_attribute("zeros", std::string(1'000'000, '0'))));
  read(framed(compressed_by_stream(large)));
  EXPECT_THAT(messages, ElementsAre(large));
}

TEST_F(TraceFileTest, skips_empty_lines_and_takes_a_last_line_without_its_end) {
  read("\n" + json_request() + "\r\n\n" + json_request());
  EXPECT_EQ(messages.size(), 2u);
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(TraceFileTest, takes_an_empty_file_for_an_empty_trace) {
  read("");
  EXPECT_THAT(messages, IsEmpty());
  EXPECT_THAT(problems, IsEmpty());
}

TEST_F(TraceFileTest, uses_everything_before_a_torn_tail_wherever_it_is_torn) {
  std::string whole = framed(compressed(request));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    read(whole + whole.substr(0, size));
    ASSERT_THAT(messages, ElementsAre(request)) << size;
    ASSERT_EQ(problems.size(), 1u) << size;
    EXPECT_EQ(problems[0].offset_bytes, whole.size());
    EXPECT_THAT(problems[0].reason, HasSubstr("ends within a message"));
  }
}

TEST_F(TraceFileTest, names_a_file_that_is_torn_within_its_first_message) {
  for (std::size_t size : {1, 4, 5, 20}) {
    read(framed(request).substr(0, size));
    EXPECT_THAT(messages, IsEmpty());
    ASSERT_EQ(problems.size(), 1u) << size;
    EXPECT_THAT(problems[0].reason, HasSubstr("ends within a message"));
  }
}

TEST_F(TraceFileTest, uses_everything_before_a_torn_line) {
  read(json_request() + "\n" + json_request().substr(0, 50));
  EXPECT_EQ(messages.size(), 1u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].reason, HasSubstr("ends within a message"));
}

TEST_F(TraceFileTest, goes_on_behind_a_message_that_is_damaged) {
  std::string damaged = compressed(request);
  damaged[damaged.size() / 2] ^= 0x55;
  damaged.resize(damaged.size() - 2);
  read(framed(compressed(request)) + framed(damaged) + framed(compressed(request)));
  EXPECT_EQ(messages.size(), 2u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].reason, HasSubstr("cannot be unpacked"));

  read(json_request() + "\n{broken}\n" + json_request() + "\n");
  EXPECT_EQ(messages.size(), 2u);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].offset_bytes, json_request().size() + 1);
}

TEST_F(TraceFileTest, names_a_foreign_file) {
  for (std::string content : {"Dear reader, this is a letter.\n",
                              "\x7f"
                              "ELF and more",
                              "[1, 2]\n", "\x89PNG\r\n\x1a\n"}) {
    read(content);
    EXPECT_THAT(messages, IsEmpty());
    ASSERT_EQ(problems.size(), 1u) << content;
    EXPECT_EQ(problems[0].reason, "not a trace file");
  }
}

TEST_F(TraceFileTest, says_how_to_unpack_a_plain_zstd_stream) {
  read(compressed(json_request()));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].reason, HasSubstr("zstd -d"));
}

TEST_F(TraceFileTest, throws_for_a_file_that_cannot_be_opened) {
  EXPECT_THROW(TraceFile(directory.path() / "missing"), std::system_error);
}

}  // namespace
}  // namespace lens::trace
