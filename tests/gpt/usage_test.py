# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import unittest

from ranks import GPT, TINY, train


class Usage(unittest.TestCase):
    def test_what_does_not_fit_is_refused_alike_on_every_rank(self):
        cases = [
            (2, ["--num-layer", "4"], "unknown flag --num-layer; did you mean --num-layers?"),
            (2, ["--num-layers"], "--num-layers needs a value"),
            (2, ["--num-layers", "four"], "--num-layers four: expected an integer of at least 1"),
            (2, ["--lr=nan"], "--lr nan: expected a number of at least 0"),
            (2, ["--global-batch-size=6"], "use a multiple of 8"),
            (2, ["--num-layers=3", "--pipeline-model-parallel-size=2"], "--num-layers 3 does not divide over the stages"),
            (2, ["--pipeline-model-parallel-size=3"], "start a multiple of --pipeline-model-parallel-size 3"),
            (2, ["--hidden-size=30", "--num-attention-heads=4"], "--hidden-size 30 is not a multiple of"),
            (2, ["extra"], "unexpected argument extra"),
            (2, ["--otel-enabled", "--otel-span-groups=nonsense"], "nonsense"),
        ]
        for world_size, flags, message in cases:
            with self.subTest(flags=flags):
                run = train(world_size, *flags)
                for rank in run.ranks:
                    self.assertEqual(rank.status, 2)
                    self.assertIn(message, rank.stderr)
                    self.assertEqual(rank.stderr.count("\n"), 1)
                    self.assertEqual(rank.stdout, "")

    def test_help_lists_the_flags(self):
        shown = subprocess.run([GPT, "--help"], capture_output=True, text=True, check=True)
        self.assertIn("--pipeline-model-parallel-size", shown.stdout)
        self.assertEqual(shown.stderr, "")

    def test_a_malformed_launcher_variable_is_named(self):
        refused = subprocess.run([GPT], env=dict(os.environ, RANK="2", WORLD_SIZE="2"), capture_output=True, text=True,
                                 check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("RANK=2 must be less than WORLD_SIZE=2", refused.stderr)

    def test_a_missing_or_short_text_is_named(self):
        for path, message in [("/nonexistent", "cannot open the text /nonexistent"), (os.devnull, "is empty")]:
            with self.subTest(path=path):
                run = train(1, *TINY, f"--data-path={path}")
                self.assertEqual(run.ranks[0].status, 1)
                self.assertIn(message, run.ranks[0].stderr)


if __name__ == "__main__":
    unittest.main()
