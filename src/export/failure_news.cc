// SPDX-License-Identifier: Apache-2.0
#include "src/export/failure_news.h"

namespace lens::exporting {
namespace {

// A collector that fails now and then says the same this often at most.
constexpr std::chrono::minutes quiet{1};
constexpr std::size_t most_causes = 64;

}  // namespace

bool FailureNews::fails(const void* exporter, const std::string& cause, Clock::time_point now) {
  if (said_.size() > most_causes) said_.clear();
  const auto [known, is_new] = said_.try_emplace(cause, Said{now, {}, {}});
  auto& [at, exporters, told] = known->second;
  const bool lasts = !exporters.empty();
  if (!is_new && !lasts && now - at < quiet) return false;
  const bool begins = exporters.insert(exporter).second;
  if (const auto before = told.find(exporter); begins && before != told.end() && now - before->second >= quiet)
    told.erase(before);
  if (lasts) return false;
  at = told[exporter] = now;
  return true;
}

bool FailureNews::loses(const void* exporter, const std::string& cause, Clock::time_point now) {
  const auto known = said_.find(cause);
  return known != said_.end() && known->second.told.try_emplace(exporter, now).second;
}

void FailureNews::succeeds(const void* exporter) {
  for (auto& [cause, said] : said_) said.exporters.erase(exporter);
}

}  // namespace lens::exporting
