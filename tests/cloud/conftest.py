"""One S3 server per test process, and an estate on it whose source, target, quarantine and records all lie there."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cloud.support import BUCKET, KEY_ID, SECRET, Estate

from lakelogic.storage import objects, resolver

_SERVER = Path(__file__).parent / "s3_server.py"


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    pytest.importorskip("moto", reason="moto is not installed: make setup")
    pytest.importorskip("obstore", reason="obstore is not installed: make setup")
    server = subprocess.Popen(
        [sys.executable, str(_SERVER)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout is not None
    endpoint = f"http://127.0.0.1:{server.stdout.readline().strip()}"
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{BUCKET}", method="PUT"))
    yield endpoint
    server.terminate()
    server.wait()


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """The address of an empty folder on the server, with the environment that opens it."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3_endpoint)
    resolver.forget_storage()
    yield f"s3://{BUCKET}/{uuid.uuid4().hex[:8]}"
    resolver.forget_storage()
    objects.forget_stores()


@pytest.fixture
def estate(s3: str, tmp_path: Path) -> Estate:
    return Estate(tmp_path, s3)
