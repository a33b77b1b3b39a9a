"""Neither the key nor a personal value in clear is found in any file, log or page of a run."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lakelogic.core.keys import derive_keys

pytestmark = pytest.mark.spark

KEY = "needle-the-key-of-this-test-8471"
PERSONAL = ("needle-ann@example.com", "needle-bob@example.com", "needle-not-a-mail", "needle-broken")
CONTRACT = """\
dataset: people
source: { path: landing/people.csv }
model:
  fields:
    - { name: id, type: long, required: true }
    - { name: email, type: string, required: true, pii: true, masking: encrypt }
    - { name: mail_hash, type: string, pii: true, masking: hash }
    - { name: note, type: string, pii: true, masking: { strategy: partial, keep: 3 } }
transformations:
  - sql: "LOWER(TRIM(email)) AS email"
quality:
  row_rules:
    - sql: "email LIKE '%@%.%'"
materialization: { strategy: merge, primary_key: [id], target_path: lake/people }
"""
ROWS = """\
id,email,mail_hash,note
1,needle-ann@example.com,needle-ann@example.com,needle-ann@example.com
2,needle-bob@example.com,needle-bob@example.com,needle-bob@example.com
3,needle-not-a-mail,needle-not-a-mail,needle-not-a-mail
4,needle-broken,needle-broken
"""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory, spark_settings: Any) -> Path:
    """All that a run leaves: tables, logs, event log, pages of the UI."""
    folder = tmp_path_factory.mktemp("leaks")
    (folder / "contract.yaml").write_text(CONTRACT)
    landing = folder / "landing"
    landing.mkdir()
    (landing / "people.csv").write_text(ROWS)
    environ = {**os.environ, "LAKELOGIC_PII_KEY": KEY, "LAKELOGIC_JARS": str(spark_settings.jars)}
    probe = Path(__file__).with_name("leak_probe.py")
    done = subprocess.run(
        [sys.executable, str(probe), str(folder)], env=environ, capture_output=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    (folder / "stdout.log").write_bytes(done.stdout)
    (folder / "stderr.log").write_bytes(done.stderr)
    (landing / "people.csv").unlink()  # the source itself holds them, of course
    return folder


def _needles() -> dict[str, bytes]:
    keys = derive_keys(KEY)
    assert keys.encrypt is not None and keys.iv is not None
    needles = {"the key": KEY.encode()}
    needles |= {f"personal value {number}": value.encode() for number, value in enumerate(PERSONAL)}
    for name, key in (("hash", keys.hash), ("encrypt", keys.encrypt), ("iv", keys.iv)):
        needles[f"{name} key"] = key
        needles[f"{name} key as hex"] = key.hex().encode()
        needles[f"{name} key as base64"] = base64.b64encode(key)
    return needles


def test_no_file_log_or_page_holds_a_key_or_a_personal_value(traces: Path) -> None:
    files = [path for path in traces.rglob("*") if path.is_file() and path.name != "contract.yaml"]
    assert len(files) > 20
    assert any("events" in path.parts for path in files) and any("pages" in path.parts for path in files)
    found = []
    for path in files:
        content = path.read_bytes()
        lowered = content.lower()
        found += [f"{what} in {path.name}" for what, needle in _needles().items() if needle.lower() in lowered]
    assert found == []
