# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest

from ranks import TINY, succeed, train

PIPELINE = "--pipeline-model-parallel-size"


class Offload(unittest.TestCase):
    def test_the_losses_are_the_same_to_the_last_digit(self):
        here, away = (succeed(self, 2, *TINY, f"{PIPELINE}=2", flag) for flag in ("--no-cpu-offloading", "--cpu-offloading"))
        self.assertEqual(away.losses, here.losses)
        self.assertEqual(away.grad_norms, here.grad_norms)

    def test_recomputed_activations_give_the_same_losses_too(self):
        kept, again, both = (succeed(self, 2, *TINY, f"{PIPELINE}=2", *flags) for flags in (
            ["--no-cpu-offloading"], ["--no-cpu-offloading", "--recompute-granularity=full"],
            ["--recompute-granularity=full"]))
        for run in again, both:
            self.assertEqual(run.losses, kept.losses)
            self.assertEqual(run.grad_norms, kept.grad_norms)

    def test_the_first_stage_needs_less_memory(self):
        # Four microbatches are in flight on the first of four stages, 25 MB of activations each.
        wide = [*TINY, f"{PIPELINE}=4", "--hidden-size=128", "--seq-length=256", "--micro-batch-size=8",
                "--global-batch-size=64", "--train-iters=1", "--eval-interval=0"]
        here, away = (succeed(self, 4, *wide, flag) for flag in ("--no-cpu-offloading", "--cpu-offloading"))
        self.assertLess(away.ranks[0].peak_kib, here.ranks[0].peak_kib - 40 * 1024)
        self.assertEqual(away.losses, here.losses)

    def test_one_layer_of_a_stage_can_be_offloaded(self):
        succeed(self, 2, *TINY, f"{PIPELINE}=2", "--cpu-offloading-num-layers=1")

    def test_the_file_leaves_no_trace(self):
        with tempfile.TemporaryDirectory() as directory:
            succeed(self, 2, *TINY, f"{PIPELINE}=2", f"--cpu-offloading-dir={directory}")
            self.assertEqual(os.listdir(directory), [])

    def test_a_missing_directory_is_named(self):
        run = train(2, *TINY, f"{PIPELINE}=2", "--cpu-offloading-dir=/nonexistent")
        self.assertEqual(run.ranks[0].status, 1)
        self.assertIn("/nonexistent (choose another with --cpu-offloading-dir)", run.ranks[0].stderr)


if __name__ == "__main__":
    unittest.main()
