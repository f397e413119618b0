// SPDX-License-Identifier: Apache-2.0
// Text from the trained model.
#pragma once

#include "examples/gpt/arguments.h"
#include "examples/gpt/model.h"
#include "examples/gpt/p2p.h"
#include "examples/gpt/parallel.h"

#include <string>

namespace gpt {

// Continues the prompt greedily by --generate-tokens bytes; every stage gets the whole text, the prompt included.
// Collective over the stages of one pipeline.
std::string generate(const Arguments& arguments, const Layout& layout, Stage& stage, PipelineLink& link,
                     const Group& pipeline);

}  // namespace gpt
