# SPDX-License-Identifier: Apache-2.0
import subprocess
import unittest

from ranks import TINY, start


class Failure(unittest.TestCase):
    def test_a_rank_that_dies_ends_the_others_with_an_error_that_names_it(self):
        endless = [*TINY, "--train-iters=1000000", "--eval-interval=0", "--pipeline-model-parallel-size=2"]
        first, last = start(2, endless, lambda rank: subprocess.PIPE, lambda rank: subprocess.PIPE)
        for line in last.stdout:  # the last rank reports iterations: both are at work
            if b"iteration" in line:
                break
        first.kill()
        _, error = last.communicate(timeout=30)
        first.communicate()
        self.assertEqual(last.returncode, 1)
        self.assertRegex(error.decode(), r"^gpt: (receiving activations from|sending gradients to) rank 0 failed; is it gone\?")


if __name__ == "__main__":
    unittest.main()
