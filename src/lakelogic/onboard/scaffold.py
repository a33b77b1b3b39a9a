"""Start a project: copy the files of templates/ into a new folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from lakelogic.core.errors import RunError

# Where each template goes, relative to the new folder.
LAYOUT = {
    "contract.yaml": "contract.yaml",
    "customers.csv": "data/customers.csv",
    "README.md": "README.md",
}


def write_scaffold(folder: Path) -> tuple[Path, ...]:
    """Write a contract, its data and a few words about them; never overwrites a file."""
    targets = {name: folder / place for name, place in LAYOUT.items()}
    taken = [str(path) for path in targets.values() if path.exists()]
    if taken:
        raise RunError(
            f"`{taken[0]}` is already there",
            hint="choose another folder; nothing was written",
            code="LL481",
        )
    templates = files("lakelogic.onboard") / "templates"
    for name, path in targets.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((templates / name).read_bytes())
    return tuple(targets.values())
