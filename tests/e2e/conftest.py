"""The installed program, run as a person runs it: another process, in an empty folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with the examples and the policy packs in it, as in a fresh clone."""
    outputs = shutil.ignore_patterns("lakehouse", "_lakelogic", "output")
    shutil.copytree(REPO / "examples", tmp_path / "examples", ignore=outputs)
    shutil.copytree(REPO / "policy_packs", tmp_path / "policy_packs")
    return tmp_path


@pytest.fixture
def shell(workplace: Path) -> Program:
    """Run a command line in the workplace, with the program in PATH and no settings but the jars."""

    def run(line: str, *, environ: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LAKELOGIC_")}
        if "LAKELOGIC_JARS" in os.environ:
            kept["LAKELOGIC_JARS"] = os.environ["LAKELOGIC_JARS"]
        kept["PATH"] = f"{BIN}{os.pathsep}{kept.get('PATH', '')}"
        return subprocess.run(
            line,
            shell=True,
            cwd=workplace,
            env={**kept, **(environ or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run


@pytest.fixture(scope="session")
def spark_ready() -> bool:
    done = subprocess.run([str(BIN / "lakelogic"), "doctor", "--engine", "spark"], capture_output=True, check=False)
    return done.returncode == 0
