# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest

from ranks import TINY, succeed

FLAGS = [*TINY, "--train-iters=8", "--save-interval=4", "--pipeline-model-parallel-size=2"]


class Resume(unittest.TestCase):
    def test_a_resumed_run_continues_the_same_curve_to_the_last_digit(self):
        with tempfile.TemporaryDirectory() as directory:
            whole = succeed(self, 4, *FLAGS, f"--save={directory}")
            self.assertEqual(sorted(os.listdir(directory)),
                             ["iter_0000004", "iter_0000008", "latest_checkpointed_iteration.txt"])
            self.assertEqual(sorted(os.listdir(f"{directory}/iter_0000004")), [f"rank_000{rank}.pt" for rank in range(4)])
            self.go_back(directory, 4)
            # Another seed on the command line must not change the data: the checkpoint's goes on.
            rest = succeed(self, 4, *FLAGS, f"--load={directory}", "--seed=9")
        self.assertEqual(rest.losses, {i: whole.losses[i] for i in range(5, 9)})
        self.assertEqual(rest.grad_norms, {i: whole.grad_norms[i] for i in range(5, 9)})
        self.assertEqual(rest.validation, {i: whole.validation[i] for i in (6, 8)})

    def go_back(self, directory, iteration):
        with open(f"{directory}/latest_checkpointed_iteration.txt", "w", encoding="ascii") as tracker:
            tracker.write(str(iteration))


if __name__ == "__main__":
    unittest.main()
