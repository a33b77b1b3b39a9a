"""The bars of the design, and what was measured for each: numbers in, rows of a table out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Parts = dict[str, Any]


@dataclass(frozen=True)
class Held:
    """One bar, with the figure that was measured for it."""

    workload: str
    bar: str
    figure: str
    held: bool | None  # None: not measured
    command: str


@dataclass(frozen=True)
class Bar:
    workload: str
    bar: str
    part: str
    judge: Callable[[Any], tuple[str, bool]]


def ratio(results: list[dict[str, Any]], ours: dict[str, Any], theirs: dict[str, Any]) -> float:
    """Our median against that of another entry, both found by what they are."""
    return find(results, **ours)["median_s"] / find(results, **theirs)["median_s"]


def find(results: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    return next(each for each in results if all(each.get(key) == value for key, value in wanted.items()))


def _against(source: str, name: str, limit: float) -> Callable[[Any], tuple[str, bool]]:
    def judge(numbers: Any) -> tuple[str, bool]:
        ours, theirs = {"source": source, "name": "checked load"}, {"source": source, "name": name}
        value = ratio(numbers["results"], ours, theirs)
        return f"{value:.2f}x", value <= limit

    return judge


def _local(engine: str) -> Callable[[Any], tuple[str, bool]]:
    def judge(numbers: Any) -> tuple[str, bool]:
        ours = find(numbers["results"], engine=engine, name="checked load")
        hand = find(numbers["results"], engine=engine, name="hand-written")
        value = ours["median_s"] / hand["median_s"]
        return f"{value:.2f}x, {ours['memory_mib']} MiB against {hand['memory_mib']} MiB", value <= 1.5

    return judge


def _merge(numbers: Any) -> tuple[str, bool]:
    value = numbers["ratios"]["hand-written"]
    return f"{value:.2f}x", value <= 1.15


def _scd2(numbers: Any) -> tuple[str, bool]:
    seconds, rewritten = (numbers["ratios"][f"growth in {what}"] for what in ("seconds", "bytes rewritten"))
    return f"{seconds:.2f}x the seconds, {rewritten:.2f}x the bytes rewritten", seconds <= 2 and rewritten <= 2


def _estate(numbers: Any) -> tuple[str, bool]:
    return f"{numbers['overhead_s']:.2f} s", numbers["overhead_s"] <= 1.5


def _validate(numbers: Any) -> tuple[str, bool]:
    value = find(numbers, contracts=1000)["median_s"]
    return f"{value:.2f} s", value <= 5


def _tpch(numbers: Any) -> tuple[str, bool]:
    queries = ", ".join(numbers["answers"])
    return ("; ".join(numbers["wrong"]) or f"{queries} equal, {numbers['seconds']:.0f} s"), not numbers["wrong"]


BARS = (
    Bar("checked load from Parquet against a typed copy", "<= 1.3x", "checked_load",
        _against("parquet", "typed copy", 1.3)),
    Bar("checked load from CSV against a typed copy", "<= 1.3x", "checked_load", _against("csv", "typed copy", 1.3)),
    Bar("checked load from Parquet against hand-written PySpark", "<= 0.5x", "checked_load",
        _against("parquet", "hand-written", 0.5)),
    Bar("checked load from CSV against hand-written PySpark", "<= 0.5x", "checked_load",
        _against("csv", "hand-written", 0.5)),
    Bar("checked load on DuckDB against a script by hand", "<= 1.5x", "local", _local("duckdb")),
    Bar("checked load on Polars against a script by hand", "<= 1.5x", "local", _local("polars")),
    Bar("merge of a batch against a hand-written Delta MERGE", "<= 1.15x", "merge", _merge),
    Bar("SCD2: ten times the table, the same batch", "<= 2x", "scd2", _scd2),
    Bar("driver, 50 small contracts: overhead per contract", "<= 1.5 s", "estate_50", _estate),
    Bar("driver, 300 small contracts: overhead per contract", "<= 1.5 s", "estate_300", _estate),
    Bar("`lakelogic validate` on 1,000 contracts", "<= 5 s", "validate", _validate),
    Bar("TPC-H scale 1, 40 rules: answers equal the published ones", "equal", "tpch", _tpch),
)  # fmt: skip


def judge(parts: Parts) -> list[Held]:
    """Every bar with its figure; a bar whose part was measured small or not at all is not judged."""
    rows = [_one(bar, parts.get(bar.part)) for bar in BARS]
    return [*rows[:6], peers(parts), *rows[6:], memory(parts)]


def _one(bar: Bar, part: dict[str, Any] | None) -> Held:
    if part is None or part["quick"]:
        return Held(bar.workload, bar.bar, "not measured", None, part["command"] if part else "")
    figure, held = bar.judge(part["numbers"])
    return Held(bar.workload, bar.bar, figure, held, part["command"])


def ways(parts: Parts) -> list[tuple[str, float, str]]:
    """Every way to do the checked load of the peers' rows that was measured: name, seconds, what it does not do."""
    found = []
    same = parts.get("same_rows", {}).get("numbers", {})
    for each in same.get("results", []):
        label = {"typed copy": "plain copy, no checks (Spark)", "checked load": "LakeLogic (Spark)",
                 "hand-written": "hand-written PySpark"}[each["name"]]  # fmt: skip
        found.append((label, each["median_s"], ""))
    for each in same.get("local", []):
        engine = {"duckdb": "DuckDB", "polars": "Polars"}[each["engine"]]
        label = {"typed copy": f"plain copy, no checks ({engine})", "checked load": f"LakeLogic ({engine})",
                 "hand-written": f"hand-written {engine}"}[each["name"]]  # fmt: skip
        found.append((label, each["median_s"], ""))
    for each in parts.get("peers", {}).get("numbers", []):
        if "median_s" in each:
            limits = "" if each["row_verdicts"] else "no row verdicts"
            found.append((f"{NAMES[each['peer']]} ({ENGINES[each['engine']]})", each["median_s"], limits))
    return sorted(found, key=lambda way: way[1])


NAMES = {"great_expectations": "Great Expectations", "dqx": "DQX", "pandera": "Pandera", "soda": "Soda",
         "lakelogic_pypi": "`lakelogic` of PyPI"}  # fmt: skip
ENGINES = {"spark": "Spark", "duckdb": "DuckDB", "polars": "Polars"}


def peers(parts: Parts) -> Held:
    """Our best engine against each peer on its best."""
    name, bar = "checked load against each peer, each on its best engine", "faster than all"
    part, same = parts.get("peers"), parts.get("same_rows")
    if part is None or part["quick"] or same is None or same["quick"]:
        return Held(name, bar, "not measured", None, part["command"] if part else "")
    found = ways(parts)
    ours = min((way for way in found if way[0].startswith("LakeLogic (")), key=lambda way: way[1])
    theirs = {NAMES[each["peer"]] for each in part["numbers"]}
    quicker = [way for way in found if way[1] < ours[1] and way[0].rsplit(" (", 1)[0] in theirs]
    told = ", ".join(f"{way[0]} {way[1]:.1f} s" + (f", {way[2]}" if way[2] else "") for way in quicker)
    figure = f"ours {ours[1]:.1f} s on {ours[0][11:-1]}; faster: {told}" if quicker else f"fastest, {ours[1]:.1f} s"
    return Held(name, bar, figure, not quicker, part["command"])


def memory(parts: Parts) -> Held:
    """The driver's peak at two sizes of the same load."""
    name, bar = "driver process memory as rows grow", "flat"
    small, large = parts.get("same_rows"), parts.get("checked_load")
    if small is None or large is None or large["quick"] or small["quick"]:
        return Held(name, bar, "not measured", None, large["command"] if large else "")
    few, many = small["numbers"], large["numbers"]
    figure = (f"{few['driver_memory_mib']} MiB at {few['rows']:,} rows, "
              f"{many['driver_memory_mib']} MiB at {many['rows']:,}")  # fmt: skip
    return Held(name, bar, figure, many["driver_memory_mib"] <= 1.2 * few["driver_memory_mib"], large["command"])
