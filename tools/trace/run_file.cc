// SPDX-License-Identifier: Apache-2.0
#include "tools/trace/run_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include "tools/trace/json_text.h"

namespace lens::trace {
namespace {

using nlohmann::json;

json parse_file(const std::filesystem::path& file) try {
  std::ifstream stream(file);
  return json::parse(stream);
} catch (const json::exception&) {
  throw std::invalid_argument("not a JSON document");
}

json rank_to_json(const RankExit& rank) {
  json object{{"rank", rank.rank}};
  if (rank.signal != 0) {
    object["signal"] = rank.signal;
  } else {
    object["exit_code"] = rank.exit_code;
  }
  return object;
}

}  // namespace

std::string process_of(const std::filesystem::path& file) {
  constexpr std::string_view recovered = "-recovered";
  std::string name = file.filename().string();
  name.resize(std::min(name.find('.'), name.size()));
  name.erase(0, name.find('-') + 1);
  if (name.ends_with(recovered)) name.resize(name.size() - recovered.size());
  return name;
}

std::string describe(const RankExit& exit) {
  if (exit.signal == 0) return "exited with code " + std::to_string(exit.exit_code);
  const char* name = sigabbrev_np(exit.signal);
  return name != nullptr ? std::string("was killed by SIG") + name
                         : "was killed by signal " + std::to_string(exit.signal);
}

void write_run_file(const std::filesystem::path& directory, const RunFile& run) {
  json object{{"run_id", run.run_id},         {"command", run.command},   {"span_groups", run.span_groups},
              {"world_size", run.world_size}, {"start_ns", run.start_ns}, {"end_ns", run.end_ns},
              {"ranks", json::array()}};
  for (const RankExit& rank : run.ranks) object["ranks"].push_back(rank_to_json(rank));
  if (run.failed_rank) object["failed_rank"] = *run.failed_rank;

  auto file = directory / "run.json", unfinished = directory / ".run.json";
  std::ofstream stream(unfinished);
  stream << json_text(object);
  stream.close();
  if (!stream) {
    const int error = errno;
    std::filesystem::remove(unfinished);
    throw std::system_error(error, std::generic_category(), file.string());
  }
  std::filesystem::rename(unfinished, file);
}

std::optional<RunFile> read_run_file(const std::filesystem::path& directory) try {
  auto file = directory / "run.json";
  if (!std::filesystem::exists(file)) return std::nullopt;
  json object = parse_file(file);
  RunFile run;
  run.run_id = object.value("run_id", "");
  run.command = object.value("command", std::vector<std::string>{});
  run.span_groups = object.value("span_groups", "");
  run.world_size = object.value("world_size", 0);
  run.start_ns = object.value("start_ns", std::uint64_t{0});
  run.end_ns = object.value("end_ns", std::uint64_t{0});
  for (const json& rank : object.value("ranks", json::array())) {
    run.ranks.push_back({rank.value("rank", 0), rank.value("exit_code", 0), rank.value("signal", 0)});
  }
  if (object.contains("failed_rank")) run.failed_rank = object["failed_rank"].get<int>();
  return run;
} catch (const json::exception&) {
  throw std::invalid_argument("not what `lens run` writes");
}

Status read_status_file(const std::filesystem::path& file) try {
  json object = parse_file(file);
  auto count = [&](const char* name) { return object.value(name, std::uint64_t{0}); };
  Status status{count("spans_recorded"), count("spans_exported"), count("spans_dropped"), count("spans_truncated"),
                count("spans_sampled_out")};
  if (object.contains("groups_with_spans"))
    status.groups = Status::Groups{object["groups_with_spans"].get<std::vector<std::string>>(),
                                   object.value("groups_without_spans", std::vector<std::string>{})};
  status.process = process_of(file);
  return status;
} catch (const json::exception&) {
  throw std::invalid_argument("not a status file");
}

}  // namespace lens::trace
