"""PostgreSQL, a Kafka broker and Debezium on the loopback of this machine, each a plain process of ours.

    python examples/cdc_debezium/stack.py up      # start what is not running, print the addresses
    python examples/cdc_debezium/stack.py down    # stop it and remove the folder

The folder is CDC_WORK, else `lakelogic-cdc` in the temporary folder. Jars are fetched by Maven into CDC_JARS, else
into `jars` there. PostgreSQL's programs are looked for in PATH and where Debian keeps them.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).resolve().parent
WORK = Path(os.environ.get("CDC_WORK") or Path(tempfile.gettempdir()) / "lakelogic-cdc")
JARS = Path(os.environ.get("CDC_JARS") or WORK / "jars")
TOPIC = "shop.public.customers"
START_TIMEOUT_S = 90

BROKER = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{kafka},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{kafka}
controller.listener.names=CONTROLLER
log.dirs={work}/kafka
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
WORKER = """\
bootstrap.servers=127.0.0.1:{kafka}
listeners=http://127.0.0.1:{connect}
key.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=false
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
offset.storage.file.filename={work}/connect.offsets
offset.flush.interval.ms=1000
"""
CONNECTOR = """\
name=shop
connector.class=io.debezium.connector.postgresql.PostgresConnector
tasks.max=1
plugin.name=pgoutput
publication.autocreate.mode=filtered
database.hostname=127.0.0.1
database.port={postgres}
database.user=shop
database.password=shop
database.dbname=shop
topic.prefix=shop
table.include.list=public.customers
decimal.handling.mode=string
time.precision.mode=isostring
skipped.operations=none
"""


def up() -> dict[str, int]:
    """Start what is not running yet; the ports are chosen once and kept in the folder."""
    WORK.mkdir(parents=True, exist_ok=True)
    WORK.chmod(0o755)  # PostgreSQL runs as another user where we are root
    ports = _ports()
    _fetch_jars()
    _start_postgres(ports)
    _start_kafka(ports)
    return ports


def connect(ports: Mapping[str, int]) -> None:
    """Start Kafka Connect with Debezium; the table must be there."""
    _write("worker.properties", WORKER, ports)
    _write("connector.properties", CONNECTOR, ports)
    if not _alive("connect"):
        settings = [str(WORK / "worker.properties"), str(WORK / "connector.properties")]
        _java("connect", "org.apache.kafka.connect.cli.ConnectStandalone", settings)
    _wait("Debezium", lambda: bool(psql(ports, "SELECT 1 FROM pg_replication_slots WHERE active")), "connect")


def down() -> None:
    """Stop the processes that `up` started, by their ids, and remove the folder (fetched jars stay)."""
    for name in ("connect", "kafka"):
        stop(name)
    if (WORK / "postgres" / "postmaster.pid").exists():
        _as_postgres([_program("pg_ctl"), "-D", str(WORK / "postgres"), "-m", "fast", "-w", "stop"], check=False)
    for path in WORK.iterdir() if WORK.is_dir() else ():
        if path != JARS:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def stop(name: str, how: signal.Signals = signal.SIGTERM) -> None:
    """End one of our processes and wait until it is gone."""
    pid = _alive(name)
    if pid is None:
        return
    os.kill(pid, how)
    _wait(f"the end of {name}", lambda: _alive(name) is None, name)


def psql(ports: Mapping[str, int], sql: str) -> str:
    """Run SQL as the owner of the database `shop`; rows come back as lines with `|` between values."""
    command = [_program("psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    address = {"PGHOST": "127.0.0.1", "PGPORT": str(ports["postgres"]), "PGUSER": "shop", "PGDATABASE": "shop"}
    done = subprocess.run(
        command, input=sql, env={**os.environ, **address}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"psql failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _ports() -> dict[str, int]:
    kept = WORK / "ports.json"
    if kept.exists():
        return {name: int(port) for name, port in json.loads(kept.read_text()).items()}
    holders = {name: socket.create_server(("127.0.0.1", 0)) for name in ("postgres", "kafka", "controller", "connect")}
    ports = {name: int(holder.getsockname()[1]) for name, holder in holders.items()}
    for holder in holders.values():
        holder.close()
    kept.write_text(json.dumps(ports))
    return ports


def _fetch_jars() -> None:
    if any(JARS.glob("debezium-connector-postgres-*.jar")):
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise SystemExit("Maven (`mvn`) is needed once, to fetch the jars of Kafka and Debezium")
    print("fetching Kafka and Debezium (once, about 60 MB) ...", file=sys.stderr)
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={JARS}"]
    subprocess.run([maven, "-q", "-B", "-f", str(HERE / "pom.xml"), *goal], check=True)


def _start_postgres(ports: Mapping[str, int]) -> None:
    data = WORK / "postgres"
    if not (data / "PG_VERSION").exists():
        data.mkdir(exist_ok=True)
        if os.getuid() == 0:
            shutil.chown(data, _postgres_user())
        _as_postgres([_program("initdb"), "-D", str(data), "-U", "shop", "--auth=trust", "--no-sync", "-E", "UTF8"])
    options = f"-c wal_level=logical -c listen_addresses=127.0.0.1 -p {ports['postgres']} -k {data}"
    if not (data / "postmaster.pid").exists():
        control = [_program("pg_ctl"), "-D", str(data), "-w", "-l", str(data / "log"), "-o", options, "start"]
        _as_postgres(control)
        _create_database(ports)


def _create_database(ports: Mapping[str, int]) -> None:
    command = [_program("psql"), "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", str(ports["postgres"])]
    base = [*command, "-U", "shop", "-d", "postgres", "-c"]
    found = subprocess.run([*base, "SELECT 1 FROM pg_database WHERE datname = 'shop'"], capture_output=True, check=True)
    if not found.stdout.strip():
        subprocess.run([*base, "CREATE DATABASE shop"], check=True)


def _start_kafka(ports: Mapping[str, int]) -> None:
    _write("broker.properties", BROKER, ports)
    config = str(WORK / "broker.properties")
    if not (WORK / "kafka" / "meta.properties").exists():
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        arguments = ["format", "-t", cluster, "-c", config, "--standalone"]
        subprocess.run([*_java_command("kafka.tools.StorageTool"), *arguments], check=True, stdout=subprocess.DEVNULL)
    if not _alive("kafka"):
        _java("kafka", "kafka.Kafka", [config])
    _wait("Kafka", lambda: _listens(ports["kafka"]), "kafka")


def _java_command(main: str) -> list[str]:
    options = ["-Xmx512m", "-XX:+UseSerialGC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return ["java", *options, "-cp", f"{JARS}/*", main]


def _java(name: str, main: str, arguments: Sequence[str]) -> None:
    log = (WORK / f"{name}.log").open("ab")
    process = subprocess.Popen(
        [*_java_command(main), *arguments], stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
    )
    (WORK / f"{name}.pid").write_text(str(process.pid))


def _alive(name: str) -> int | None:
    """The id of a process of ours that runs; a child of ours that has ended is waited for."""
    file = WORK / f"{name}.pid"
    if not file.exists():
        return None
    pid = int(file.read_text())
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        file.unlink()
        return None
    return pid


def _wait(what: str, ready: Callable[[], bool], name: str) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {START_TIMEOUT_S} s for {what} in vain; see {WORK / name}.log")
        time.sleep(0.3)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _write(name: str, template: str, ports: Mapping[str, int]) -> None:
    (WORK / name).write_text(template.format(work=WORK, **ports))


def _program(name: str) -> str:
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else None)
    if found is None:
        raise SystemExit(f"`{name}` of PostgreSQL was not found; install the package postgresql, or put it in PATH")
    return found


def _postgres_user() -> str:
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _as_postgres(command: Sequence[str], *, check: bool = True) -> None:
    """PostgreSQL refuses to run as root; anyone else runs it as himself."""
    user = _postgres_user() if os.getuid() == 0 else None
    subprocess.run(command, user=user, cwd=WORK, check=check, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str]) -> None:
    match list(arguments):
        case ["up"]:
            print(json.dumps(up()))
        case ["down"]:
            down()
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
