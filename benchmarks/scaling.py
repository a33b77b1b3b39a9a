"""Past this machine: the cost model from the measured coefficients, and a simulated day of a large estate.

    python benchmarks/scaling.py                           print the model and a day of 50 TB over 10,000 contracts
    python benchmarks/scaling.py --terabytes 5 --contracts 1000 --cores 64
    python benchmarks/scaling.py --page                    write docs/scaling.md from benchmarks/results.json

The simulation knows rows, files, commits and contracts, and how many of them run at once. It knows nothing of networks,
shuffles between machines or slow stores: it is a floor, and says what is hit first.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "scaling.md"
CSV_BYTES_PER_ROW = 131  # of the checked load's input
DAY = 24 * 3600
ESTATES = ("estate_300", "estate_50", "estate_1")  # the largest that was measured counts


@dataclass(frozen=True)
class Costs:
    """Seconds of one core, but for `contract_s` and `commit_s`, which are waited for."""

    row_s: float  # read as text, cast, check, write
    file_s: float  # one more source file for the same rows
    contract_s: float  # one small contract, beyond what a script by hand takes
    commit_s: float  # one run that has next to nothing to do
    log_s: float  # what one more commit in a table's past adds to a run
    validate_s: float  # of one contract


def costs(results: dict[str, Any]) -> Costs:
    """The coefficients from the kept numbers."""
    parts, cores = results["parts"], results["machine"]["cores"]
    load = parts["checked_load"]["numbers"]
    csv = next(r for r in load["results"] if r["source"] == "csv" and r["name"] == "checked load")
    few, many = parts["costs"]["numbers"]["files"][0], parts["costs"]["numbers"]["files"][-1]
    commit = parts["costs"]["numbers"]["commits"]
    estate = next(parts[name]["numbers"] for name in ESTATES if name in parts)
    validate = parts["validate"]["numbers"][-1]
    return Costs(
        row_s=csv["median_s"] * cores / load["rows"],
        file_s=max(0.0, (many["median_s"] - few["median_s"]) * cores / (many["files"] - few["files"])),
        contract_s=max(0.0, estate["overhead_s"]),
        commit_s=commit["first_s"],
        log_s=max(0.0, (commit["last_s"] - commit["first_s"]) / (0.75 * commit["commits"])),
        validate_s=validate["median_s"] / validate["contracts"],
    )


@dataclass(frozen=True)
class Day:
    """What is to be done, and with what."""

    terabytes: float = 50.0
    contracts: int = 10_000
    cores: int = 256
    lanes: int = 64  # contracts that run at once, over all drivers
    runs: int = 4  # of each contract in a day
    file_mb: float = 128.0
    seed: int = 7


@dataclass(frozen=True)
class Outcome:
    seconds: float  # from the first start to the last end, of all runs
    work_s: float  # core seconds of rows and files
    waited_s: float  # seconds that runs spent on what no core helps with
    rows: float
    commits: int

    def busy(self, day: Day) -> float:
        return self.work_s / (self.seconds * day.cores)


def simulate(day: Day, cost: Costs) -> Outcome:
    """Runs of very unequal size in lanes; those that are at work share the cores evenly."""
    draw = random.Random(day.seed)
    weights = [draw.lognormvariate(0, 2) for _ in range(day.contracts)]
    whole = sum(weights)
    jobs = []
    for weight in weights:
        size = day.terabytes * 1e12 * weight / whole / day.runs
        rows, files = size / CSV_BYTES_PER_ROW, max(1.0, size / (day.file_mb * 1e6))
        jobs.append((rows * cost.row_s + files * cost.file_s, cost.commit_s + cost.contract_s))
    jobs = jobs * day.runs
    draw.shuffle(jobs)
    share = max(1.0, day.cores / day.lanes)
    lanes = [0.0] * day.lanes
    for work, waited in sorted(jobs, reverse=True):
        begun = heapq.heappop(lanes)
        # A large run has more tasks than its share and takes cores that others leave idle.
        cores = min(day.cores / 2, max(share, work / 600))
        heapq.heappush(lanes, begun + work / cores + waited)
    work_s, waited_s = sum(work for work, _ in jobs), sum(waited for _, waited in jobs)
    floor = work_s / day.cores
    rows = day.terabytes * 1e12 / CSV_BYTES_PER_ROW
    return Outcome(max(floor, *lanes), work_s, waited_s, rows, len(jobs))


def _amount(seconds: float) -> str:
    for limit, unit, divisor in ((1e-3, "µs", 1e-6), (1.0, "ms", 1e-3), (300.0, "s", 1.0), (3 * 3600.0, "min", 60.0)):
        if seconds < limit:
            return f"{seconds / divisor:.1f} {unit}"
    return f"{seconds / 3600:.1f} h"


TEXT = HERE / "scaling_template.md"


def simulated(cost: Costs) -> str:
    lines = ["| TB a day | contracts | cores | lanes | all runs take | cores at work |", "|---|---|---|---|---|---|"]
    for day in (Day(0.5, 300, 16, 8), Day(5, 1000, 64, 32), Day(50, 10_000, 128, 64), Day(50, 10_000, 256, 64),
                Day(50, 10_000, 256, 256), Day(50, 10_000, 512, 256)):  # fmt: skip
        found = simulate(day, cost)
        given = f"{day.terabytes:g} | {day.contracts:,} | {day.cores} | {day.lanes}"
        lines.append(f"| {given} | {found.seconds / 3600:.1f} h | {found.busy(day):.0%} |")
    return "\n".join(lines) + "\n"


def _caveat(parts: dict[str, Any]) -> str:
    """Which coefficients come from small runs."""
    used = ["checked_load", "costs", "validate", next(name for name in ESTATES if name in parts)]
    small = [name for name in used if parts[name]["quick"]]
    return f"\n**From small runs on a busy machine, so only a first idea: {', '.join(small)}.**\n" if small else ""


def render(results: dict[str, Any]) -> str:
    """docs/scaling.md."""
    cost, day = costs(results), Day()
    found = simulate(day, cost)
    measured = results["parts"]["costs"]["numbers"]
    size = day.terabytes * 1e12
    small = size / 1e6
    floor = found.work_s / DAY
    year = 365 * day.runs
    more_files = (small - size / (day.file_mb * 1e6)) * cost.file_s / 3600
    of_a_file = f"{_amount(cost.file_s)} of one core" if cost.file_s else "less than the noise"
    of_small_files = f"{more_files:,.0f} core hours" if more_files else "nothing that these numbers show"
    return TEXT.read_text(encoding="utf-8").format(
        cores=results["machine"]["cores"], row=_amount(cost.row_s), file=of_a_file,
        contract=_amount(cost.contract_s), commit=_amount(cost.commit_s), log=_amount(cost.log_s),
        validate=_amount(cost.validate_s), files=measured["files"][-1]["files"],
        commits=measured["commits"]["commits"], terabytes=day.terabytes, rows=found.rows / 1e9,
        width=CSV_BYTES_PER_ROW, work=found.work_s / 3600, floor=floor, wanted=floor / 0.6, file_mb=day.file_mb,
        file_count=size / (day.file_mb * 1e6), small_count=small,
        small=of_small_files, contracts=day.contracts, runs=day.runs,
        commit_count=found.commits, waited=found.waited_s / 3600, lanes_needed=max(1.0, found.waited_s / DAY),
        validate_all=_amount(cost.validate_s * day.contracts), year=year, year_log=_amount(cost.log_s * year),
        table=simulated(cost), caveat=_caveat(results["parts"]), engine=measured["engine"],
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("terabytes", "contracts", "cores", "lanes", "runs"):
        parser.add_argument(f"--{name}", type=float if name == "terabytes" else int, default=getattr(Day, name, None))
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--page", action="store_true", help="write docs/scaling.md")
    options = parser.parse_args()
    results = json.loads(options.results.read_text())
    if options.page:
        PAGE.write_text(render(results), encoding="utf-8")
        return
    cost = costs(results)
    print(cost)
    given = {name: value for name in ("terabytes", "contracts", "cores", "lanes", "runs")
             if (value := getattr(options, name)) is not None}  # fmt: skip
    day = Day(**given)
    found = simulate(day, cost)
    print(day)
    print(f"{found.rows / 1e9:.1f} billion rows, {found.commits:,} runs: {found.seconds / 3600:.1f} h; "
          f"{found.work_s / 3600:,.0f} core hours of work, cores {found.busy(day):.0%} busy, "
          f"{found.waited_s / 3600:,.0f} h waited for commits and planning")  # fmt: skip


if __name__ == "__main__":
    main()
