"""The soak of files, for a few seconds; `python tests/soak/files.py` goes on for ten minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_every_record_of_awkward_files_lands_once() -> None:
    command = [sys.executable, str(Path(__file__).with_name("files.py")), "--seconds", "10", "--seed", "3"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "every record landed exactly once" in done.stdout
