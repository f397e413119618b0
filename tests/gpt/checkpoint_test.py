# SPDX-License-Identifier: Apache-2.0
import os
import tempfile
import unittest

from ranks import TINY, succeed, train

SAVING = [*TINY, "--train-iters=2", "--save-interval=2"]


class Checkpoint(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.directory = scratch.name

    def refused(self, world_size, *flags):
        run = train(world_size, *TINY, f"--load={self.directory}", *flags)
        for rank in run.ranks:
            self.assertEqual(rank.status, 1)
            self.assertEqual(rank.stderr.count("\n"), 1, rank.stderr)
            self.assertNotIn("iteration", rank.stdout)
        return run.ranks[0].stderr

    def test_a_directory_without_one_is_named(self):
        self.assertIn(f"{self.directory} holds none", self.refused(1))

    def test_a_truncated_file_is_named(self):
        succeed(self, 1, *SAVING, f"--save={self.directory}")
        path = f"{self.directory}/iter_0000002/rank_0000.pt"
        os.truncate(path, os.path.getsize(path) // 2)
        self.assertIn(f"cannot use {path}", self.refused(1))

    def test_a_missing_file_is_named(self):
        succeed(self, 1, *SAVING, f"--save={self.directory}")
        path = f"{self.directory}/iter_0000002/rank_0000.pt"
        os.remove(path)
        self.assertIn(f"cannot open {path}", self.refused(1))

    def test_a_flipped_byte_is_found(self):
        succeed(self, 1, *SAVING, f"--save={self.directory}")
        path = f"{self.directory}/iter_0000002/rank_0000.pt"
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.assertIn(f"cannot use {path}", self.refused(1))

    def test_another_layout_is_refused(self):
        succeed(self, 2, *SAVING, f"--save={self.directory}")
        error = self.refused(2, "--pipeline-model-parallel-size=2")
        self.assertIn("written by 2 ranks with --pipeline-model-parallel-size 1; resume with the same", error)

    def test_another_model_is_refused(self):
        succeed(self, 1, *SAVING, f"--save={self.directory}")
        self.assertIn("--hidden-size", self.refused(1, "--hidden-size=64"))

    def test_an_unfinished_save_leaves_the_previous_one_in_force(self):
        succeed(self, 1, *SAVING, f"--save={self.directory}")
        os.mkdir(f"{self.directory}/iter_0000004")  # a run that died while it wrote the next one
        with open(f"{self.directory}/iter_0000004/rank_0000.pt.tmp", "wb") as file:
            file.write(b"half")
        resumed = succeed(self, 1, *TINY, f"--load={self.directory}")
        self.assertEqual(sorted(resumed.losses), [3, 4, 5, 6])

    def test_a_directory_that_cannot_be_written_is_named(self):
        run = train(1, *SAVING, "--save=/proc/nowhere")
        self.assertEqual(run.ranks[0].status, 1)
        self.assertIn("/proc/nowhere", run.ranks[0].stderr)


if __name__ == "__main__":
    unittest.main()
