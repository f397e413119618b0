// SPDX-License-Identifier: Apache-2.0
// A library that a program loads and unloads: hidden symbols, groups and names of its own. Built several times, with
// names of one length, so that the next one's literals come to lie where the last one's lay.
#include "lens/span.h"

namespace {

using namespace lens::literals;

lens::Group own{PLUGIN_GROUP};
lens::Group shared{"plugins"};

}  // namespace

extern "C" [[gnu::visibility("default")]] void plugin_record() {
  auto outer = lens::managed_span(own, PLUGIN_NAME " outer", PLUGIN_NAME "_size"_a = PLUGIN_NAME);
  auto inner = lens::managed_span(shared, PLUGIN_NAME " inner");
}
