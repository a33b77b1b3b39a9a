"""Show what a run of the insurance example left behind. Reads the tables only; run the pipeline first."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
LAKE = HERE / "output" / "lakehouse"
LAYERS = ("reference", "bronze", "silver", "gold")
Row = dict[str, Any]


def rows(table: str) -> list[Row]:
    path = LAKE / table
    found: list[Row] = DeltaTable(str(path)).to_pyarrow_table().to_pylist() if (path / "_delta_log").is_dir() else []
    return found


def tables(layer: str) -> list[str]:
    found = (log.parent.name for log in sorted((LAKE / layer).glob("*/_delta_log")))
    return [f"{layer}/{name}" for name in found if not name.endswith("_quarantine")]


def draw(console: Console, title: str, columns: list[str], lines: list[list[object]], note: str = "") -> None:
    """A table as a person likes to read it: numbers to the right, few lines."""
    table = Table(title=title, title_justify="left", title_style="bold cyan", header_style="bold", caption=note,
                  caption_justify="left", border_style="dim")  # fmt: skip
    for at, name in enumerate(columns):
        number = bool(lines) and all(_is_number(line[at]) for line in lines)
        table.add_column(name, justify="right" if number else "left", overflow="fold")
    for line in lines:
        table.add_row(
            *("" if value in (None, 0) else f"{value:,}" if _is_number(value) else str(value) for value in line)
        )
    console.print()
    console.print(table)


def _is_number(value: object) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def show_tables(console: Console) -> None:
    lines: list[list[object]] = []
    for layer in LAYERS:
        for name in tables(layer):
            good, bad = len(rows(name)), len(rows(f"{name}_quarantine"))
            lines.append([layer, name.split("/")[1], good, bad, DeltaTable(str(LAKE / name)).version() + 1])
    draw(console, "Tables", ["layer", "table", "rows", "set aside", "commits"], lines)


def show_quarantine(console: Console) -> None:
    """The reasons with their numbers, each with one of its rows."""
    lines: list[list[object]] = []
    for name in tables("silver"):
        bad = rows(f"{name}_quarantine")
        counted = Counter(reason for row in bad for reason in row["_lakelogic_errors"])
        for reason, number in counted.most_common(4):
            example = min((row for row in bad if reason in row["_lakelogic_errors"]), key=_id)
            lines.append([name.split("/")[1], number, reason, " ".join(example["_lakelogic_categories"]), _id(example)])
    note = "Nothing is dropped: each row lies beside its table as it was read, with every reason."
    draw(console, "Why rows were set aside", ["table", "rows", "reason", "category", "for example"], lines, note)


def _id(row: Row) -> str:
    own = [str(row[name]) for name in ("claim_id", "policy_id", "customer_id") if row.get(name)]
    return own[0] if own else "(no key)"


def show_history(console: Console) -> None:
    """The customer whose life changed most: tracked columns open versions, personal ones are masked."""
    versions = rows("silver/customers")
    busiest = min(Counter(row["customer_id"] for row in versions).items(), key=lambda each: (-each[1], each[0]))[0]
    columns = ["version", "valid_from", "valid_to", "country", "city", "tier", "email", "is_current"]
    life = sorted((row for row in versions if row["customer_id"] == busiest), key=lambda row: row["version"])
    lines: list[list[object]] = [[_short(row[column]) for column in columns] for row in life]
    note = "SCD2: each state with the time it was true; the address is a hash that still joins."
    draw(console, f"The history of customer {busiest}", columns, lines, note)


def _short(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, datetime):
        return "open" if value.year == 9999 else f"{value:%Y-%m-%d %H:%M}"
    return f"{value[:12]}..." if isinstance(value, str) and len(value) > 24 else value


def show_gold(console: Console) -> None:
    columns = ["product", "claims", "claimed", "paid", "yearly_premium", "loss_ratio"]
    best = sorted(rows("gold/loss_ratio"), key=lambda row: -row["loss_ratio"])
    lines: list[list[object]] = [[row[column] for column in columns] for row in best]
    draw(console, "What it is all for: claims against premiums", columns, lines)


NEXT = """
[bold cyan]Where things are[/bold cyan]
  contracts    {contracts}
  tables       {lake}        [dim]<table>_quarantine beside each[/dim]
  run log      _lakelogic, in the folder of each layer

[bold cyan]What to try next[/bold cyan]  [dim](. .venv/bin/activate puts lakelogic in your path)[/dim]
  lakelogic runs {lake}
  lakelogic dag {contracts}
  lakelogic explain {contracts}/insurance/silver/customers.yaml
  python {here}/generate.py --late    [dim]# claims that a vendor forgot arrive late[/dim]
  lakelogic pipeline {contracts}    [dim]# what is new, and nothing else[/dim]
  lakelogic pipeline {contracts} --window range --window-start-date 2026-02-01 --window-end-date 2026-02-05
"""


def main() -> None:
    console = Console(highlight=False)
    if not LAKE.is_dir():
        raise SystemExit("there are no tables yet: run the pipeline first (make demo)")
    for show in (show_tables, show_quarantine, show_history, show_gold):
        show(console)
    near = {"here": HERE, "contracts": HERE / "contracts", "lake": LAKE}
    console.print(NEXT.format(**{name: _relative(path) for name, path in near.items()}), soft_wrap=True)


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    main()
