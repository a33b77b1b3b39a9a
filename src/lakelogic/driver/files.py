"""Which files belong to an estate; imports nothing heavy, because the command line does so at its start."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

_PACKS = "policy_packs"


def find_contracts(paths: Iterable[Path]) -> Iterator[Path]:
    """Files as they are named; of a folder, its YAML files that are contracts."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for file in sorted([*path.rglob("*.yaml"), *path.rglob("*.yml")]):
            # `_system.yaml`, `_lakelogic/`, `.git/` and policy packs are not contracts.
            hidden = any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
            if not hidden and file.absolute().parent.name != _PACKS:
                yield file


def is_registry(path: Path) -> bool:
    """Whether a file is a registry, by its name."""
    return path.name in ("_registry.yaml", "_registry.yml")
