"""A soak: files are dropped in every awkward way while `lakelogic run` loops and is killed at random.

    python tests/soak/files.py                    10 minutes on DuckDB
    python tests/soak/files.py --seconds 60 --engine spark --seed 7

New files, late ones with an old time, replaced ones, files that grow before the eyes of the reader, copies with the
same content, empty ones, and bursts of tiny ones. In the end every record of every file must be in the target exactly
once, counted from the table's own files and the producer's own books. A version of a file that was replaced before a
run came may be missing, but only as a whole. Exits with 1 where a record is lost or doubled.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from deltalake import DeltaTable

SETTLE_S = 2.0
CONTRACT = f"""\
dataset: records
source: {{ path: landing, pattern: "*.csv", load_mode: incremental, settle: {SETTLE_S:.0f}s }}
model: {{ fields: [{{ name: id, type: string, required: true }}, {{ name: v, type: int }}] }}
materialization: {{ strategy: append, target_path: lake/records }}
"""


@dataclass
class Version:
    """What one file held at one time."""

    path: str
    ids: list[str]
    superseded: bool = False  # a later version took its place, or its writer stalled and gave it up


@dataclass
class Producer:
    """Drops files, and keeps books of what each version of each holds."""

    landing: Path
    chance: random.Random
    versions: list[Version] = field(default_factory=list)
    newest: dict[str, Version] = field(default_factory=dict)
    growing: dict[str, tuple[list[str], float]] = field(default_factory=dict)  # lines to come, time of the last write
    made: Counter[str] = field(default_factory=Counter)
    number: int = 0

    def step(self) -> None:
        kinds = ["new", "late", "replaced", "growing", "copy", "empty", "tiny"]
        kind = self.chance.choices(kinds, [6, 3, 3, 2, 2, 1, 0.3])[0]
        self.made[kind] += 1
        getattr(self, f"drop_{kind}")()
        self.grow()

    def drop_new(self) -> Version:
        return self._write(self._path(), self._ids(self.chance.randint(1, 40)))

    def drop_late(self) -> None:
        version = self.drop_new()
        old = time.time() - self.chance.randint(10, 10**7)
        os.utime(version.path, (old, old))

    def drop_replaced(self) -> None:
        if self.newest:
            path = self.chance.choice(list(self.newest))
            self._write(path, self._ids(self.chance.randint(1, 40)))

    def drop_copy(self) -> None:
        if self.newest:
            self._write(self._path(), list(self.chance.choice(list(self.newest.values())).ids))

    def drop_empty(self) -> None:
        path = self._path()
        Path(path).write_text(self.chance.choice(["", "id,v\n"]))

    def drop_tiny(self) -> None:
        for _ in range(self.chance.randint(100, 400)):
            self._write(self._path(), self._ids(1))

    def drop_growing(self) -> None:
        path, ids = self._path(), self._ids(12)
        Path(path).write_text("id,v\n")
        self.growing[path] = ([f"{id_},{n}\n" for n, id_ in enumerate(ids)], time.monotonic())
        self.versions.append(Version(path, ids))

    def grow(self, *, finish: bool = False) -> None:
        """Write the next lines of files that grow; one that was left alone for too long must not be finished."""
        for path, (lines, written) in list(self.growing.items()):
            if time.monotonic() - written > SETTLE_S * 0.6:
                self._give_up(path)
                continue
            with open(path, "a", encoding="utf-8") as file:
                part = len(lines) if finish else 1
                file.writelines(lines[:part])
            self.growing[path] = (lines[part:], time.monotonic())
            if not lines[part:]:
                del self.growing[path]

    def _give_up(self, path: str) -> None:
        # A reader may have seen half of it; what it saw lands at most once.
        self.made["given up"] += 1
        del self.growing[path]
        os.unlink(path)
        next(version for version in self.versions if version.path == path).superseded = True

    def _path(self) -> str:
        self.number += 1
        folder = self.landing / f"day={self.number // 500:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        return str(folder / f"f{self.number:07d}.csv")

    def _ids(self, count: int) -> list[str]:
        self.number += 1
        return [f"{self.number}-{n}" for n in range(count)]

    def _write(self, path: str, ids: list[str]) -> Version:
        if path in self.newest:
            self.newest[path].superseded = True
        version = Version(path, ids)
        self.versions.append(version)
        whole = path + ".tmp"
        Path(whole).write_text("id,v\n" + "".join(f"{id_},{n}\n" for n, id_ in enumerate(ids)))
        os.replace(whole, path)
        self.newest[path] = version
        return version


@dataclass
class Runs:
    """The loop of `lakelogic run`."""

    contract: Path
    engine: str
    chance: random.Random
    endings: Counter[str] = field(default_factory=Counter)
    typical_s: float = 3.0

    def once(self, *, may_kill: bool) -> str:
        command = [sys.executable, "-m", "lakelogic", "run", str(self.contract), "--engine", self.engine, "-q"]
        started = time.monotonic()
        with subprocess.Popen(
            [*command, "--output", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            limit = self.chance.uniform(0, 1.2 * self.typical_s) if may_kill and self.chance.random() < 0.4 else None
            try:
                out, err = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                self.endings["killed"] += 1
                return "killed"
        if process.returncode == 0:
            self.typical_s = 0.7 * self.typical_s + 0.3 * (time.monotonic() - started)
            ending = str(json.loads(out)["status"])
        else:
            ending = "changed while read" if "LL431" in err else f"exit {process.returncode}"
            if ending.startswith("exit"):
                print(err, file=sys.stderr)
        self.endings[ending] += 1
        return ending


def produce(producer: Producer, stop: threading.Event) -> None:
    while not stop.wait(producer.chance.uniform(0.02, 0.3)):
        producer.step()
    producer.grow(finish=True)


def find_mistakes(versions: list[Version], table: str) -> list[str]:
    """Records that are lost, doubled or from nowhere, in words."""
    rows = DeltaTable(table).to_pyarrow_dataset().to_table(columns=["id", "_lakelogic_source"]).to_pydict()
    landed: dict[str, Counter[str]] = defaultdict(Counter)
    for id_, source in zip(rows["id"], rows["_lakelogic_source"], strict=True):
        landed[str(source)][str(id_)] += 1
    mistakes = []
    for version in versions:
        found = [landed[version.path].pop(id_, 0) for id_ in version.ids]
        allowed = ([0], [1]) if version.superseded else ([1],)
        if sorted(set(found)) not in allowed:
            mistakes.append(f"{version.path}: {Counter(found)} (replaced: {version.superseded})")
    mistakes += [f"{path}: unknown {id_}" for path, left in landed.items() for id_ in left]
    return mistakes


def soak(folder: Path, seconds: float, engine: str, seed: int) -> list[str]:
    """Produce and run for so long, then let the runs come to rest; gives the mistakes."""
    contract = folder / "records.yaml"
    contract.write_text(CONTRACT)
    (folder / "landing").mkdir()
    producer = Producer(folder / "landing", random.Random(seed))
    runs = Runs(contract, engine, random.Random(seed + 1))
    producer.drop_new()
    stop = threading.Event()
    thread = threading.Thread(target=produce, args=(producer, stop))
    thread.start()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        runs.once(may_kill=True)
    stop.set()
    thread.join()
    time.sleep(SETTLE_S + 0.5)
    quiet = 0
    while quiet < 2 and runs.endings["exit 4"] < 20:
        quiet = quiet + 1 if runs.once(may_kill=False) == "no_new_data" else 0
    rows = sum(len(version.ids) for version in producer.versions)
    print(f"{len(producer.versions)} files and versions with {rows} records: {dict(producer.made)}")
    print(f"runs: {dict(runs.endings)}")
    return find_mistakes(producer.versions, str(folder / "lake" / "records"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lakelogic-soak-") as folder:
        mistakes = soak(Path(folder), asked.seconds, asked.engine, asked.seed)
    print("\n".join(mistakes[:20]) or "every record landed exactly once")
    sys.exit(bool(mistakes))


if __name__ == "__main__":
    main()
