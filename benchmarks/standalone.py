"""A Spark cluster of this machine: a master and workers as processes of their own, from the installed Spark.

python benchmarks/standalone.py --workers 2            prints its address, and runs until it is interrupted
lakelogic run contract.yaml --master <that address>    in another terminal
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

START_S = 120
_LOOPBACK = "127.0.0.1"


@dataclass
class Cluster:
    """Processes of a cluster; `address` is what `--master` takes."""

    address: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_worker(self, number: int) -> None:
        """End a worker as a lost machine does: its executors go with it, and nobody says goodbye."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()


@contextmanager
def start_cluster(folder: Path, *, workers: int = 2, cores: int = 1, memory: str = "2g") -> Iterator[Cluster]:
    """A cluster that is there until the block ends."""
    port = _free_port()
    master = _start(folder, "master", "Master", "--port", str(port))
    cluster = Cluster(f"spark://{_LOOPBACK}:{port}", folder)
    try:
        _wait(folder / "master.log", "I have been elected leader", master)
        for number in range(workers):
            options = ("--cores", str(cores), "--memory", memory, "--work-dir", str(folder / f"work-{number}"))
            cluster.workers.append(_start(folder, f"worker-{number}", "Worker", *options, cluster.address))
        for number, worker in enumerate(cluster.workers):
            _wait(folder / f"worker-{number}.log", "Successfully registered with master", worker)
        yield cluster
    finally:
        for process in (*cluster.workers, master):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _start(folder: Path, name: str, kind: str, *options: str) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind.lower()}.{kind}"]
    command += ["--host", _LOOPBACK, "--webui-port", "0", *options]
    environment = {**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": _LOOPBACK, "SPARK_DAEMON_MEMORY": "512m"}
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder, start_new_session=True)


def _wait(log: Path, said: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while said not in log.read_text(errors="replace"):
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{log.stem} did not start:\n{log.read_text(errors='replace')[-2000:]}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((_LOOPBACK, 0))
        return int(free.getsockname()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description="a Spark standalone cluster on this machine")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cores", type=int, default=1, help="of each worker")
    parser.add_argument("--memory", default="2g", help="of each worker")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sizes = {"workers": options.workers, "cores": options.cores, "memory": options.memory}
        with start_cluster(Path(scratch), **sizes) as cluster:
            print(cluster.address, flush=True)
            try:
                signal.pause()
            except KeyboardInterrupt:
                print("stopping")


if __name__ == "__main__":
    main()
