# SPDX-License-Identifier: Apache-2.0
import unittest

from ranks import TINY, succeed

FLAGS = [*TINY, "--generate-tokens=40", "--prompt=And God said"]


def generated(run):
    return [line for line in run.stdout.splitlines() if line.startswith(" generated: ")]


class Generation(unittest.TestCase):
    def test_the_prompt_is_continued_alike_by_every_layout(self):
        alone = succeed(self, 1, *FLAGS)
        (line,) = generated(alone)
        self.assertTrue(line.startswith(" generated: And God said"))
        self.assertEqual(len(line), len(" generated: And God said") + 40)  # beyond the 32 bytes that the model sees
        divided = succeed(self, 4, *FLAGS, "--pipeline-model-parallel-size=2")
        self.assertEqual(generated(divided), [line])

    def test_none_is_asked_for(self):
        self.assertEqual(generated(succeed(self, 1, *TINY)), [])


if __name__ == "__main__":
    unittest.main()
