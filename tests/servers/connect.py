"""A Spark Connect server of our own, with Delta, on a free port of this machine.

python -m tests.servers.connect pytest tests/cases -k spark      the command's Spark is that server
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from lakelogic.core.settings import read_settings

START_TIMEOUT_S = 120
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def start_server(jars: Path, folder: Path) -> Iterator[str]:
    """The address of a server that is there until the block ends."""
    home = Path(pyspark.__file__).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
    }
    command = [str(home / "bin" / "spark-submit"), "--master", "local[2]", "--class", _SERVER]
    command += ["--driver-class-path", os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")))]
    command += [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "spark-internal"],
            env={**os.environ, "SPARK_HOME": str(home)},
            stdout=log,
            stderr=log,
            cwd=folder,
            start_new_session=True,
        )
    try:
        _wait(process, port, folder / "server.log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-2000:]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise TimeoutError(log.read_text()[-2000:])


def main() -> int:
    """Run a command whose tests find the server by the environment."""
    jars = read_settings(os.environ).jars
    with tempfile.TemporaryDirectory() as folder, start_server(jars, Path(folder)) as address:
        environment = {**os.environ, "LAKELOGIC_TEST_REMOTE": address}
        return subprocess.run([sys.executable, "-m", *sys.argv[1:]], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
