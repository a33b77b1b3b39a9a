"""Cipher texts differ from run to run, so no case can hold them: here they are opened with the key."""

from __future__ import annotations

import base64
import hashlib
import hmac
import shutil
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from lakelogic.core.secrets import Secret
from lakelogic.core.settings import Settings
from lakelogic.run.processor import DataProcessor
from lakelogic.table.sample import read_rows

SECRET = "a secret for cases only"
CASES = Path(__file__).parent


def opened(text: str, secret: str = SECRET) -> str:
    """Decrypt by the written form alone: `enc:`, base64, 12 bytes iv, AES-256-GCM."""
    key = hmac.new(secret.encode(), b"lakelogic/v1/encrypt", hashlib.sha256).digest()
    sealed = base64.b64decode(text.removeprefix("enc:"), validate=True)
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], None).decode()


def run_case(name: str, folder: Path, engine: str, session: Any) -> Any:
    shutil.copytree(CASES / name, folder, dirs_exist_ok=True)
    settings = Settings(pii_key=Secret(SECRET, remember=False))
    return DataProcessor(folder / "contract.yaml", engine, session, settings=settings).run()


def test_an_encrypted_column_opens_with_the_key_and_only_with_it(engine: str, session: Any, tmp_path: Path) -> None:
    run_case("masking_encrypt_deterministic", tmp_path, engine, session)
    rows = {row["id"]: row for row in read_rows(str(tmp_path / "out" / "rows")).rows}
    assert [opened(rows[i]["note"]) for i in (1, 2, 4)] == ["x", "x", "x"]
    assert opened(rows[4]["email"]) == "ünïcode"
    assert len({rows[i]["note"] for i in (1, 2, 4)}) == 3, "equal values must not show that they are equal"
    with pytest.raises(InvalidTag):
        opened(rows[1]["note"], "another secret")


def test_the_quarantine_opens_with_the_key(engine: str, session: Any, tmp_path: Path) -> None:
    run_case("personal_data_in_quarantine_with_a_key", tmp_path, engine, session)
    rows = read_rows(str(tmp_path / "out" / "rows_quarantine")).rows
    by_id = {row["id"]: row for row in rows}
    assert opened(by_id["2"]["email"]) == "nope"
    assert opened(by_id["3"]["born"]) == "secret"
    assert opened(by_id[None]["_lakelogic_record"]) == "4,cid@x.io"
