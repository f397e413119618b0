// SPDX-License-Identifier: Apache-2.0
#include "src/setup/resource.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_set>

#include "lens/version.h"
#include "src/base/file.h"
#include "src/base/text.h"
#include "src/setup/environment.h"

namespace lens::setup {
namespace {

/// Collects attributes from the strongest source to the weakest: a key that is there stays.
class Collector {
 public:
  void add(std::string_view key, const AttributeValue& value) {
    if (keys_.emplace(key).second) attributes_.emplace_back(key, value);
  }

  void add_text(std::string_view key, const std::string& value) {
    if (!value.empty()) add(key, value);
  }

  void add_variable(std::string_view key, std::string_view variable) {
    if (auto value = read_variable(variable)) add(key, *std::move(value));
  }

  void add_number(std::string_view key, std::string_view variable) {
    const auto value = read_variable(variable);
    if (!value) return;
    try {
      add(key, integer({std::string{variable}, *value}, 0));
    } catch (const std::invalid_argument&) {  // a scheduler's variable that makes no sense says nothing
    }
  }

  ResourceAttributes take() && { return std::move(attributes_); }

 private:
  ResourceAttributes attributes_;
  std::unordered_set<std::string> keys_;
};

std::string first_line(const std::filesystem::path& file) {
  constexpr std::size_t most_bytes = 4096;
  const std::string content = base::read_file(file, most_bytes).value_or("");
  return std::string{base::trim(std::string_view{content}.substr(0, content.find('\n')))};
}

/// A device as CUDA is told of it: by its number, or by a name of the driver's.
bool is_device(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.starts_with("GPU-") || text.starts_with("MIG-") || (!text.empty() && std::ranges::all_of(text, is_digit));
}

/// Devices that CUDA would show, else those that the driver lists; nothing when neither says.
std::optional<int> gpu_count() {
  if (const auto visible = read_variable("CUDA_VISIBLE_DEVICES")) {
    int count = 0;
    for (std::string_view device : base::split(*visible, ',')) {
      if (!is_device(base::trim(device))) break;  // as CUDA does, nothing behind it
      ++count;
    }
    return count;
  }
  return driver_gpu_count();
}

/// As OpenTelemetry's conventions call it.
std::string architecture(const std::string& machine) {
  static const std::map<std::string, std::string, std::less<>> names = {
      {"x86_64", "amd64"}, {"aarch64", "arm64"}, {"i686", "x86"}, {"armv7l", "arm32"}, {"ppc64le", "ppc64"}};
  const auto known = names.find(machine);
  return known == names.end() ? machine : known->second;
}

void add_host(Collector& resource) {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) == 0) resource.add_text("host.name", name);
  resource.add_text("host.id", host_id());
  utsname machine{};
  if (uname(&machine) == 0) resource.add("host.arch", architecture(machine.machine));
  resource.add("process.pid", getpid());
  std::error_code error;
  resource.add_text("process.executable.name", std::filesystem::read_symlink("/proc/self/exe", error).filename());
  if (const auto count = gpu_count()) resource.add("host.gpu.count", *count);
}

void add_scheduler(Collector& resource) {
  resource.add_variable("slurm.job.id", "SLURM_JOB_ID");
  resource.add_variable("slurm.job.name", "SLURM_JOB_NAME");
  resource.add_variable("slurm.array.job.id", "SLURM_ARRAY_JOB_ID");
  resource.add_variable("slurm.array.task.id", "SLURM_ARRAY_TASK_ID");
  resource.add_number("slurm.restart_count", "SLURM_RESTART_COUNT");
  resource.add_variable("slurm.nodelist", "SLURM_JOB_NODELIST");
  resource.add_number("slurm.nnodes", "SLURM_JOB_NUM_NODES");
  resource.add_number("slurm.ntasks", "SLURM_NTASKS");
  resource.add_variable("slurm.partition", "SLURM_JOB_PARTITION");
  resource.add_variable("slurm.cluster.name", "SLURM_CLUSTER_NAME");

  // NODE_NAME and JOB_NAME mean other things elsewhere, on build servers for one.
  if (!read_variable("KUBERNETES_SERVICE_HOST") && !read_variable("K8S_POD_NAME")) return;
  resource.add_variable("k8s.namespace.name", "K8S_NAMESPACE_NAME");
  resource.add_text("k8s.namespace.name", pod_namespace());
  resource.add_variable("k8s.pod.name", "K8S_POD_NAME");
  resource.add_variable("k8s.pod.uid", "K8S_POD_UID");
  resource.add_variable("k8s.node.name", "K8S_NODE_NAME");
  resource.add_variable("k8s.container.name", "K8S_CONTAINER_NAME");
  resource.add_variable("k8s.job.name", "K8S_JOB_NAME");
}

}  // namespace

std::optional<int> driver_gpu_count(const std::filesystem::path& directory) {
  std::error_code error;
  const std::filesystem::directory_iterator devices{directory, error};
  if (error) return std::nullopt;
  return static_cast<int>(std::distance(begin(devices), end(devices)));
}

std::string host_id(const std::filesystem::path& file) { return first_line(file); }

std::string pod_namespace(const std::filesystem::path& service_account) {
  constexpr std::size_t longest_label = 63;
  std::string name = first_line(service_account / "namespace");
  return name.size() <= longest_label ? name : std::string();
}

ResourceAttributes make_resource(const Config& config, const Identity& identity, const ResourceAttributes& caller) {
  Collector resource;
  std::for_each(caller.rbegin(), caller.rend(), [&](const auto& a) { resource.add(a.first, a.second); });
  resource.add_text("service.name", config.service_name);
  const ResourceAttributes& standard = config.standard.resource_attributes;
  std::for_each(standard.rbegin(), standard.rend(), [&](const auto& a) { resource.add(a.first, a.second); });

  resource.add("dl.rank", identity.rank.rank);
  resource.add("dl.world_size", identity.rank.world_size);
  resource.add("dl.local_rank", identity.rank.local_rank);
  resource.add("nemo.run.id", identity.run_id);
  resource.add("service.instance.id", identity.instance_id);
  resource.add_text("nemo.user.id", config.user_id);
  resource.add_text("wandb.entity", config.wandb_entity);
  resource.add_text("wandb.project", config.wandb_project);
  resource.add_text("deployment.environment", config.deployment_environment);
  add_host(resource);
  add_scheduler(resource);

  resource.add("service.name", "nemo");
  resource.add("service.version", version);
  resource.add("telemetry.sdk.name", "lens");
  resource.add("telemetry.sdk.language", "cpp");
  resource.add("telemetry.sdk.version", version);
  return std::move(resource).take();
}

}  // namespace lens::setup
