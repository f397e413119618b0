# SPDX-License-Identifier: Apache-2.0
"""What the trainer records: the whole tree of spans, and of each preset its part."""

import glob
import json
import os
import tempfile
import unittest

from ranks import TINY, succeed

LINKED = "megatron.pp.recv_forward.linked"
GOODPUT = "is_goodput_span"

# Each span: its group, its parent, its attributes with their types.
TREE = {
    "megatron.pretrain": ("job", None, {"megatron.model_type": str, "megatron.train_iters": int,
                                        "megatron.global_batch_size": int}),
    "megatron.startup": ("job", "megatron.pretrain", {GOODPUT: bool}),
    "megatron.model_init": ("model_init", "megatron.pretrain", {GOODPUT: bool}),
    "megatron.load_checkpoint": ("load_checkpoint", "megatron.pretrain", {GOODPUT: bool}),
    "megatron.load_checkpoint.io_read": ("load_checkpoint", "megatron.load_checkpoint", {}),
    "megatron.train": ("job", "megatron.pretrain", {"megatron.train_iters": int}),
    "megatron.train_step": ("step", "megatron.train", {"megatron.iteration": int, "megatron.loss": float,
                                                       "megatron.grad_norm": float, GOODPUT: bool}),
    "megatron.forward_backward": ("forward_backward", "megatron.train_step", {"megatron.num_microbatches": int}),
    "megatron.microbatch.forward": ("microbatch", "megatron.forward_backward", {"megatron.microbatch_id": int}),
    "megatron.layer.forward": ("layer", "megatron.microbatch.forward", {}),
    "megatron.layer.self_attention": ("layer", "megatron.layer.forward", {}),
    "megatron.layer.mlp": ("layer", "megatron.layer.forward", {}),
    "megatron.microbatch.backward": ("microbatch", "megatron.forward_backward", {}),
    LINKED: ("communication", "megatron.forward_backward", {"dl.pipeline_parallel.rank": int, "dl.microbatch_id": int}),
    "megatron.p2p.recv_forward": ("communication", "megatron.forward_backward", {}),
    "megatron.p2p.send_forward": ("communication", "megatron.forward_backward", {}),
    "megatron.p2p.recv_backward": ("communication", "megatron.forward_backward", {}),
    "megatron.p2p.send_backward": ("communication", "megatron.forward_backward", {}),
    "megatron.activation.offload": ("activation_offload", "megatron.forward_backward", {}),
    "megatron.activation.reload": ("activation_offload", "megatron.forward_backward", {}),
    "megatron.data_loading.get_batch": ("data_loading", "megatron.forward_backward", {}),
    "megatron.grad_sync.start": ("communication", "megatron.train_step", {}),
    "megatron.grad_sync.finish": ("communication", "megatron.train_step", {}),
    "megatron.optimizer_step": ("optimizer", "megatron.train_step", {"megatron.grad_norm": float,
                                                                     "megatron.update_successful": bool}),
    "megatron.save_checkpoint": ("checkpoint", "megatron.train", {"megatron.iteration": int, GOODPUT: bool}),
    "megatron.save_checkpoint.state_dict": ("checkpoint", "megatron.save_checkpoint", {}),
    "megatron.save_checkpoint.io_write": ("checkpoint", "megatron.save_checkpoint", {}),
    "megatron.evaluate": ("evaluate", "megatron.train", {"megatron.eval_iters": int, GOODPUT: bool}),
    "megatron.evaluate.step": ("evaluate", "megatron.evaluate", {}),
    "megatron.inference.request": ("inference", "megatron.pretrain", {GOODPUT: bool}),
}

DEFAULT = {"job", "checkpoint", "evaluate", "inference"}
PER_STEP = DEFAULT | {"model_init", "load_checkpoint", "step", "forward_backward", "optimizer", "communication",
                      "data_loading"}
TYPES = {"stringValue": str, "intValue": int, "doubleValue": float, "boolValue": bool}


def types(attributes):
    return {item["key"]: TYPES[next(iter(item["value"]))] for item in attributes}


def value(attributes, key):
    (found,) = [next(iter(item["value"].values())) for item in attributes if item["key"] == key]
    return found


class Spans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.flags = [*TINY, "--pipeline-model-parallel-size=2", "--global-batch-size=12", "--generate-tokens=3",
                     "--save-interval=3"]
        succeed(cls(), 4, *cls.flags, "--train-iters=3", f"--save={cls.scratch}/begun")  # for the others to resume

    def record(self, groups, *flags, environment=None):
        """Runs 2 x 2 ranks; gives the spans of each, with the resource's attributes."""
        directory = tempfile.mkdtemp(dir=self.scratch)
        environment = {"MEGATRON_OTEL_EXPORT_STRATEGY": "all_ranks", "MEGATRON_OTEL_EXPORTER": "file",
                       "MEGATRON_OTEL_FILE_FORMAT": "json", "MEGATRON_OTEL_FILE_DIR": directory,
                       **(environment or {})}
        succeed(self, 4, *self.flags, f"--load={self.scratch}/begun", f"--save={self.scratch}/resumed",
                f"--otel-span-groups={groups}", *flags, environment=environment)
        ranks = []
        for path in sorted(glob.glob(f"{directory}/traces-*")):
            with open(path, encoding="utf-8") as lines:
                resources = [resource for line in lines for resource in json.loads(line)["resourceSpans"]]
            spans = [span for resource in resources for scope in resource["scopeSpans"] for span in scope["spans"]]
            ranks.append((resources[0]["resource"]["attributes"], spans))
        return directory, ranks

    # Contract: 4.tree, 5.stages
    def test_all_is_the_whole_tree(self):
        _, ranks = self.record("all", "--otel-enabled")
        self.assertEqual(len(ranks), 4)
        seen = set()
        steps = {}  # of the first stage, by span id: trace id, replica
        linked = {"megatron.train_step": [], LINKED: []}
        for resource, spans in ranks:
            names = {span["spanId"]: span["name"] for span in spans}
            replica = value(resource, "dl.data_parallel.rank")
            for span in spans:
                name = span["name"]
                seen.add(name)
                _, parent, attributes = TREE[name]
                self.assertEqual(names.get(span.get("parentSpanId", "")), parent, name)
                self.assertEqual(types(span.get("attributes", [])), attributes, name)
                first = value(resource, "dl.pipeline_parallel.rank") == "0"
                is_step = name == "megatron.train_step"
                self.assertEqual("links" in span, name == LINKED or (is_step and not first), name)
                if "links" in span:
                    linked[name].append((span, replica))
                elif is_step:
                    steps[span["spanId"]] = (span["traceId"], replica)
        self.assertEqual(seen, set(TREE))
        for spans in linked.values():  # the last stages' steps, and the first receive in each
            self.assertEqual(len(spans), 2 * 3)
            unseen = dict(steps)
            for span, replica in spans:
                (link,) = span["links"]
                self.assertEqual(unseen.pop(link["spanId"]), (link["traceId"], replica))
                self.assertNotEqual(link["traceId"], span["traceId"])

    # Contract: 5.stages
    def test_all_stages_are_found_from_the_step_whatever_else_is_recorded(self):
        for mode in ("link", "adopt"):
            with self.subTest(mode=mode):
                _, ranks = self.record("step", "--otel-enabled", f"--otel-pipeline-context={mode}")
                steps = [(span, value(resource, "dl.pipeline_parallel.rank")) for resource, spans in ranks for span in spans]
                ids = {span["spanId"] for span, stage in steps if stage == "0"}
                linked = [span["links"][0]["spanId"] for span, stage in steps if stage == "1"]
                self.assertEqual(len(ids), 2 * 3)
                self.assertEqual(sorted(linked), sorted(ids))

    # Contract: 5.stages
    def test_adopted_stages_work_is_found_below_the_first_stage_s_step(self):
        _, ranks = self.record("all", "--otel-enabled", "--otel-pipeline-context=adopt", "--save-interval=6")
        steps = {}  # of the first stages, by span id: trace id, replica
        adopted = []
        for resource, spans in ranks:
            by_id = {span["spanId"]: span for span in spans}
            replica = value(resource, "dl.data_parallel.rank")
            first = value(resource, "dl.pipeline_parallel.rank") == "0"
            for span in spans:
                if span["name"] != "megatron.train_step" or first:
                    self.assertNotIn("links", span, span["name"])
                if span["name"] == "megatron.train_step" and first:
                    steps[span["spanId"]] = (span["traceId"], replica)
                if span["name"] == "megatron.forward_backward":
                    parent = by_id.get(span["parentSpanId"])
                    self.assertEqual(parent["name"] if parent else None, "megatron.train_step" if first else None)
                    if not first:
                        adopted.append((span, replica))
                        work = [child for child in spans if child["traceId"] == span["traceId"]]
                        self.assertLessEqual({"megatron.microbatch.forward", "megatron.layer.forward",
                                              "megatron.microbatch.backward", "megatron.p2p.recv_forward"},
                                             {child["name"] for child in work})
        self.assertEqual(len(adopted), 2 * 3)
        for span, replica in adopted:
            self.assertEqual(steps.pop(span["parentSpanId"]), (span["traceId"], replica))

    # Contract: 4.recompute
    def test_recomputed_layers_are_below_their_microbatch_s_backward_pass_and_marked(self):
        _, ranks = self.record("all", "--otel-enabled", "--recompute-granularity=full", "--save-interval=6")
        for _, spans in ranks:
            by_id = {span["spanId"]: span for span in spans}
            parents = {False: [], True: []}
            for span in spans:
                if TREE[span["name"]][0] == "layer":
                    marked = types(span.get("attributes", [])).get("recompute") is bool
                    parents[marked].append((span["name"], by_id[span["parentSpanId"]]["name"]))
            self.assertEqual(set(parents[False]), {(name, TREE[name][1]) for name, _ in parents[False]})
            again = {"megatron.layer.forward": "megatron.microbatch.backward",
                     "megatron.layer.self_attention": "megatron.layer.forward",
                     "megatron.layer.mlp": "megatron.layer.forward"}
            self.assertEqual(set(parents[True]), set(again.items()))
            self.assertEqual(len(parents[True]), len(parents[False]))

    # Contract: 4.recompute
    def test_without_the_microbatch_s_span_recomputed_layers_are_below_the_step(self):
        _, ranks = self.record("step,layer", "--otel-enabled", "--recompute-granularity=full", "--save-interval=6")
        for _, spans in ranks:
            by_id = {span["spanId"]: span for span in spans}
            layers = [span for span in spans if span["name"] == "megatron.layer.forward"]
            self.assertTrue(layers)
            self.assertEqual({by_id[span["parentSpanId"]]["name"] for span in layers}, {"megatron.train_step"})

    # Contract: 4.goodput
    def test_goodput_spans_follow_one_another_and_account_for_the_rank_s_time(self):
        _, ranks = self.record("per_step", "--otel-enabled")
        for _, spans in ranks:
            marked = sorted((int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])) for span in spans
                            if any(item["key"] == GOODPUT for item in span.get("attributes", [])))
            for (_, end), (start, _) in zip(marked, marked[1:]):
                self.assertLessEqual(end, start)
            (train,) = [span for span in spans if span["name"] == "megatron.train"]
            accounted = sum(end - start for start, end in marked)
            whole = int(train["endTimeUnixNano"]) - marked[0][0]
            self.assertGreater(accounted, 0.8 * whole)  # the rest: opening the text and counting its bytes

    # Contract: 4.roots
    def test_with_a_root_interval_each_so_many_iterations_are_a_trace_linked_to_the_one_before(self):
        _, ranks = self.record("per_step", "--otel-enabled", "--otel-root-interval=2", "--train-iters=8")
        for resource, spans in ranks:
            (pretrain,) = [span for span in spans if span["name"] == "megatron.pretrain"]
            roots = sorted((span for span in spans if span["name"] in ("megatron.train", "megatron.inference.request")),
                           key=lambda span: int(span["startTimeUnixNano"]))
            generates = value(resource, "dl.data_parallel.rank") == "0"
            self.assertEqual(len(roots), 3 + generates)  # iterations 4 and 5, 6 and 7, 8
            steps = {span["spanId"]: span for span in spans if span["name"] == "megatron.train_step"}
            before = pretrain
            for root in roots:
                self.assertNotIn("parentSpanId", root)
                self.assertNotEqual(root["traceId"], before["traceId"])
                self.assertEqual([(link["traceId"], link["spanId"]) for link in root["links"]],
                                 [(before["traceId"], before["spanId"])])
                self.assertGreaterEqual(int(root["startTimeUnixNano"]), int(before["endTimeUnixNano"]))
                before = root
            iterations = [[int(value(step["attributes"], "megatron.iteration")) for step in steps.values()
                           if step["traceId"] == root["traceId"]] for root in roots[:3]]
            self.assertEqual(iterations, [[4, 5], [6, 7], [8]])

    # Contract: 4.roots
    def test_under_a_launcher_s_span_intervals_still_have_traces_of_their_own(self):
        trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
        _, ranks = self.record("default", "--otel-enabled", "--otel-root-interval=2",
                               environment={"TRACEPARENT": f"00-{trace}-{parent}-01"})
        for _, spans in ranks:
            (pretrain,) = [span for span in spans if span["name"] == "megatron.pretrain"]
            self.assertEqual((pretrain["traceId"], pretrain["parentSpanId"]), (trace, parent))
            roots = sorted((span for span in spans if span["name"] == "megatron.train"),
                           key=lambda span: int(span["startTimeUnixNano"]))
            self.assertEqual(len(roots), 2)  # iterations 4 and 5, 6
            self.assertEqual(len({trace} | {root["traceId"] for root in roots}), 3)
            self.assertEqual([[link["spanId"] for link in root["links"]] for root in roots],
                             [[pretrain["spanId"]], [roots[0]["spanId"]]])
            for root in roots:
                self.assertNotIn("parentSpanId", root)

    # Contract: 3.megatron
    def test_the_resource_tells_the_rank_s_place_and_the_model(self):
        _, ranks = self.record("default", "--otel-enabled", "--otel-service-name=tiny")
        places = set()
        for resource, _ in ranks:
            self.assertEqual(value(resource, "service.name"), "tiny")
            for key, expected in [("dl.tensor_parallel.size", "1"), ("dl.tensor_parallel.rank", "0"),
                                  ("dl.pipeline_parallel.size", "2"), ("dl.data_parallel.size", "2"),
                                  ("dl.batch_size", "12"), ("dl.sequence_length", "32"), ("megatron.num_layers", "4"),
                                  ("megatron.hidden_size", "32"), ("megatron.num_attention_heads", "2"),
                                  ("megatron.train_iters", "6"), ("megatron.micro_batch_size", "2"),
                                  ("megatron.ckpt_format", "torch"), ("megatron.precision", "fp32")]:
                self.assertEqual(value(resource, key), expected, key)
            places.add((value(resource, "dl.rank"), value(resource, "dl.pipeline_parallel.rank"),
                        value(resource, "dl.data_parallel.rank")))
        self.assertEqual(places, {("0", "0", "0"), ("1", "0", "1"), ("2", "1", "0"), ("3", "1", "1")})

    # Contract: 4.tree
    def test_groups_choose_their_spans_and_no_others(self):
        for spec, groups in [("default", DEFAULT), ("per_step", PER_STEP), ("default,microbatch", DEFAULT | {"microbatch"})]:
            with self.subTest(spec=spec):
                _, ranks = self.record(spec, "--otel-enabled")
                names = {span["name"] for _, spans in ranks for span in spans}
                self.assertEqual(names, {name for name, (group, _, _) in TREE.items() if group in groups})

    def test_disabled_writes_nothing(self):
        directory, ranks = self.record("all")
        self.assertEqual(ranks, [])
        self.assertEqual(os.listdir(directory), [])


if __name__ == "__main__":
    unittest.main()
