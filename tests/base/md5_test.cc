// SPDX-License-Identifier: Apache-2.0
#include "src/base/md5.h"

#include <gtest/gtest.h>

namespace lens::base {
namespace {

// The test suite of RFC 1321, appendix A.5.
TEST(Md5, AgreesWithTheStandard) {
  EXPECT_EQ(hex(md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex(md5("a")), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(hex(md5("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex(md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(hex(md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890")),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5, TheLengthMayFallAnywhereInABlock) {
  EXPECT_EQ(hex(md5(std::string(55, 'x'))), "04364420e25c512fd958a70738aa8f72");
  EXPECT_EQ(hex(md5(std::string(56, 'x'))), "668a72d5ba17f08e62dabcafad6db14b");
  EXPECT_EQ(hex(md5(std::string(64, 'x'))), "c1bb4f81d892b2d57947682aeb252456");
}

}  // namespace
}  // namespace lens::base
