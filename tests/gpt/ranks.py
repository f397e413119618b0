# SPDX-License-Identifier: Apache-2.0
"""Starts the trainer's ranks as a launcher would, and reads what they print."""

import os
import re
import socket
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field

GPT = os.environ["GPT"]

# A model that trains ten iterations in a second, and has a layer for each of four stages.
TINY = [
    "--num-layers=4", "--hidden-size=32", "--num-attention-heads=2", "--seq-length=32", "--micro-batch-size=2",
    "--global-batch-size=8", "--train-iters=6", "--lr-warmup-iters=2", "--eval-interval=3", "--generate-tokens=0",
]

ITERATION = re.compile(r"iteration +(\d+)/ *\d+ .* lm loss: (\S+) \| grad norm: (\S+) \|")
VALIDATION = re.compile(r"validation loss at iteration (\d+) \| lm loss value: (\S+)")
ENTROPY = re.compile(r"byte-frequency entropy of the text: (\S+)")


@dataclass
class Rank:
    status: int
    stdout: str
    stderr: str
    peak_kib: int


@dataclass
class Run:
    ranks: list
    losses: dict = field(default_factory=dict)  # the printed digits, by iteration
    grad_norms: dict = field(default_factory=dict)
    validation: dict = field(default_factory=dict)
    entropy: float = 0.0

    @property
    def stdout(self):
        return "".join(rank.stdout for rank in self.ranks)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(world_size, flags, stdout, stderr, environment=None):
    """Starts the ranks; stdout and stderr are called with a rank's number for where its output goes."""
    port = free_port()
    processes = []
    for rank in range(world_size):
        env = dict(os.environ, **(environment or {}), RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size),
                   MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        processes.append(subprocess.Popen([GPT, *flags], env=env, stdout=stdout(rank), stderr=stderr(rank)))
    return processes


def train(world_size, *flags, environment=None):
    """Runs to the end, whatever the end is."""
    with tempfile.TemporaryDirectory() as directory:
        def text(rank, kind):
            with open(f"{directory}/{rank}.{kind}", encoding="utf-8", errors="replace") as file:
                return file.read()

        with ExitStack() as files:
            def sink(kind):
                return lambda rank: files.enter_context(open(f"{directory}/{rank}.{kind}", "wb"))

            processes = start(world_size, flags, sink("out"), sink("err"), environment)
        ranks = []
        for number, process in enumerate(processes):
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            ranks.append(Rank(process.returncode, text(number, "out"), text(number, "err"), usage.ru_maxrss))
    run = Run(ranks)
    for iteration, loss, grad_norm in ITERATION.findall(run.stdout):
        run.losses[int(iteration)] = loss
        run.grad_norms[int(iteration)] = grad_norm
    run.validation = {int(iteration): loss for iteration, loss in VALIDATION.findall(run.stdout)}
    run.entropy = float((ENTROPY.findall(run.stdout) or [0])[0])
    return run


def succeed(test, world_size, *flags, environment=None):
    """Runs to the end, which must be a good one."""
    run = train(world_size, *flags, environment=environment)
    for number, rank in enumerate(run.ranks):
        test.assertEqual(rank.status, 0, f"rank {number}: {rank.stderr}")
    return run
