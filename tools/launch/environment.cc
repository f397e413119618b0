// SPDX-License-Identifier: Apache-2.0
#include "tools/launch/environment.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <random>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "lens/config.h"
#include "lens/group.h"
#include "lens/megatron.h"
#include "src/base/text.h"

namespace lens::launch {
namespace {

// Programs of the Megatron family ask this prefix first.
constexpr std::string_view prefixes[] = {"MEGATRON_OTEL_", "NEMO_LENS_"};

// Blank counts as unset, as it does for the library.
std::optional<std::string> telemetry_variable(const Environment& environment, std::string_view key) {
  for (std::string_view prefix : prefixes) {
    auto found = environment.find(std::string(prefix).append(key));
    if (found != environment.end() && found->second.find_first_not_of(" \t") != std::string::npos) return found->second;
  }
  return std::nullopt;
}

void set_default(Environment& environment, std::string_view key, const std::string& value) {
  if (!telemetry_variable(environment, key)) environment["NEMO_LENS_" + std::string(key)] = value;
}

// Whichever prefix the program asks first, it finds this value.
void force(Environment& environment, std::string_view key, const std::string& value) {
  environment.erase("MEGATRON_OTEL_" + std::string(key));
  environment["NEMO_LENS_" + std::string(key)] = value;
}

// Readable, sorted by time, and distinct from a run that starts in the same second.
std::string make_run_id() {
  return fmt::format("{:%Y%m%d-%H%M%S}-{:04x}", fmt::gmtime(std::time(nullptr)), std::random_device{}() & 0xffff);
}

// The port is free now; another process may take it before rank 0 does, which then fails and says so.
std::uint16_t free_port() {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  bool is_bound = socket >= 0 && bind(socket, generic, size) == 0 && getsockname(socket, generic, &size) == 0;
  int error = errno;
  if (socket >= 0) close(socket);
  if (!is_bound) throw std::system_error(error, std::generic_category(), "no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace

std::filesystem::path shm_dir(const Environment& environment) {
  for (std::string_view prefix : prefixes) {
    auto found = environment.find(std::string(prefix) + "SHM_DIR");
    if (found != environment.end()) return found->second;  // set to nothing: no rings to look into
  }
  return Config::default_shm_dir();
}

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    auto equals = text.find('=');
    if (equals != std::string_view::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

RunPlan make_plan(const RunRequest& request, const Environment& environment) {
  RunPlan plan;
  plan.request = request;
  plan.run_id = telemetry_variable(environment, "RUN_ID").value_or(make_run_id());
  std::filesystem::path fallback = telemetry_variable(environment, "FILE_DIR").value_or("lens/" + plan.run_id);
  plan.directory = std::filesystem::absolute(request.directory.value_or(fallback));
  plan.span_groups = request.span_groups.value_or(telemetry_variable(environment, "SPAN_GROUPS").value_or(""));
  plan.exporter = telemetry_variable(environment, "EXPORTER").value_or("file");
  plan.shm_dir = shm_dir(environment);
  plan.master_port = free_port();
  return plan;
}

Environment rank_environment(const Environment& base, const RunPlan& plan, int rank) {
  Environment environment = base;
  environment["RANK"] = environment["LOCAL_RANK"] = std::to_string(rank);
  environment["WORLD_SIZE"] = environment["LOCAL_WORLD_SIZE"] = std::to_string(plan.request.world_size);
  environment["MASTER_ADDR"] = "127.0.0.1";
  environment["MASTER_PORT"] = std::to_string(plan.master_port);

  set_default(environment, "ENABLED", "1");
  set_default(environment, "EXPORT_STRATEGY", "all_ranks");
  set_default(environment, "EXPORTER", "file");
  set_default(environment, "RUN_ID", plan.run_id);
  force(environment, "FILE_DIR", plan.directory.string());
  if (plan.request.span_groups) force(environment, "SPAN_GROUPS", *plan.request.span_groups);
  return environment;
}

std::vector<std::string> unknown_groups(const std::string& spec) {
  std::set<std::string> known{"all"};
  for (const Vocabulary* vocabulary : {&SpanGroup::vocabulary(), &MegatronSpanGroup::vocabulary()}) {
    known.insert(vocabulary->groups().begin(), vocabulary->groups().end());
    for (const auto& [name, groups] : vocabulary->presets()) known.insert(name);
  }
  std::vector<std::string> unknown;
  for (std::string_view word : base::split(spec, ',')) {
    std::string name = base::lower(base::trim(word));
    if (!name.empty() && !known.contains(name)) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace lens::launch
