"""A MariaDB of our own in a temporary folder, where LAKELOGIC_TEST_MARIADB names the folder of an unpacked server.

No package index has its programs. On Debian: apt-get download mariadb-server-core mariadb-client-core liburing2 libaio1
(mariadb-common, mysql-common), then dpkg -x each of them into the folder.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PASSWORD = "needle-password"
FOLDER = os.environ.get("LAKELOGIC_TEST_MARIADB", "")
START_TIMEOUT_S = 60


@dataclass(frozen=True)
class Server:
    """A running server; every statement that it is sent stands in its log."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"mysql://lake:{PASSWORD}@127.0.0.1:{self.port}/shop"

    def connect(self, user: str = "lake", password: str = PASSWORD, database: str | None = "shop") -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=self.port, user=user, password=password, database=database, autocommit=True
        )

    def run(self, *statements: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def log(self) -> str:
        return (self.folder / "data" / "statements.log").read_text(errors="replace")


@contextmanager
def start_server() -> Iterator[Server]:
    base = Path(FOLDER) / "usr"
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-mariadb-"))
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir()
    user = "nobody" if os.getuid() == 0 else None
    if user is not None:
        shutil.chown(data, user)
    libraries = ":".join(str(path) for path in Path(FOLDER).rglob("x86_64-linux-gnu") if path.is_dir())
    environ = {**os.environ, "LD_LIBRARY_PATH": libraries}
    install = [base / "bin" / "mariadb-install-db", "--no-defaults", f"--basedir={base}", f"--datadir={data}"]
    subprocess.run(
        [*install, "--auth-root-authentication-method=normal"], env=environ, user=user, check=True, capture_output=True
    )
    with socket.create_server(("127.0.0.1", 0)) as holder:
        server = Server(folder, int(holder.getsockname()[1]))
    options = ["--no-defaults", f"--basedir={base}", f"--datadir={data}", f"--socket={data / 's'}"]
    options += [
        f"--port={server.port}",
        "--bind-address=127.0.0.1",
        "--default-time-zone=+09:00",
        "--sql-mode=",
        "--skip-name-resolve",
    ]
    options += ["--general-log", f"--general-log-file={data / 'statements.log'}"]
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [base / "sbin" / "mariadbd", *options], env=environ, user=user, stdout=output, stderr=output
        )
    try:
        _make_user(server)
        yield server
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _make_user(server: Server) -> None:
    import pymysql

    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        try:
            root = server.connect("root", "", None)
            break
        except pymysql.Error:
            assert time.monotonic() < deadline, (server.folder / "output").read_text()
            time.sleep(0.2)
    with root, root.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop CHARACTER SET utf8mb4")
        cursor.execute(f"CREATE USER lake IDENTIFIED BY '{PASSWORD}'")
        cursor.execute("GRANT ALL ON shop.* TO lake")
