# ruff: noqa: E501 - queries stand on one line
"""Masking on DuckDB has the form that the Spark engine gives, and never shows a key."""

from __future__ import annotations

import hashlib
import hmac

from lakelogic.core.keys import derive_keys
from lakelogic.engine.duckdb.session import Session


def test_masks_have_their_form_and_open_again() -> None:
    keys = derive_keys("secret")
    session = Session(keys)
    mask = "LAKELOGIC_HMAC(v), LAKELOGIC_ENCRYPT(v), LAKELOGIC_ENCRYPT(v), LAKELOGIC_ENCRYPT_SAME(v), LAKELOGIC_ENCRYPT_SAME(v)"
    row = session.run(f"SELECT {mask} FROM (SELECT 'Ada' AS v)").fetchall()[0]
    assert row[0] == hmac.new(keys.hash, b"Ada", hashlib.sha256).hexdigest()
    assert row[1] != row[2] and row[3] == row[4]
    opened = session.run("SELECT LAKELOGIC_DECRYPT(a), LAKELOGIC_DECRYPT(b), LAKELOGIC_DECRYPT('enc:zz'), LAKELOGIC_HMAC(NULL)"
                         f" FROM (SELECT '{row[1]}' AS a, '{row[3]}' AS b)").fetchall()[0]  # fmt: skip
    assert opened == ("Ada", "Ada", None, None)
    session.close()
