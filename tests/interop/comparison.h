// SPDX-License-Identifier: Apache-2.0
// What a receiver found, against what went in.
#pragma once

#include <vector>

#include "tests/interop/sample.h"

namespace lens::tests {

/// Fails the test unless a receiver found the sample, field by field, and each span once.
void expect_received(const Sample& sample, const std::vector<RecordedRequest>& requests);

}  // namespace lens::tests
