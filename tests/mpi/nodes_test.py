# SPDX-License-Identifier: Apache-2.0
"""A job over two nodes, started by mpirun: who its ranks are, and how their spans hang together in one collector."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

from nodes import ADDRESSES, Nodes

HERE = os.path.dirname(os.path.abspath(__file__))
LAUNCHER_TRACE, LAUNCHER_SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PORT = "4318"

# On both nodes; of a layer for each stage, and few iterations.
TRAINER = [
    "--num-layers=2", "--hidden-size=32", "--num-attention-heads=2", "--seq-length=32", "--micro-batch-size=2",
    "--global-batch-size=8", "--train-iters=2", "--lr-warmup-iters=1", "--eval-interval=2", "--generate-tokens=0",
    "--pipeline-model-parallel-size=2", "--otel-span-groups=job,step",
]
AS_TORCHRUN = ("RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE "
               'LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK exec "$@"')


def skip(reason):
    """As GoogleTest says it, so that the summary of the tests has it."""
    print(f"nodes_test.py: Skipped\n{reason}\n[  SKIPPED ] Nodes (0 ms)")
    sys.exit(77)


def value(attributes, key):
    (found,) = [next(iter(item["value"].values())) for item in attributes if item["key"] == key]
    return found


class Job(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.requests = f"{scratch.name}/requests"
        self.environment = {
            "NEMO_LENS_ENABLED": "1", "NEMO_LENS_EXPORT_STRATEGY": "all_ranks", "NEMO_LENS_SPAN_GROUPS": "per_step",
            "NEMO_LENS_SHM_DIR": "", "NEMO_LENS_SPOOL_DIR": f"{scratch.name}/spool",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{ADDRESSES['node-a']}:{PORT}",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
            "TRACEPARENT": f"00-{LAUNCHER_TRACE}-{LAUNCHER_SPAN}-01",
        }
        collector = subprocess.Popen(
            NODES.command("node-a", sys.executable, f"{HERE}/collector.py", ADDRESSES["node-a"], PORT, self.requests),
            stdout=subprocess.PIPE, text=True)
        self.addCleanup(collector.wait)
        self.addCleanup(collector.kill)
        self.addCleanup(collector.stdout.close)
        self.assertEqual(collector.stdout.readline(), "listening\n")

    def run_ranks(self, *command):
        """Gives what the collector has of each rank, by its number: the resource's attributes and its spans."""
        ended = NODES.mpirun(self.environment, *command)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        ranks = {}
        with open(self.requests, encoding="utf-8") as lines:
            requests = [line.split(" ", 1) for line in lines]
        for body in (json.loads(body) for path, body in requests if path == "/v1/traces"):
            for resource in body["resourceSpans"]:
                attributes = resource["resource"]["attributes"]
                _, spans = ranks.setdefault(int(value(attributes, "dl.rank")), (attributes, []))
                spans += [span for scope in resource["scopeSpans"] for span in scope["spans"]]
        return ranks

    def assert_places(self, ranks):
        places = {rank: (value(a, "dl.world_size"), value(a, "dl.local_rank"), value(a, "host.name"))
                  for rank, (a, _) in ranks.items()}
        self.assertEqual(places, {0: ("4", "0", "node-a"), 1: ("4", "1", "node-a"),
                                  2: ("4", "0", "node-b"), 3: ("4", "1", "node-b")})
        self.assertEqual(len({value(a, "nemo.run.id") for a, _ in ranks.values()}), 1)

    # Contract: 2.launchers, 3.run-id-mpi, 5.launcher
    def test_its_ranks_share_a_run_and_its_launchers_span_is_the_parent_of_all(self):
        ranks = self.run_ranks(os.environ["QUICKSTART"])
        self.assert_places(ranks)
        for _, spans in ranks.values():
            (job,) = [span for span in spans if span["name"] == "train"]
            self.assertEqual((job["traceId"], job["parentSpanId"]), (LAUNCHER_TRACE, LAUNCHER_SPAN))
            self.assertEqual(len(spans), 101)

    # Contract: 2.first-rank-per-node
    def test_the_first_rank_of_each_node_exports(self):
        self.environment["NEMO_LENS_EXPORT_STRATEGY"] = "first_rank_per_node"
        ranks = self.run_ranks(os.environ["QUICKSTART"])
        self.assertEqual({rank: value(a, "host.name") for rank, (a, _) in ranks.items()}, {0: "node-a", 2: "node-b"})

    # Contract: 5.broadcast, 5.stages
    def test_c10d_links_the_steps_of_one_node_to_those_of_the_other(self):
        if not os.environ["GPT"]:
            self.skipTest("the trainer is not built")
        self.environment |= {"MASTER_ADDR": ADDRESSES["node-a"], "MASTER_PORT": "29500"}
        ranks = self.run_ranks("sh", "-c", AS_TORCHRUN, "sh", os.environ["GPT"], *TRAINER)
        self.assert_places(ranks)
        steps = {rank: [span for span in spans if span["name"] == "megatron.train_step"]
                 for rank, (_, spans) in ranks.items()}
        for first, last in ((0, 2), (1, 3)):  # the stages of each replica
            sources = [(step["traceId"], step["spanId"]) for step in steps[first]]
            self.assertEqual(len(sources), 2)
            self.assertEqual([[(link["traceId"], link["spanId"]) for link in step["links"]] for step in steps[last]],
                             [[source] for source in sources])

    # Contract: 5.broadcast, 5.linked, 5.adopted
    def test_mpi_takes_contexts_from_node_to_node(self):
        ended = NODES.mpirun({}, os.environ["MPI_TEST"], "--gtest_color=no",
                             "--gtest_filter=MpiRanks.*:MpiCommunicator.Gives*")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("[  PASSED  ] 2 tests", ended.stdout)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        try:
            NODES = Nodes(directory)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = getattr(error, "stderr", None) or str(error)
            skip(f"two nodes need iproute2 and the right to make network namespaces: {reason.strip()}")
        try:
            unittest.main()
        finally:
            NODES.close()
