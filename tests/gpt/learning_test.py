# SPDX-License-Identifier: Apache-2.0
import unittest

from ranks import succeed


class Learning(unittest.TestCase):
    def test_the_loss_falls_well_below_that_of_the_byte_frequencies(self):
        run = succeed(self, 4, "--pipeline-model-parallel-size=2", "--hidden-size=64", "--seq-length=64",
                      "--train-iters=80", "--eval-interval=80", "--generate-tokens=0")
        self.assertGreater(run.entropy, 2.5)  # of English, in nats
        self.assertGreater(float(run.losses[1]), 5)  # it begins by guessing: ln 256 is 5.5
        self.assertLess(float(run.losses[80]), run.entropy - 0.5)
        self.assertLess(float(run.validation[80]), run.entropy - 0.4)


if __name__ == "__main__":
    unittest.main()
