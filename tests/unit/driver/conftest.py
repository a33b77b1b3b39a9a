"""Estates written from a few words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file below the folder that the test works in."""
    monkeypatch.chdir(tmp_path)

    def put(name: str, text: str) -> Path:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return put


@pytest.fixture
def contract(write: Write) -> Callable[..., Path]:
    """Write a contract that reads a path and writes `lake/<name>`."""

    def put(name: str, *lines: str, source: str = "in.csv", folder: str = "c") -> Path:
        text = [
            f"dataset: {name}",
            f"source: {{ path: {source} }}",
            "model: { fields: [{ name: id, type: string }] }",
            f"materialization: {{ target_path: lake/{name} }}",
            *lines,
        ]
        return write(f"{folder}/{name}.yaml", "\n".join(text) + "\n")

    return put
