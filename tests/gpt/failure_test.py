# SPDX-License-Identifier: Apache-2.0
import glob
import signal
import subprocess
import tempfile
import unittest

from ranks import TINY, start

ENDLESS = [*TINY, "--train-iters=1000000", "--eval-interval=0"]


class Failure(unittest.TestCase):
    def test_a_rank_that_dies_ends_the_others_with_an_error_that_names_it(self):
        first, last = start(2, [*ENDLESS, "--pipeline-model-parallel-size=2"], lambda rank: subprocess.PIPE,
                            lambda rank: subprocess.PIPE)
        for line in last.stdout:  # the last rank reports iterations: both are at work
            if b"iteration" in line:
                break
        first.kill()
        _, error = last.communicate(timeout=30)
        first.communicate()
        self.assertEqual(last.returncode, 1)
        self.assertRegex(error.decode(), r"^gpt: (receiving activations from|sending gradients to) rank 0 failed; is it gone\?")

    def test_a_rank_that_is_terminated_sends_what_it_has_recorded(self):
        with tempfile.TemporaryDirectory() as directory:
            environment = {"MEGATRON_OTEL_EXPORTER": "file", "MEGATRON_OTEL_FILE_FORMAT": "json",
                           "MEGATRON_OTEL_FILE_DIR": directory}
            (rank,) = start(1, [*ENDLESS, "--otel-enabled", "--otel-span-groups=step"], lambda rank: subprocess.PIPE,
                            lambda rank: subprocess.PIPE, environment)
            for line in rank.stdout:
                if b"iteration        4" in line:
                    break
            rank.terminate()
            rank.communicate(timeout=30)
            self.assertEqual(rank.returncode, -signal.SIGTERM)
            (path,) = glob.glob(f"{directory}/traces-*")
            with open(path, encoding="utf-8") as trace:
                self.assertGreaterEqual(trace.read().count('"megatron.train_step"'), 4)


if __name__ == "__main__":
    unittest.main()
