// SPDX-License-Identifier: Apache-2.0
#include "src/otlp/redaction.h"

#include <gtest/gtest.h>

namespace lens::otlp {
namespace {

TEST(Redaction, IsByWholeKeysAndLastParts) {
  const std::vector<std::string> listed = {"prompt", "password", "token", "secret", "key"};
  for (const char* key : {"prompt", "PROMPT", "api_key", "auth.token", "Secret", "db.password"})
    EXPECT_TRUE(is_redacted(key, listed)) << key;
  for (const char* key : {"monkey", "keys", "gen_ai.prompt", "tokens", "", "_", "token.count"})
    EXPECT_FALSE(is_redacted(key, listed)) << key;
  EXPECT_FALSE(is_redacted("api_key", {"prompt"}));
  EXPECT_TRUE(is_redacted("salary", {"Salary"}));
}

}  // namespace
}  // namespace lens::otlp
