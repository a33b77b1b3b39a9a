"""Pictures of the benchmarks. Needs matplotlib (`pip install 'lakelogic[bench]'`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bars import ways

OURS, HAND, COPY, PEER = "#1f6feb", "#8c6d1f", "#9aa0a6", "#c9ccd1"


def draw_all(parts: dict[str, Any], folder: Path) -> list[str]:
    """Draw what was measured; the names of the files that were written."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 110}
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, draw, needs in (("ways", draw_ways, ("same_rows",)), ("rules", draw_rules, ("rules",)),
                              ("growth", draw_growth, ("merge", "scd2"))):  # fmt: skip
        if all(need in parts for need in needs):
            figure = draw(parts)
            # No date and no version inside: the same numbers give the same file.
            figure.savefig(folder / f"benchmarks_{name}.png", metadata={"Software": None}, bbox_inches="tight")
            drawn.append(f"benchmarks_{name}.png")
    return drawn


def draw_ways(parts: dict[str, Any]) -> Any:
    """How long each way takes for the same rows and rules, as a multiple of a plain copy on Spark."""
    import matplotlib.pyplot as plt

    found = ways(parts)
    copy = next(seconds for name, seconds, _ in found if name == "plain copy, no checks (Spark)")
    rows = parts["same_rows"]["numbers"]["rows"]
    figure, axes = plt.subplots(figsize=(8.5, 0.42 * len(found) + 1.2))
    for place, (name, seconds, lacks) in enumerate(reversed(found)):
        axes.barh(place, seconds / copy, color=_colour(name))
        note = f" {seconds / copy:.1f}x   {seconds:.1f} s" + (f"   ({lacks})" if lacks else "")
        axes.text(seconds / copy, place, note, va="center", fontsize=9)
    axes.set_yticks(range(len(found)), [name.replace("`", "") for name, _, _ in reversed(found)])
    for label in axes.get_yticklabels():
        if label.get_text().startswith("LakeLogic ("):
            label.set_fontweight("bold")
    axes.axvline(1, color=COPY, linewidth=1, linestyle="--")
    axes.set_xlim(0, max(seconds for _, seconds, _ in found) / copy * 1.3)
    axes.set_xlabel("times a plain copy on Spark (shorter is better)")
    axes.set_title(f"Check {rows:,} rows with 10 rules and write them to a table", loc="left", fontweight="bold")
    return figure


def _colour(name: str) -> str:
    if name.startswith("LakeLogic ("):
        return OURS
    if name.startswith("hand-written"):
        return HAND
    return COPY if name.startswith("plain copy") else PEER


def draw_rules(parts: dict[str, Any]) -> Any:
    """What more rules and more bad rows cost."""
    import matplotlib.pyplot as plt

    results = parts["rules"]["numbers"]["results"]
    copy = results[0]["median_s"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 2.8))
    for axes, picked, labels, title in (
        (left, [r for r in results[1:] if r["bad"] == 2], "rules", "2 % bad rows"),
        (right, sorted((r for r in results[1:] if r["rules"] == 10), key=lambda r: r["bad"]), "bad", "10 rules"),
    ):
        texts = [f"{r[labels]} rules" if labels == "rules" else f"{r[labels]} % bad" for r in picked]
        bars = axes.bar(texts, [r["median_s"] / copy for r in picked], color=OURS)
        axes.bar_label(bars, [f"{r['median_s'] / copy:.2f}x" for r in picked], fontsize=9)
        axes.axhline(1, color=COPY, linewidth=1, linestyle="--")
        axes.set_title(title, loc="left")
    left.set_ylabel("times a typed copy")
    return figure


def draw_growth(parts: dict[str, Any]) -> Any:
    """The same batch into a small and a large table."""
    import matplotlib.pyplot as plt

    merge = [r for r in parts["merge"]["numbers"]["results"] if r["name"] == "LakeLogic"]
    scd2 = [(int(size), each["LakeLogic"]["seconds"]) for size, each in parts["scd2"]["numbers"]["results"].items()]
    figure, axes = plt.subplots(figsize=(8.5, 2.6))
    lines = {"merge": [(r["target"], r["median_s"]) for r in merge], "SCD2": scd2}
    for (name, points), colour in zip(lines.items(), (OURS, HAND), strict=True):
        axes.plot(*zip(*points, strict=True), marker="o", label=name, color=colour)
    axes.set_xscale("log")
    axes.set_ylim(0)
    axes.set_xlabel("rows of the table")
    axes.set_ylabel("seconds for one batch")
    axes.legend(frameon=False)
    return figure
