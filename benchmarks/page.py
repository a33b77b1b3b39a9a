"""docs/benchmarks.md, written from the numbers alone: what the page says was measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bars import ENGINES, NAMES, Held, judge, ways
from plots import draw_all

PROFILES = Path(__file__).resolve().with_name("profiles.json")
HEAD = """\
# Benchmarks

<!-- Written by benchmarks/all.py from benchmarks/results.json: change those, not this page. -->

{picture}The job: read {rows:,} rows of text from Parquet, give twelve columns their types, check ten rules (three of
them patterns), write the good rows to one table and the 2 % bad ones, with their reasons, to another. A plain copy only
reads, casts and writes.
{opening}

One command measures everything, draws the pictures and writes this page; seconds are of one machine, ratios carry over:

```text
make bench                              # everything: an hour on two cores
python benchmarks/all.py --quick        # everything, small
python benchmarks/all.py --parts local  # one part again
```
"""


def write_page(results: dict[str, Any], page: Path) -> None:
    """Draw the pictures beside the page and write it."""
    draw_all(full_size(results["parts"]), page.parent / "images")
    page.write_text(render(results, json.loads(PROFILES.read_text()) if PROFILES.exists() else {}), encoding="utf-8")


def render(results: dict[str, Any], profiles: dict[str, str]) -> str:
    """The whole page. `profiles` explain bars that were missed, by their workload."""
    parts = full_size(results["parts"])
    held = judge(parts)
    sections = [_head(parts), _bars(held), _missed(held, profiles), _peers(parts), _local(parts), _rules(parts),
                _growth(parts), _estates(parts), _startup(parts), _tpch(parts), _machine(results)]  # fmt: skip
    return "\n".join(section for section in sections if section)


def full_size(parts: dict[str, Any]) -> dict[str, Any]:
    """What a small run gives shows that everything works, and is no figure for a page."""
    return {name: part for name, part in parts.items() if not part["quick"]}


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _head(parts: dict[str, Any]) -> str:
    rows = parts["same_rows"]["numbers"]["rows"] if "same_rows" in parts else 0
    found = {name: seconds for name, seconds, _ in ways(parts)}
    copy, ours = found.get("plain copy, no checks (Spark)"), found.get("LakeLogic (Spark)")
    opening = ""
    if copy and ours:
        hand = found["hand-written PySpark"]
        opening = (f"On Spark LakeLogic takes {ours / copy:.2f} times as long as the copy, and {ours / hand:.2f} times "
                   "as long as PySpark written by hand.")  # fmt: skip
    picture = "![Time to check and write the same rows, as a multiple of a plain copy](images/benchmarks_ways.png)\n\n"
    return HEAD.format(rows=rows, opening=opening, picture=picture if rows else "")


def _bars(held: list[Held]) -> str:
    words = {True: "held", False: "**missed**", None: ""}
    rows = [[each.workload, each.bar, each.figure, words[each.held], f"`{each.command}`" if each.command else ""]
            for each in held]  # fmt: skip
    return "## The bars of the design\n\n" + table(["workload", "bar", "measured", "", "command"], rows)


def _missed(held: list[Held], profiles: dict[str, str]) -> str:
    missed = [each for each in held if each.held is False]
    if not missed:
        return ""
    told = [
        f"**{each.workload}** ({each.figure}): {profiles.get(each.workload, 'not explained yet.')}\n" for each in missed
    ]
    return "### Why bars were missed\n\n" + "\n".join(told)


def _peers(parts: dict[str, Any]) -> str:
    if "peers" not in parts:
        return ""
    rows = []
    for each in parts["peers"]["numbers"]:
        name = NAMES[each["peer"]]
        if "did_not_run" in each:
            rows.append([name, "", "", "", "", f"did not run: {each['did_not_run']}"])
            continue
        verdicts = "row by row" if each["row_verdicts"] else "how many, not which"
        agrees = "the same as ours" if each["agrees"] else "**other than ours**"
        rows.append([f"{name} {each['version']}", ENGINES[each["engine"]], f"{each['median_s']:.1f} s", verdicts,
                     each["writes"], agrees])  # fmt: skip
    text = "\n## Other tools\n\nEach in an environment of its own, with the same rows and rules in its own words.\n\n"
    return text + table(["tool", "engine", "time", "verdicts", "writes", "answer"], rows)


def _local(parts: dict[str, Any]) -> str:
    names = [name for name in ("local", "local_csv", "local_jsonl") if name in parts]
    return "".join(_local_part(parts[name]["numbers"]) for name in names)


def _local_part(numbers: dict[str, Any]) -> str:
    rows = [[ENGINES[each["engine"]], each["name"], f"{each['median_s']:.2f} s", f"{each['memory_mib']:,} MiB"]
            for each in numbers["results"]]  # fmt: skip
    source = {"parquet": "Parquet", "csv": "CSV", "jsonl": "JSON lines"}[numbers["source"]]
    head = f"\n## Without Spark, {numbers['rows']:,} rows from {source}\n\n"
    return head + table(["engine", "way", "time", "peak memory"], rows)


def _rules(parts: dict[str, Any]) -> str:
    if "rules" not in parts:
        return ""
    numbers = parts["rules"]["numbers"]
    copy = numbers["results"][0]["median_s"]
    rows = [
        [each["name"], f"{each['median_s']:.1f} s", f"{each['median_s'] / copy:.2f}x"] for each in numbers["results"]
    ]
    text = f"\n## More rules, more bad rows: {numbers['rows']:,} rows on Spark\n\n![](images/benchmarks_rules.png)\n\n"
    return text + table(["load", "time", "against a typed copy"], rows)


def _growth(parts: dict[str, Any]) -> str:
    if "merge" not in parts or "scd2" not in parts:
        return ""
    found = [("merge", each["name"], each["target"], each["median_s"], each["bytes_rewritten"])
             for each in parts["merge"]["numbers"]["results"]]  # fmt: skip
    for size, each in parts["scd2"]["numbers"]["results"].items():
        found += [("SCD2", name, int(size), one["seconds"], one["bytes_rewritten"]) for name, one in each.items()]
    rows = [[strategy, name, f"{size:,}", f"{seconds:.1f} s", f"{rewritten / 2**20:.1f} MiB"]
            for strategy, name, size, seconds, rewritten in found]  # fmt: skip
    batch = parts["merge"]["numbers"]["batch"]
    text = f"\n## Batches of {batch:,} rows into tables that grow\n\n![](images/benchmarks_growth.png)\n\n"
    return text + table(["strategy", "way", "rows of the table", "time", "rewritten"], rows)


def _estates(parts: dict[str, Any]) -> str:
    found = [parts[name]["numbers"] for name in ("estate_1", "estate_50", "estate_300") if name in parts]
    if not found:
        return ""
    rows = [[str(each["contracts"]), f"{each['pipeline_s']:.1f} s", f"{each['by_hand_s']:.1f} s",
             f"{each['overhead_s']:.2f} s"] for each in found]  # fmt: skip
    text = "\n## Estates of small contracts on one Spark application\n\n"
    return text + table(["contracts", "pipeline", "the same by hand", "overhead per contract"], rows)


def _startup(parts: dict[str, Any]) -> str:
    if "startup" not in parts:
        return ""
    rows = [[f"`{each['name']}`", f"{each['median_s']:.2f} s"] for each in parts["startup"]["numbers"]["results"]]
    return "\n## Start-up: whole commands on two rows\n\n" + table(["command", "time"], rows)


def _tpch(parts: dict[str, Any]) -> str:
    if "tpch" not in parts:
        return ""
    numbers = parts["tpch"]["numbers"]
    rows = [[f"`{each['dataset']}`", f"{each['read']:,}", f"{each['accepted']:,}", f"{each['quarantined']:,}",
             f"{each['seconds']:.1f} s"] for each in numbers["contracts"]]  # fmt: skip
    wrong = "; ".join(numbers["wrong"])
    equal = "the published ones" if numbers["scale"] == "1" else "those of DuckDB"
    told = wrong or f"Queries {', '.join(numbers['answers'])}: all answers equal {equal}."
    text = (f"\n## TPC-H at scale {numbers['scale']} as an estate\n\n[The estate](../examples/tpch/README.md) with 40 "
            f"rules, from files of text to Gold, in {numbers['seconds']:.0f} s. {told}\n\n")  # fmt: skip
    return text + table(["contract", "read", "accepted", "quarantined", "time"], rows)


def _machine(results: dict[str, Any]) -> str:
    facts = results.get("machine", {})
    rows = [[name, str(value)] for name, value in facts.items()]
    when = [[name, part["measured_at"] + (" (small)" if part["quick"] else ""), f"{part['took_s']:.0f} s"]
            for name, part in results["parts"].items()]  # fmt: skip
    text = "\n## Where and when\n\nMedians of the rounds (`--repeat`) after a first one that is not counted.\n\n"
    return text + table(["", ""], rows) + "\n" + table(["part", "measured (UTC)", "took"], when)
