// SPDX-License-Identifier: Apache-2.0
// All of Lens but the adapters (lens/c10d.h, lens/mpi.h, lens/spdlog.h) and the Megatron vocabulary (lens/megatron.h).
#pragma once

#include "lens/config.h"
#include "lens/group.h"
#include "lens/log.h"
#include "lens/propagation.h"
#include "lens/rank.h"
#include "lens/resource.h"
#include "lens/span.h"
#include "lens/span_handle.h"
#include "lens/strategy.h"
#include "lens/telemetry.h"
#include "lens/version.h"
#include "lens/w3c.h"
