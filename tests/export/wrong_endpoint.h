// SPDX-License-Identifier: Apache-2.0
// What an exporter does whose endpoint speaks another protocol, or with TLS where it should without, or the reverse.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "tests/export/exporter_under_test.h"
#include "tests/support/temporary_directory.h"

namespace lens::tests {

/// One line with the remedy, and nothing is lost.
inline void expect_one_warning_and_no_loss(exporting::OtlpExporterOptions options, const std::string& remedy) {
  TemporaryDirectory directory;
  options.spool = spool_in(directory.path(), 1 << 20, "run");
  ExporterUnderTest exporter(options);
  const auto retries = [&] { return (*exporter).counts().retries; };
  for (int i = 0; i < 10; ++i) exporter.take(spans_of("a", i, 1, 10'000), 1);
  ASSERT_TRUE(exporter.until_flushed()) << exporter.said();
  ASSERT_TRUE(exporter.until([&] { return retries() > 10; })) << exporter.said();
  EXPECT_THAT(exporter.said(), testing::HasSubstr(remedy));
  EXPECT_EQ(std::ranges::count(exporter.said(), '\n'), 1) << exporter.said();
  exporter.drain(100ms);
  EXPECT_EQ(exporter.exported() + exporter.refused(), 0u);
  EXPECT_THAT(exporter.announced(), testing::HasSubstr("10 spans wait in"));
}

}  // namespace lens::tests
