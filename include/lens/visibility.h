// SPDX-License-Identifier: Apache-2.0
// Marks what liblens exports; every other symbol of the library is hidden.
#pragma once

#define LENS_API __attribute__((visibility("default")))
