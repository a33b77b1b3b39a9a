"""A runner that goes through the same edge as the console script."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from lakelogic.cli.main import main


@dataclass(frozen=True)
class Outcome:
    code: int
    stdout: str
    stderr: str


Lakelogic = Callable[..., Outcome]


@pytest.fixture
def lakelogic(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lakelogic:
    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["lakelogic", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        captured = capsys.readouterr()
        return Outcome(code if isinstance(code, int) else 0, captured.out, captured.err)

    return call
