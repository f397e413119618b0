# SPDX-License-Identifier: Apache-2.0
"""Two nodes on this machine: network namespaces with host names of their own, joined by a cable, for mpirun."""

import os
import shlex
import subprocess

ADDRESSES = {"node-a": "10.77.0.1", "node-b": "10.77.0.2"}

# What mpirun calls instead of ssh: a host's address, then a command for its shell. As with ssh, nothing of this side's
# environment goes along.
AGENT = """#!/bin/sh
address=$1
shift
exec env -i PATH="$PATH" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {directory}/on $address sh -c "$*"
"""

# Runs a command on a node.
ON = """#!/bin/sh
case $1 in {cases} esac
shift
exec ip netns exec $namespace unshare --uts --mount sh -c '
  hostname '$name'; mount --bind {directory}/hosts /etc/hosts; exec "$@"' sh "$@"
"""


class Nodes:
    """Made in `directory`, which is also where its files lie; raises OSError or CalledProcessError where that is not
    allowed."""

    def __init__(self, directory):
        self.directory = directory
        self.namespaces = {name: f"lens-{os.getpid()}-{name}" for name in ADDRESSES}
        cases = " ".join(f"{address}) name={name} namespace={self.namespaces[name]};;"
                         for name, address in ADDRESSES.items())
        self._write("hosts", "127.0.0.1 localhost\n" + "".join(f"{a} {name}\n" for name, a in ADDRESSES.items()))
        self._write("slots", "".join(f"{address} slots=2\n" for address in ADDRESSES.values()))
        self._write("on", ON.format(cases=cases, directory=directory))
        self._write("agent", AGENT.format(directory=directory))
        try:
            self._join()
            for name in ADDRESSES:
                subprocess.run(self.command(name, "true"), check=True, capture_output=True, text=True)
        except BaseException:
            self.close()
            raise

    def _join(self):
        for namespace in self.namespaces.values():
            self._ip("netns", "add", namespace)
        first, second = self.namespaces.values()
        self._ip("link", "add", "lens0", "netns", first, "type", "veth", "peer", "name", "lens0", "netns", second)
        for name, namespace in self.namespaces.items():
            self._ip("-n", namespace, "address", "add", ADDRESSES[name] + "/24", "dev", "lens0")
            for device in ("lo", "lens0"):
                self._ip("-n", namespace, "link", "set", device, "up")

    def _write(self, name, text):
        path = f"{self.directory}/{name}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    @staticmethod
    def _ip(*arguments):
        subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)

    def close(self):
        for namespace in self.namespaces.values():
            subprocess.run(["ip", "netns", "delete", namespace], check=False, capture_output=True)

    def command(self, name, *command):
        """A command that runs on a node."""
        return [f"{self.directory}/on", ADDRESSES[name], *command]

    def mpirun(self, environment, *command):
        """Runs four ranks, two on each node, started on the first; each is handed the environment."""
        environment = {"ASAN_OPTIONS": "detect_leaks=0", **environment}  # Open MPI gives up memory that it never frees
        handed = [word for name in environment for word in ("-x", name)]
        return subprocess.run(
            self.command("node-a", "mpirun", "--hostfile", f"{self.directory}/slots", "-n", "4",
                         "--mca", "plm_rsh_agent", shlex.quote(f"{self.directory}/agent"),
                         "--mca", "oob_tcp_if_include", "lens0", "--mca", "btl_tcp_if_include", "lens0",
                         "--mca", "btl", "tcp,self,vader", *handed, *command),
            env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **environment},
            check=False, capture_output=True, text=True, timeout=60)
