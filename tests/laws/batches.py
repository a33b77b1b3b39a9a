"""Many small contracts by chance as one: each has rows of its own, one rule and one derived column over them.

What a run costs beside the rows is paid once for all of them, so that hundreds can be compared in a minute.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import yaml
from tests.laws.expressions import TYPES, Expressions, make_rows

from lakelogic.core.clock import FixedClock
from lakelogic.core.errors import CapabilityError, LakeLogicError
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows
from lakelogic.testing.rows import plain

ROWS, AT_ONCE = 12, 25
KEPT = 8  # batches whose answers of Spark are kept
ANSWERS = Path(__file__).parents[1] / "data" / "spark_small_contracts.txt"
REFUSED = "refused"
_DERIVED = ("whole", "number", "decimal", "text", "boolean", "date", "moment")
_STEP = re.compile(r"sql SELECT \*, CASE WHEN g = .*", re.DOTALL)
_HIDDEN = {"_lakelogic_run_id", "_lakelogic_id", "_lakelogic_source"}


@dataclass(frozen=True)
class Small:
    """A contract of one rule and one derived column, and its rows."""

    rule: str
    derived: str
    rows: tuple[dict[str, str], ...]


def make_small(random: Random) -> Small:
    make = Expressions(random)
    return Small(make.of("boolean"), make.of(random.choice(_DERIVED)), tuple(make_rows(random, ROWS)))


def smalls_of(seed: int) -> list[Small]:
    random = Random(f"batch {seed}")
    return [make_small(random) for _ in range(AT_ONCE)]


def each_outcome(smalls: Sequence[Small], engine: str, folder: Path, *, spark: Any = None) -> dict[int, str]:
    """What each of the contracts comes to; one that ends the run for all is looked for in ever smaller halves."""
    found = outcome(smalls, engine, folder, spark=spark)
    if not isinstance(found, str):
        return found
    if len(smalls) == 1:
        return {0: found}
    half = len(smalls) // 2
    first, second = (
        each_outcome(part, engine, folder / str(n), spark=spark)
        for n, part in enumerate((smalls[:half], smalls[half:]))
    )
    return {**first, **{half + number: told for number, told in second.items()}}


def digest(told: str) -> str:
    """Short enough to keep; what does not end in an outcome stays as it is."""
    return told if not told.startswith("[") else hashlib.sha256(told.encode()).hexdigest()[:20]


def kept_answers(seed: int) -> dict[int, str]:
    """What Spark gave for the contracts of a batch, as digests."""
    lines = (
        line.split(" ", 2) for line in ANSWERS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
    )
    return {int(number): told for batch, number, told in lines if int(batch) == seed}


def outcome(smalls: Sequence[Small], engine: str, folder: Path, *, spark: Any = None) -> dict[int, str] | str:
    """What each of the contracts comes to, as text; or how it ends for all of them."""
    _write(smalls, folder)
    clock = FixedClock(datetime.fromisoformat("2026-03-28T12:00:00+00:00"))
    with DataProcessor(folder / "contract.yaml", engine, spark, settings=Settings(), clock=clock) as processor:
        try:
            result = processor.run()
        except CapabilityError:
            return REFUSED
        except LakeLogicError as error:
            return f"failed: {error.problem.code}"
    failed = {rule.name: rule.failed for rule in result.rules}
    good, bad = read_rows(str(folder / "out")).rows, read_rows(str(folder / "out_quarantine")).rows
    told = {}
    for number in range(len(smalls)):
        kept = [
            _told({**{name: row[name] for name in TYPES}, "x": row[f"x{number}"]}) for row in good if row["g"] == number
        ]
        # The quarantine has what was read, so that there the number is a text.
        lost = [_told(_lost(row, number)) for row in bad if row["g"] == str(number)]
        told[number] = json.dumps([sorted(kept), sorted(lost), failed.get(f"r{number}")], ensure_ascii=False)
    return told


def _lost(row: dict[str, Any], number: int) -> dict[str, Any]:
    """A rejected row without what it says of the contracts beside its own."""
    own = {f"r{number}": "r", f"Rule failed: g <> {number} OR": "Rule failed:"}
    shown = {name: value for name, value in row.items() if name not in {*_HIDDEN, "g"}}
    for name in ("_lakelogic_errors", "_lakelogic_rules"):
        shown[name] = sorted(_STEP.sub("the step", _replaced(text, own)) for text in row[name])
    return shown


def _replaced(text: str, words: dict[str, str]) -> str:
    found = next((word for word in words if text == word or text.startswith(f"{word} ")), None)
    return text if found is None else words[found] + text[len(found) :]


def _told(row: dict[str, Any]) -> str:
    return json.dumps({name: plain(value) for name, value in row.items()}, sort_keys=True, ensure_ascii=False)


def _write(smalls: Sequence[Small], folder: Path) -> None:
    derived = [f"CASE WHEN g = {n} THEN {small.derived} END AS x{n}" for n, small in enumerate(smalls)]
    contract = {
        "version": "1.0.0",
        "dataset": "batch",
        "source": {"path": "input.csv"},
        "model": {"fields": [{"name": "g", "type": "int"}, *({"name": n, "type": t} for n, t in TYPES.items())]},
        "transformations": [{"sql": f"SELECT *, {', '.join(derived)} FROM source", "phase": "post"}],
        "quality": {
            "row_rules": [{"name": f"r{n}", "sql": f"g <> {n} OR {small.rule}"} for n, small in enumerate(smalls)]
        },
        "materialization": {"strategy": "overwrite", "target_path": "out"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False), encoding="utf-8")
    with (folder / "input.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["g", *TYPES], lineterminator="\n")
        writer.writeheader()
        writer.writerows({"g": n, **row} for n, small in enumerate(smalls) for row in small.rows)


def keep_answers(folder: Path) -> None:
    """Ask Spark again: `python -m tests.laws.batches FOLDER`, after a change of what contracts are made of."""
    from lakelogic.core.settings import read_settings
    from lakelogic.engine.spark.session import open_session

    spark = open_session(read_settings(os.environ), master="local[2]").spark
    lines = ["# Written by tests/laws/batches.py: batch, number of the contract, digest of what Spark gives for it."]
    for seed in range(KEPT):
        told = each_outcome(smalls_of(seed), "spark", folder / str(seed), spark=spark)
        lines += [f"{seed} {number} {digest(text)}" for number, text in sorted(told.items())]
    ANSWERS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    keep_answers(Path(sys.argv[1]))
