// SPDX-License-Identifier: Apache-2.0
// `lens doctor` in environments that are right and wrong, and on traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "lens/telemetry.h"
#include "src/setup/plan.h"
#include "tests/cli/examination.h"
#include "tests/cli/standing_ranks.h"
#include "tests/cli/trace_to_send.h"
#include "tests/support/refused_calls.h"

namespace lens::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST_F(DoctorCommand, finds_nothing_where_nothing_is_wrong) {
  const json examination = examine();
  EXPECT_EQ(exit_code, 0) << problems(examination);
  EXPECT_EQ(examination["process"]["exports"], true);
  EXPECT_THAT(text(), HasSubstr("No problem was found."));
}

TEST_F(DoctorCommand, says_where_each_value_comes_from) {
  environment.set("MEGATRON_OTEL_SPAN_GROUPS", "per_step");
  environment.set("MEGATRON_OTEL_RANK_STRATEGY", "all_ranks");
  environment.set("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
  environment.set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc");
  const json examination = examine({"--offline", "--prefix", "MEGATRON_OTEL"});
  EXPECT_EQ(exit_code, 0) << problems(examination);
  EXPECT_EQ(setting(examination, "SPAN_GROUPS")["value"], "per_step");
  EXPECT_EQ(setting(examination, "SPAN_GROUPS")["variable"], "MEGATRON_OTEL_SPAN_GROUPS");
  EXPECT_EQ(setting(examination, "ENABLED")["variable"], "NEMO_LENS_ENABLED");
  EXPECT_EQ(setting(examination, "EXPORT_STRATEGY")["variable"], "MEGATRON_OTEL_RANK_STRATEGY");
  EXPECT_EQ(setting(examination, "EXPORT_RANK")["value"], "-1");
  EXPECT_EQ(setting(examination, "EXPORT_RANK")["variable"], nullptr);
  EXPECT_EQ(setting(examination, "OTEL_EXPORTER_OTLP_PROTOCOL")["variable"], "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL");
  EXPECT_THAT(examination["process"]["groups"], Contains("communication"));
  EXPECT_THAT(text({"--offline", "--prefix", "MEGATRON_OTEL"}), HasSubstr("MEGATRON_OTEL_SPAN_GROUPS\n"));
}

TEST_F(DoctorCommand, names_the_variable_that_a_mistyped_one_is_like) {
  environment.set("NEMO_LENS_SPAN_GRUPS", "all");
  EXPECT_THAT(problems(examine()), HasSubstr("did you mean NEMO_LENS_SPAN_GROUPS?"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, says_that_a_program_of_another_prefix_is_meant) {
  environment.set("MEGATRON_OTEL_SPAN_GROUPS", "all");
  EXPECT_THAT(problems(examine()), HasSubstr("--prefix MEGATRON_OTEL"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, says_that_no_spans_are_recorded_and_why) {
  const std::pair<const char*, const char*> reasons[] = {
      {"NEMO_LENS_TRACES_ENABLED", "0"}, {"OTEL_TRACES_EXPORTER", "none"}, {"OTEL_TRACES_SAMPLER", "always_off"}};
  for (const auto& [name, value] : reasons) {
    environment.set(name, value);
    const json examination = examine();
    EXPECT_EQ(exit_code, 1) << name;
    EXPECT_THAT(problems(examination), HasSubstr("no spans are recorded: ")) << name;
    EXPECT_EQ(examination["process"]["groups"], json::array()) << name;
    environment.unset(name);
  }
  environment.set("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
  EXPECT_THAT(problems(examine()), HasSubstr("TRACEPARENT names is not sampled"));
}

// Contract: 5.launcher-malformed
TEST_F(DoctorCommand, says_what_is_wrong_with_a_launchers_context) {
  environment.set("TRACEPARENT", "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_THAT(problems(examine()), HasSubstr("TRACEPARENT is passed over: it is not version-trace id-"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, gives_ranks_that_a_script_starts_the_run_id_of_the_scripts_launcher) {
  environment.unset("NEMO_LENS_RUN_ID");
  environment.set("LOCAL_WORLD_SIZE", "2");
  environment.set("WORLD_SIZE", "2");
  std::set<std::string> ids;
  for (const char* rank : {"0", "1"}) {
    environment.set("RANK", rank);
    const auto file = directory.path() / rank;
    const std::string script =
        std::string(LENS_PROGRAM) + " doctor --offline --json > " + file.string() + " 2>&1; exit 0";
    ASSERT_EQ(std::system(script.c_str()), 0);
    ids.insert(json::parse(directory.read(rank))["process"]["run_id"]);
  }
  EXPECT_EQ(ids.size(), 1u);
}

TEST_F(DoctorCommand, names_no_run_where_each_process_is_one_of_its_own) {
  environment.unset("NEMO_LENS_RUN_ID");
  environment.set("NEMO_LENS_EXPORTER", "file");
  EXPECT_TRUE(examine()["process"]["run_id"].is_null());
  EXPECT_EQ(examine()["process"]["file_dir"], "lens/<run id>");
  EXPECT_THAT(text(), AllOf(HasSubstr("run       of each process its own"), HasSubstr("NEMO_LENS_RUN_ID")));
  environment.set("SLURM_JOB_ID", "42");
  EXPECT_EQ(examine()["process"]["run_id"], "42");
  EXPECT_EQ(examine()["process"]["file_dir"], "lens/42");
}

// Contract: 3.run-id-rendezvous
TEST_F(DoctorCommand, gives_ranks_in_containers_of_their_own_the_run_id_of_their_rendezvous) {
  environment.unset("NEMO_LENS_RUN_ID");
  const std::string in_container = "unshare --pid --fork --mount-proc ";
  if (std::system((in_container + "true 2> /dev/null").c_str()) != 0)
    GTEST_SKIP() << "a container needs the right to make process namespaces";
  const auto run_id = [&] {
    const std::string doctor = in_container + LENS_PROGRAM + " doctor --offline --json > ";
    EXPECT_EQ(std::system((doctor + (directory.path() / "found").string() + " 2>&1; exit 0").c_str()), 0);
    return json::parse(directory.read("found"))["process"]["run_id"].get<std::string>();
  };
  environment.set("RANK", "1");
  environment.set("WORLD_SIZE", "2");
  environment.set("MASTER_ADDR", "127.0.0.1");
  environment.set("MASTER_PORT", "29500");
  EXPECT_EQ(run_id(), run_id());
}

// Contract: 2.to-env
TEST_F(DoctorCommand, is_in_the_run_of_the_process_that_spawns_it_with_its_variables) {
  environment.unset("NEMO_LENS_RUN_ID");
  environment.set("NEMO_LENS_EXPORTER", "none");
  const Config config = Config::from_env();
  const auto spawn = [&] {
    for (const auto& [name, value] : config.to_env()) environment.set(name.c_str(), value.c_str());
    return examine()["process"]["run_id"];
  };
  EXPECT_EQ(spawn(), setup::make_plan(config, Rank::from_env()).run_id);

  environment.unset("NEMO_LENS_RUN_ID");
  environment.set("MASTER_ADDR", "node-a");
  const Rank known_to_the_program{.rank = 3, .world_size = 4};
  auto telemetry = setup_telemetry(config, known_to_the_program);
  EXPECT_EQ(spawn(), setup::make_plan(config, known_to_the_program).run_id);
}

// Contract: 2.batch-script
TEST_F(DoctorCommand, sees_no_launcher_in_a_batch_script) {
  for (const auto& [name, value] : {std::pair{"SLURM_JOB_ID", "42"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}})
    environment.set(name, value);
  const json process = examine()["process"];
  EXPECT_EQ(process["world_size"], 1);
  EXPECT_EQ(process["exports"], true) << "by the default strategy, the last rank of the world does";
  EXPECT_EQ(process["rank_source"], "no launcher started it");
}

TEST_F(DoctorCommand, says_what_set_up_would_throw) {
  environment.set("NEMO_LENS_SPAN_GROUPS", "step,nothing");
  EXPECT_THAT(problems(examine()), AllOf(HasSubstr("set-up would throw"), HasSubstr("nothing"), HasSubstr("per_step")));
  environment.set("NEMO_LENS_SPAN_GROUPS", "step");
  environment.set("NEMO_LENS_EXPORT_RANK", "last");
  const json examination = examine();
  EXPECT_THAT(problems(examination), HasSubstr("NEMO_LENS_EXPORT_RANK"));
  EXPECT_EQ(examination["problems"].size(), 1u);
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, passes_a_malformed_standard_variable_over_as_the_library_does) {
  environment.set("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "soon");
  environment.set("OTEL_EXPORTER_OTLP_TIMEOUT", "3000");
  const json examination = examine();
  EXPECT_EQ(setting(examination, "OTEL_EXPORTER_OTLP_TIMEOUT")["value"], "3000");
  EXPECT_THAT(problems(examination), HasSubstr("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"));
}

TEST_F(DoctorCommand, explains_whether_this_rank_exports) {
  environment.set("SLURM_PROCID", "2");
  environment.set("SLURM_NTASKS", "8");
  const json of_rank_2 = examine()["process"];
  EXPECT_EQ(of_rank_2["exports"], false);
  EXPECT_EQ(of_rank_2["why"], "strategy single_rank does not choose rank 2 of 8");
  EXPECT_EQ(of_rank_2["rank_source"], "from SLURM_PROCID and SLURM_NTASKS");
  EXPECT_EQ(exit_code, 0);
  environment.set("NEMO_LENS_EXPORT_RANK", "9");
  EXPECT_THAT(problems(examine()), HasSubstr("nothing will be exported"));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, says_that_telemetry_is_off_and_what_it_would_do) {
  environment.unset("NEMO_LENS_ENABLED");
  const json examination = examine();
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(problems(examination), HasSubstr("set NEMO_LENS_ENABLED=1"));
  EXPECT_EQ(examination["process"]["exports"], true);
  EXPECT_THAT(text(), HasSubstr("no: telemetry is off; else, strategy single_rank chooses rank 0 of 1"));
}

TEST_F(DoctorCommand, finds_a_directory_that_cannot_be_written) {
  directory.write("file", "");
  environment.set("NEMO_LENS_EXPORTER", "file");
  environment.set("NEMO_LENS_FILE_DIR", (directory.path() / "file/traces").c_str());
  const json examination = examine({});
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(problems(examination), AllOf(HasSubstr("cannot be written"), HasSubstr("NEMO_LENS_FILE_DIR")));
  EXPECT_FALSE(examination.contains("probes"));
}

// Where nothing can be made, not even by root.
TEST_F(DoctorCommand, finds_places_where_no_directory_can_be_made) {
  environment.set("NEMO_LENS_SHM_DIR", "/proc/rings");
  environment.set("NEMO_LENS_SPOOL_DIR", "/proc/spool");
  EXPECT_THAT(problems(examine()),
              AllOf(HasSubstr("the spool /proc/spool cannot be written"), HasSubstr("NEMO_LENS_SPOOL_DIR"),
                    HasSubstr("rings find no place in shared memory: /proc: "), HasSubstr("NEMO_LENS_SHM_DIR")));
  environment.set("NEMO_LENS_EXPORTER", "file");
  environment.set("NEMO_LENS_FILE_DIR", "/proc/traces");
  const json examination = examine();
  EXPECT_THAT(problems(examination), AllOf(HasSubstr("/proc/traces cannot be written"), Not(HasSubstr("spool"))));
  EXPECT_EQ(exit_code, 1);
}

TEST_F(DoctorCommand, finds_a_place_for_rings_that_others_can_write_to_and_one_below_nothing) {
  const auto open_to_all = directory.path() / "rings";
  std::filesystem::create_directory(open_to_all);
  std::filesystem::permissions(open_to_all, std::filesystem::perms::all);
  environment.set("NEMO_LENS_SHM_DIR", open_to_all.c_str());
  EXPECT_THAT(problems(examine()), HasSubstr("others may write to it"));
  environment.set("NEMO_LENS_SHM_DIR", (directory.path() / "no/rings").c_str());
  EXPECT_THAT(problems(examine()), HasSubstr("there is no directory"));
  environment.set("NEMO_LENS_SHM_DIR", "");
  const json examination = examine();
  EXPECT_EQ(exit_code, 0) << problems(examination);
  EXPECT_EQ(examination["process"]["shm_dir"], nullptr);
}

TEST_F(DoctorCommand, finds_a_spool_that_holds_too_little_and_one_that_nobody_has_named) {
  environment.set("NEMO_LENS_SPOOL_SIZE", "1000");
  EXPECT_THAT(problems(examine()), AllOf(HasSubstr("may hold 1000 bytes"), HasSubstr("NEMO_LENS_SPOOL_SIZE")));
  environment.set("NEMO_LENS_SPOOL_SIZE", "1000000TiB");
  EXPECT_THAT(problems(examine()), HasSubstr("its file system has room for"));
  environment.set("NEMO_LENS_SPOOL_SIZE", "0");
  EXPECT_THAT(text(), HasSubstr("spool     none"));
  EXPECT_EQ(exit_code, 0);
  environment.unset("NEMO_LENS_SPOOL_SIZE");
  environment.unset("HOME");
  environment.unset("XDG_STATE_HOME");
  EXPECT_THAT(problems(examine()), HasSubstr("there is no spool, as HOME is not set"));
}

// As Lustre's mounts without locks answer it, the kernel does here.
TEST_F(DoctorCommand, finds_a_spool_without_locks) {
  if (!can_refuse_calls()) GTEST_SKIP() << "this kernel filters no system calls";
  environment.set("NEMO_LENS_SPOOL_DIR", (directory.path() / "spool").c_str());
  EXPECT_THAT(problems(examine()), Not(HasSubstr("no locks")));
  const json examination = examine({"--offline"}, refuse_locks);
  EXPECT_EQ(exit_code, 1);
  EXPECT_THAT(problems(examination), AllOf(HasSubstr("has no locks (Function not implemented)"),
                                           HasSubstr("set NEMO_LENS_SPOOL_DIR to another file system")));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "spool"));
}

TEST_F(DoctorCommand, leaves_nothing_where_it_has_looked) {
  const TemporaryDirectory places;
  const std::pair<const char*, const char*> variables[] = {{"NEMO_LENS_SPOOL_DIR", "spool/of/mine"},
                                                           {"NEMO_LENS_SHM_DIR", "rings"}};
  for (const auto& [name, place] : variables) environment.set(name, (places.path() / place).c_str());
  const json examination = examine();
  EXPECT_EQ(exit_code, 0) << problems(examination);
  EXPECT_TRUE(std::filesystem::is_empty(places.path()));
}

TEST_F(DoctorCommand, keeps_credentials_to_itself) {
  environment.set("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hidden,tenant=hidden");
  environment.set("OTEL_RESOURCE_ATTRIBUTES", "owner=me@here");
  environment.set("http_proxy", "http://user:hidden@127.0.0.1:1");
  environment.unset("no_proxy");
  EXPECT_THAT(text({"--offline", "--all"}),
              AllOf(HasSubstr("authorization=…,tenant=…"), HasSubstr("http://…@127.0.0.1:1"),
                    HasSubstr("owner=me@here"), Not(HasSubstr("hidden"))));
  EXPECT_THAT(examine().dump(), Not(HasSubstr("hidden")));
  for (const char* headers : {"Authorization: Bearer hidden", "Authorization: Basic hidden==", "a=%hidden"}) {
    environment.set("OTEL_EXPORTER_OTLP_HEADERS", headers);
    const json examination = examine();
    EXPECT_THAT(problems(examination), HasSubstr("OTEL_EXPORTER_OTLP_HEADERS: "));
    EXPECT_THAT(examination.dump(), Not(HasSubstr("hidden")));
    EXPECT_THAT(text({"--offline", "--all"}), Not(HasSubstr("hidden")));
  }
  environment.unset("OTEL_EXPORTER_OTLP_HEADERS");
  environment.unset("http_proxy");
  environment.set("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:hidden/hidden@127.0.0.1:1");
  const json probed = examine({});
  EXPECT_THAT(problems(probed), HasSubstr("http://…@127.0.0.1:1"));
  EXPECT_THAT(probed.dump(), Not(HasSubstr("hidden")));
}

TEST_F(DoctorCommand, lists_groups_that_were_enabled_and_never_hit) {
  const json groups = examine({"--offline", "--trace", LENS_GOLDEN_DIR "/two_ranks/trace"})["groups"];
  EXPECT_EQ(groups["spec"], "all");
  EXPECT_THAT(groups["hit"], Contains("step"));
  EXPECT_THAT(groups["never_hit"], Contains("load_checkpoint"));
  EXPECT_THAT(groups["hit"], Not(Contains("load_checkpoint")));
  EXPECT_EQ(exit_code, 0);
}

TEST_F(DoctorCommand, tells_groups_of_spans_that_have_names_of_the_programs_own) {
  StandingRanks ranks(directory, {{"my own"}, {"my own"}});
  ranks.end(0, SIGTERM);
  ranks.end(1, SIGTERM);
  environment.set("NEMO_LENS_ENABLED", "1");  // the ranks' environment is gone, and took this along
  const std::string traces = directory.path() / "traces";
  const json groups = examine({"--offline", "--trace", traces})["groups"];
  EXPECT_EQ(groups["hit"], json::array({"step"}));
  EXPECT_THAT(groups["never_hit"], Contains("evaluate"));
  EXPECT_EQ(groups["unknown"], json::array());
  EXPECT_EQ(exit_code, 0);
  EXPECT_THAT(text({"--offline", "--trace", traces}), Not(HasSubstr("not known")));
}

TEST_F(DoctorCommand, says_so_where_the_groups_of_a_killed_rank_are_not_known) {
  StandingRanks ranks(directory, {{"my own"}});
  ranks.end(0, SIGKILL);
  LensProcess recover(directory, {"recover", "standing", "--shm-dir", directory.path() / "rings"});
  EXPECT_EQ(recover.wait(), 0) << recover.errors();
  environment.set("NEMO_LENS_SPAN_GROUPS", "step,job");
  const std::vector<std::string> options{"--offline", "--trace", directory.path() / "traces"};
  const json groups = examine(options)["groups"];
  EXPECT_EQ(groups["never_hit"], json::array());
  EXPECT_EQ(groups["unknown"], json::array({"job", "step"}));
  EXPECT_THAT(text(options), HasSubstr("not known  job, step: "));
}

TEST_F(DoctorCommand, refuses_wrong_usage) {
  LensProcess trace(directory, {"doctor", "--offline", "--trace", "nowhere"});
  EXPECT_EQ(trace.wait(), 2);
  EXPECT_THAT(trace.errors(), HasSubstr("nowhere does not exist"));
  LensProcess option(directory, {"doctor", "--vocabulary", "mine"});
  EXPECT_EQ(option.wait(), 2);
}

}  // namespace
}  // namespace lens::tests
