# SPDX-License-Identifier: Apache-2.0
import unittest

from ranks import TINY, succeed


class Layouts(unittest.TestCase):
    def test_every_division_of_the_work_reaches_the_same_losses(self):
        alone = succeed(self, 1, *TINY)
        self.assertEqual(len(alone.losses), 6)
        self.assertEqual(sorted(alone.validation), [3, 6])
        for stages, replicas in [(2, 1), (1, 2), (2, 2), (4, 1)]:
            with self.subTest(stages=stages, replicas=replicas):
                divided = succeed(self, stages * replicas, *TINY, f"--pipeline-model-parallel-size={stages}")
                self.assert_close(divided.losses, alone.losses)
                self.assert_close(divided.grad_norms, alone.grad_norms, tolerance=2e-3)  # three digits are printed
                self.assert_close(divided.validation, alone.validation)

    def test_the_seed_decides_the_losses(self):
        one, other = (succeed(self, 1, *TINY, f"--seed={seed}") for seed in (1, 2))
        self.assertNotEqual(one.losses, other.losses)

    def test_bucket_size_changes_nothing_but_when_gradients_travel(self):
        small, large = (succeed(self, 2, *TINY, f"--ddp-bucket-size={size}") for size in (1, 1_000_000))
        self.assert_close(small.losses, large.losses)

    def assert_close(self, got, expected, tolerance=1e-5):
        self.assertEqual(sorted(got), sorted(expected))
        for iteration, value in expected.items():
            self.assertAlmostEqual(float(got[iteration]), float(value), delta=tolerance * float(value))


if __name__ == "__main__":
    unittest.main()
