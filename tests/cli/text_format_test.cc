// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/text_format.h"

#include <gtest/gtest.h>

namespace lens::cli {
namespace {

TEST(FormatDuration, has_three_digits_and_a_unit) {
  EXPECT_EQ(format_duration(0), "0 ns");
  EXPECT_EQ(format_duration(999), "999 ns");
  EXPECT_EQ(format_duration(1000), "1.00 µs");
  EXPECT_EQ(format_duration(12'345), "12.3 µs");
  EXPECT_EQ(format_duration(123'456), "123 µs");
  EXPECT_EQ(format_duration(999'600), "1.00 ms");
  EXPECT_EQ(format_duration(9'996'000), "10.0 ms");
  EXPECT_EQ(format_duration(1'500'000'000), "1.50 s");
  EXPECT_EQ(format_duration(750'000'000'000), "12 min 30 s");
  EXPECT_EQ(format_duration(90'000'000'000'000), "25 h 0 min");
}

TEST(FormatCount, groups_thousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(1, "span"), "1 span");
  EXPECT_EQ(format_count(1'234, "span"), "1,234 spans");
}

TEST(FormatBytes, has_binary_units) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(5u << 20), "5.0 MiB");
}

TEST(Printable, replaces_what_a_terminal_would_obey_or_not_understand) {
  EXPECT_EQ(printable("train_step µs …"), "train_step µs …");
  EXPECT_EQ(printable("a\x1b]0;title\x07z"), "a\ufffd]0;title\ufffdz");
  EXPECT_EQ(printable("two\nlines\x7f"), "two\ufffdlines\ufffd");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m\xc2\xa0"),
            "\ufffd31m\u00a0");
  EXPECT_EQ(printable("\xff bad \xc2"), "\ufffd bad \ufffd");
}

TEST(Table, prints_no_control_character_of_a_cell) {
  Table table({"span", "total"});
  table.add({"a\nb", "\x1b[31m"});
  EXPECT_EQ(table.text(),
            "  span  total\n"
            "  a\ufffdb   \ufffd[31m\n");
}

TEST(Table, aligns_its_columns) {
  Table table({"span", "total"});
  table.add({"step", "1.00 µs"});
  table.add({"optimizer", "12.0 ms"});
  EXPECT_EQ(table.text(),
            "  span         total\n"
            "  step       1.00 µs\n"
            "  optimizer  12.0 ms\n");
}

TEST(Table, shortens_the_first_column_to_fit) {
  Table table({"span", "total"});
  table.add({"megatron.pp.recv_forward.linked", "1.00 ms"});
  EXPECT_EQ(table.text(30),
            "  span                   total\n"
            "  megatr…rward.linked  1.00 ms\n");
}

}  // namespace
}  // namespace lens::cli
