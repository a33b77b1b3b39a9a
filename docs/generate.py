"""Write the parts of docs/ that repeat what the code and its tests say: settings, commands, semantics."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from lakelogic.core.settings import VARIABLES

DOCS = Path(__file__).parent
MARK = "<!-- settings -->"
COMMANDS = (
    "run", "validate", "verify", "explain", "dag", "pipeline", "ddl", "maintain", "reset", "reload", "dates", "schema",
    "init", "bootstrap", "doctor", "setup", "runs list", "runs show",
    "approvals list", "approvals approve", "approvals discard",
)  # fmt: skip


def settings_table() -> str:
    """One row per variable that is read."""
    rows = (f"| `{name}` | {meaning} |\n" for name, meaning in VARIABLES.items())
    return "| variable | meaning |\n|---|---|\n" + "".join(rows)


def write_settings() -> None:
    page = DOCS / "setup.md"
    before = page.read_text(encoding="utf-8").partition(MARK)[0]
    page.write_text(f"{before}{MARK}\n\n{settings_table()}", encoding="utf-8")


def write_commands() -> None:
    """The help of every command, as the terminal shows it."""
    parts = ["# Commands\n\nWritten by `make docs` from the help texts.\n"]
    environ = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "TERM": "dumb"}
    for command in COMMANDS:
        arguments = [str(Path(sys.executable).parent / "lakelogic"), *command.split(), "--help"]
        text = subprocess.run(arguments, env=environ, capture_output=True, text=True, check=True).stdout
        lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        parts.append(f"\n## {command}\n\n```\n{lines}\n```\n")
    (DOCS / "reference" / "commands.md").write_text("".join(parts), encoding="utf-8")


def write_semantics() -> None:
    """What expressions give, from the list that the tests compute."""
    sys.path.insert(0, str(DOCS.parent))
    from tests.semantics.probes import read_probes, render_page

    (DOCS / "reference" / "semantics.md").write_text(render_page(read_probes()), encoding="utf-8")


if __name__ == "__main__":
    write_semantics()
    write_settings()
    write_commands()
