from __future__ import annotations

import base64
import hashlib
import hmac
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlglot import exp

from lakelogic.core.errors import RunError
from lakelogic.core.keys import MaskKeys, derive_keys
from lakelogic.engine.spark.masking import apply_masking
from lakelogic.engine.spark.relations import open_relations

pytestmark = pytest.mark.spark
SECRET = "correct horse battery staple"
KEYS = derive_keys(SECRET)
TEXTS = ["ann@example.com", "", "Zoë ☃", "x" * 500]


def mask_query(*functions: str) -> exp.Query:
    calls = [exp.Anonymous(this=name, expressions=[exp.column("text")]).as_(name) for name in functions]
    return exp.select(*calls).from_("source")


def masked(spark: Any, texts: Sequence[str | None], *functions: str, keys: MaskKeys = KEYS) -> list[Any]:
    with open_relations(spark) as relations:
        relations.add("source", spark.createDataFrame([(text,) for text in texts], "text STRING"))
        return [tuple(row) for row in relations.query(apply_masking(mask_query(*functions), keys, relations)).collect()]


def digest(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def test_hashes_equal_those_of_python(spark_session: Any) -> None:
    for keys in (KEYS, derive_keys(None)):
        rows = masked(spark_session, [*TEXTS, None], "LAKELOGIC_HMAC", keys=keys)
        assert rows == [*((digest(keys.hash, text).hex(),) for text in TEXTS), (None,)]


def test_cipher_texts_open_with_python(spark_session: Any) -> None:
    assert KEYS.encrypt and KEYS.iv
    rows = masked(spark_session, [*TEXTS, None], "LAKELOGIC_ENCRYPT", "LAKELOGIC_ENCRYPT_SAME")
    assert rows.pop() == (None, None)
    for text, (random, same) in zip(TEXTS, rows, strict=True):
        for cipher in (random, same):
            assert cipher.startswith("enc:") and "\n" not in cipher
            sealed = base64.b64decode(cipher[4:], validate=True)
            assert AESGCM(KEYS.encrypt).decrypt(sealed[:12], sealed[12:], None).decode() == text
        assert base64.b64decode(same[4:])[:12] == digest(KEYS.iv, text)[:12]
    assert rows != masked(spark_session, TEXTS, "LAKELOGIC_ENCRYPT", "LAKELOGIC_ENCRYPT_SAME")


def test_cipher_texts_of_python_open_in_spark(spark_session: Any) -> None:
    assert KEYS.encrypt
    iv = os.urandom(12)
    sealed = [
        "enc:" + base64.b64encode(iv + AESGCM(KEYS.encrypt).encrypt(iv, t.encode(), None)).decode() for t in TEXTS
    ]
    other = "enc:" + base64.b64encode(iv + AESGCM(b"k" * 32).encrypt(iv, b"x", None)).decode()
    foreign = ["plain", "enc:not base64!", "enc:AAAA", other, None]
    rows = masked(spark_session, [*sealed, *foreign], "LAKELOGIC_DECRYPT")
    assert rows == [*((text,) for text in TEXTS), *((None,) for _ in foreign)]


def test_encryption_without_a_key_is_refused(spark_session: Any) -> None:
    with pytest.raises(RunError, match="key"):
        masked(spark_session, ["x"], "LAKELOGIC_ENCRYPT", keys=derive_keys(None))


def test_no_plan_shows_a_key(spark_session: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    functions = ("LAKELOGIC_HMAC", "LAKELOGIC_ENCRYPT", "LAKELOGIC_ENCRYPT_SAME", "LAKELOGIC_DECRYPT")
    with open_relations(spark_session) as relations:
        relations.add("source", spark_session.sql("SELECT 'constant' AS text"))
        frame = relations.query(apply_masking(mask_query(*functions), KEYS, relations))
        frame.write.parquet(str(tmp_path / "out"))
        for mode in ("extended", "formatted", "codegen", "cost"):
            frame.explain(mode=mode)
    shown = capsys.readouterr().out
    assert "LocalTableScan" in shown
    assert not [form for form in key_forms() if form in shown]


def key_forms() -> list[str]:
    """Every way in which a key could be spelled."""
    keys = [key for key in (KEYS.hash, KEYS.encrypt, KEYS.iv) if key]
    pads = [bytes(b ^ pad for b in key.ljust(64, b"\0")) for key in keys for pad in (0x36, 0x5C)]
    forms = [SECRET]
    for key in (*keys, *(pad[:32] for pad in pads)):
        forms += [key.hex(), key.hex().upper(), base64.b64encode(key).decode()[:40], str(list(key))[1:-1]]
        forms.append(" ".join(f"{b:02X}" for b in key))
        forms.append(", ".join(str(b - 256 if b > 127 else b) for b in key))
    return forms
