// SPDX-License-Identifier: Apache-2.0
#include "src/setup/resource.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "lens/version.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_directory.h"

namespace lens::setup {
namespace {

using test::Environment;

constexpr std::int64_t operator""_i(unsigned long long value) { return static_cast<std::int64_t>(value); }

std::map<std::string, AttributeValue> resource(const Config& config = Config::from_env(),
                                               const ResourceAttributes& caller = {}) {
  const Identity identity{{.rank = 3, .world_size = 8, .local_rank = 1}, "run7", "run7-rank3"};
  const ResourceAttributes made = make_resource(config, identity, caller);
  std::map<std::string, AttributeValue> found{made.begin(), made.end()};
  EXPECT_EQ(found.size(), made.size()) << "a key stands twice";
  return found;
}

/// The text of an attribute; empty when there is none.
std::string text(const std::map<std::string, AttributeValue>& attributes, const std::string& key) {
  const auto found = attributes.find(key);
  return found == attributes.end() ? "" : std::get<std::string>(found->second);
}

// Contract: 3.resource, 3.instance
TEST(Resource, SaysRankRunProcessAndLibrary) {
  Environment environment;
  const auto found = resource();
  EXPECT_EQ(found.at("dl.rank"), AttributeValue{3_i});
  EXPECT_EQ(found.at("dl.world_size"), AttributeValue{8_i});
  EXPECT_EQ(found.at("dl.local_rank"), AttributeValue{1_i});
  EXPECT_EQ(text(found, "nemo.run.id"), "run7");
  EXPECT_EQ(text(found, "service.instance.id"), "run7-rank3");
  EXPECT_EQ(found.at("process.pid"), AttributeValue{std::int64_t{getpid()}});
  EXPECT_NE(text(found, "host.name"), "");
  EXPECT_NE(text(found, "host.arch"), "");
  EXPECT_EQ(text(found, "process.executable.name"), "setup_test");
  std::string machine_id;
  std::ifstream("/etc/machine-id") >> machine_id;
  EXPECT_EQ(text(found, "host.id"), machine_id);
  EXPECT_EQ(text(found, "service.name"), "nemo");
  EXPECT_EQ(text(found, "service.version"), version);
  EXPECT_EQ(text(found, "telemetry.sdk.name"), "lens");
  EXPECT_EQ(text(found, "telemetry.sdk.language"), "cpp");
  EXPECT_EQ(text(found, "telemetry.sdk.version"), version);
}

TEST(Resource, LeavesOutWhatIsNotKnown) {
  Environment environment;
  const auto found = resource();
  for (const char* key : {"nemo.user.id", "wandb.entity", "wandb.project", "deployment.environment", "slurm.job.id",
                          "slurm.nnodes", "k8s.pod.name"})
    EXPECT_EQ(found.count(key), 0u) << key;
}

// Contract: 3.user
TEST(Resource, SaysUserProjectAndEnvironment) {
  Environment environment{
      {"NEMO_LENS_USER_ID", "ada"}, {"WANDB_ENTITY", "team"}, {"WANDB_PROJECT", "gpt"}, {"DEPLOYMENT_ENV", "staging"}};
  const auto found = resource();
  EXPECT_EQ(text(found, "nemo.user.id"), "ada");
  EXPECT_EQ(text(found, "wandb.entity"), "team");
  EXPECT_EQ(text(found, "wandb.project"), "gpt");
  EXPECT_EQ(text(found, "deployment.environment"), "staging");
}

// Contract: 3.user
TEST(Resource, TheBatchThatSchedulersCallTheEnvironmentIsNoDeployment) {
  Environment environment{{"ENVIRONMENT", "BATCH"}};
  EXPECT_EQ(resource().count("deployment.environment"), 0u);
  environment.set("DEPLOYMENT_ENV", "BATCH");
  EXPECT_EQ(text(resource(), "deployment.environment"), "BATCH");
  environment.unset("DEPLOYMENT_ENV");
  environment.set("ENVIRONMENT", "production");
  EXPECT_EQ(text(resource(), "deployment.environment"), "production");
}

// Contract: 3.slurm
TEST(Resource, SaysTheSlurmJob) {
  Environment environment{{"SLURM_JOB_ID", "42"},           {"SLURM_JOB_NAME", "pretrain"},
                          {"SLURM_JOB_NODELIST", "n[1-2]"}, {"SLURM_JOB_NUM_NODES", "2"},
                          {"SLURM_NTASKS", "16"},           {"SLURM_JOB_PARTITION", "gpu"},
                          {"SLURM_CLUSTER_NAME", "alps"}};
  const auto found = resource();
  EXPECT_EQ(text(found, "slurm.job.id"), "42");
  EXPECT_EQ(text(found, "slurm.job.name"), "pretrain");
  EXPECT_EQ(text(found, "slurm.nodelist"), "n[1-2]");
  EXPECT_EQ(found.at("slurm.nnodes"), AttributeValue{2_i});
  EXPECT_EQ(found.at("slurm.ntasks"), AttributeValue{16_i});
  EXPECT_EQ(text(found, "slurm.partition"), "gpu");
  EXPECT_EQ(text(found, "slurm.cluster.name"), "alps");
}

// Contract: 3.slurm
TEST(Resource, SaysTheArrayTaskAndTheRestart) {
  Environment environment{
      {"SLURM_JOB_ID", "42"}, {"SLURM_ARRAY_JOB_ID", "40"}, {"SLURM_ARRAY_TASK_ID", "2"}, {"SLURM_RESTART_COUNT", "1"}};
  const auto found = resource();
  EXPECT_EQ(text(found, "slurm.array.job.id"), "40");
  EXPECT_EQ(text(found, "slurm.array.task.id"), "2");
  EXPECT_EQ(found.at("slurm.restart_count"), AttributeValue{1_i});
}

TEST(Resource, AMalformedSchedulerNumberIsLeftOut) {
  Environment environment{{"SLURM_NTASKS", "some"}};
  EXPECT_EQ(resource().count("slurm.ntasks"), 0u);
}

// Contract: 3.k8s
TEST(Resource, SaysThePod) {
  Environment environment{{"POD_NAMESPACE", "train"}, {"POD_NAME", "gpt-0"},         {"POD_UID", "1-2"},
                          {"NODE_NAME", "node7"},     {"CONTAINER_NAME", "trainer"}, {"JOB_NAME", "gpt"}};
  const auto found = resource();
  EXPECT_EQ(text(found, "k8s.namespace.name"), "train");
  EXPECT_EQ(text(found, "k8s.pod.name"), "gpt-0");
  EXPECT_EQ(text(found, "k8s.pod.uid"), "1-2");
  EXPECT_EQ(text(found, "k8s.node.name"), "node7");
  EXPECT_EQ(text(found, "k8s.container.name"), "trainer");
  EXPECT_EQ(text(found, "k8s.job.name"), "gpt");
}

// Contract: 3.k8s
TEST(Resource, OutsideAPodAJobNameIsSomethingElse) {
  Environment environment{{"NODE_NAME", "builder"}, {"JOB_NAME", "nightly"}};
  EXPECT_EQ(resource().count("k8s.job.name"), 0u);
  environment.set("KUBERNETES_SERVICE_HOST", "10.0.0.1");
  EXPECT_EQ(text(resource(), "k8s.job.name"), "nightly");
}

// Contract: 3.k8s
TEST(Resource, TheNamespaceOfAPodStandsInItsServiceAccountToo) {
  const tests::TemporaryDirectory account;
  EXPECT_EQ(pod_namespace(account.path()), "");
  account.write("namespace", "train\n");
  EXPECT_EQ(pod_namespace(account.path()), "train");
  account.write("namespace", std::string(64, 'x'));
  EXPECT_EQ(pod_namespace(account.path()), "") << "no name of a namespace";
}

// Contract: 3.gpus
TEST(Resource, CountsTheDevicesThatCudaMayShow) {
  const std::initializer_list<std::pair<const char*, std::int64_t>> cases{
      {"0", 1},        {"0,1,2,3", 4}, {"GPU-8a,GPU-9b", 2}, {"", 0},         {"-1", 0},    {"NoDevFiles", 0},
      {"0,1,-1,2", 2}, {"none", 0},    {"all", 0},           {"0, 1,x,3", 2}, {"MIG-8a", 1}};
  for (const auto& [visible, count] : cases) {
    Environment environment{{"CUDA_VISIBLE_DEVICES", visible}};
    EXPECT_EQ(resource().at("host.gpu.count"), AttributeValue{count}) << visible;
  }
}

TEST(Resource, WithoutThatVariableTheDriverSaysHowManyDevicesThereAre) {
  if (std::filesystem::exists("/proc/driver/nvidia/gpus")) GTEST_SKIP() << "this machine has devices";
  Environment environment;
  EXPECT_EQ(resource().count("host.gpu.count"), 0u);
}

// Contract: 3.gpus
TEST(Resource, CountsTheDriversFilesWithoutThatVariable) {
  const tests::TemporaryDirectory driver;
  EXPECT_EQ(driver_gpu_count(driver.path()), 0);
  for (const char* device : {"0000:07:00.0", "0000:0a:00.0"}) std::filesystem::create_directory(driver.path() / device);
  EXPECT_EQ(driver_gpu_count(driver.path()), 2);
  EXPECT_EQ(driver_gpu_count(driver.path() / "none"), std::nullopt);
}

// Contract: 3.gpus
TEST(Resource, StartsNoProcess) {
  const tests::TemporaryDirectory directory;
  const std::filesystem::path trap = directory.path() / "nvidia-smi", sprung = directory.path() / "sprung";
  std::ofstream(trap) << "#!/bin/sh\n: > " << sprung.string() << "\n";
  std::filesystem::permissions(trap, std::filesystem::perms::owner_all);
  Environment environment{{"PATH", directory.path().c_str()}};
  EXPECT_NE(text(resource(), "host.name"), "");
  EXPECT_FALSE(std::filesystem::exists(sprung));
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "there is a child";
}

// Contract: 3.detection-time
TEST(Resource, OfManyAttributesIsMadeInTimeToo) {
  Environment environment;
  Config config;
  constexpr std::size_t count = 200'000;
  for (std::size_t i = 0; i < count; ++i)
    config.standard.resource_attributes.emplace_back("key" + std::to_string(i), "v");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_GT(resource(config).size(), count);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(10));
}

// Contract: 3.detection-time
TEST(Resource, IsDetectedWithin50Milliseconds) {
  Environment environment{{"SLURM_JOB_ID", "42"}, {"KUBERNETES_SERVICE_HOST", "10.0.0.1"}, {"POD_NAME", "gpt-0"}};
  auto shortest = std::chrono::steady_clock::duration::max();  // of several: the machine may be busy
  for (int i = 0; i < 5; ++i) {
    const auto began = std::chrono::steady_clock::now();
    resource();
    shortest = std::min(shortest, std::chrono::steady_clock::now() - began);
  }
  EXPECT_LT(shortest, std::chrono::milliseconds(50));
}

// Contract: 3.detection-time
TEST(Resource, NeverWaitsForWhatStandsInThePlaceOfAFile) {
  const tests::TemporaryDirectory directory;
  const std::filesystem::path pipe = directory.path() / "namespace";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(pod_namespace(directory.path()), "") << "nobody writes to it";
  EXPECT_EQ(host_id(pipe), "");
  EXPECT_EQ(host_id("/dev/zero"), "") << "it has no end";
  const int writer = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(host_id(pipe), "") << "somebody may write to it";
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(50));
  close(writer);
}

// Contract: 3.detection-time
TEST(Resource, ReadsLittleOfAFileThatIsLarge) {
  const tests::TemporaryDirectory directory;
  const std::filesystem::path file = directory.write("machine-id", "");
  std::filesystem::resize_file(file, 4ull << 30);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(host_id(file).size(), 4096u);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(50));
}

// Contract: 3.precedence
TEST(ResourcePrecedence, TheCallerGoesBeforeAll) {
  Environment environment{{"OTEL_RESOURCE_ATTRIBUTES", "host.name=standard,service.name=standard,team=standard"},
                          {"OTEL_SERVICE_NAME", "named"}};
  const auto found = resource(Config::from_env(), {{"host.name", "mine"},
                                                   {"service.name", "mine"},
                                                   {"team", "mine"},
                                                   {"dl.rank", 99},
                                                   {"telemetry.sdk.name", "mine"}});
  for (const char* key : {"host.name", "service.name", "team", "telemetry.sdk.name"})
    EXPECT_EQ(text(found, key), "mine");
  EXPECT_EQ(found.at("dl.rank"), AttributeValue{99_i});
}

// Contract: 3.precedence
TEST(ResourcePrecedence, TheStandardVariableGoesBeforeWhatIsDetectedAndTheDefaults) {
  Environment environment{{"OTEL_RESOURCE_ATTRIBUTES", "host.name=standard,service.name=standard,slurm.job.id=7"},
                          {"SLURM_JOB_ID", "42"}};
  const auto found = resource();
  EXPECT_EQ(text(found, "host.name"), "standard");
  EXPECT_EQ(text(found, "service.name"), "standard");
  EXPECT_EQ(text(found, "slurm.job.id"), "7");
}

// Contract: 3.precedence
TEST(ResourcePrecedence, TheServiceNameVariableGoesBeforeTheResourceAttributes) {
  Environment environment{{"OTEL_RESOURCE_ATTRIBUTES", "service.name=standard"}, {"OTEL_SERVICE_NAME", "named"}};
  EXPECT_EQ(text(resource(), "service.name"), "named");
}

TEST(ResourcePrecedence, OfTwoValuesOfOneSourceTheLaterWins) {
  Environment environment{{"OTEL_RESOURCE_ATTRIBUTES", "team=first,team=second"}};
  const auto found = resource(Config::from_env(), {{"size", 1}, {"size", 2}});
  EXPECT_EQ(text(found, "team"), "second");
  EXPECT_EQ(found.at("size"), AttributeValue{2_i});
}

TEST(ResourceAttributes, LiteralsAndNumbersFindTheirType) {
  const float single = 0.5F;
  const ResourceAttributes attributes{
      {"dl.batch_size", 16}, {"megatron.precision", "fp32"}, {"flag", true}, {"rate", single}, {"ratio", 0.1}};
  EXPECT_EQ(attributes[0].second, AttributeValue{16_i});
  EXPECT_EQ(attributes[1].second, AttributeValue{std::string{"fp32"}});
  EXPECT_EQ(attributes[2].second, AttributeValue{true});
  EXPECT_EQ(attributes[3].second, AttributeValue{0.5});
  EXPECT_EQ(attributes[4].second, AttributeValue{0.1});
}

}  // namespace
}  // namespace lens::setup
