"""`source.database`: what is accepted, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.contract.loader import load_contract
from lakelogic.core.errors import ContractError
from lakelogic.core.secrets import Secret
from lakelogic.run.validate import load_checked

BASE = "model: { fields: [{ name: id, type: long }, { name: at, type: timestamp }] }\nprimary_key: [id]\n"
TARGET = "materialization: { target_path: out }\n"


def write(tmp_path: Path, source: str, rest: str = BASE + TARGET) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(f"dataset: d\nsource:\n{source}\n{rest}")
    return path


def problems(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(ContractError) as caught:
        load_checked(path)
    return [(problem.code, problem.message) for problem in caught.value.problems]


def test_a_path_may_be_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "a-long-password")
    text = "  path: 'postgresql://shop:${SHOP_PASSWORD}@db/shop'\n  database: { table: orders }"
    contract = load_contract(write(tmp_path, text))
    source = contract.source
    assert source is not None and source.database is not None
    assert (source.type, source.path, source.database.address.user) == ("database", None, "shop")
    assert isinstance(source.database.url, Secret)
    assert "a-long-password" not in f"{contract!r} {contract.model_dump()}"


def test_a_url_alone_makes_it_a_database(tmp_path: Path) -> None:
    contract = load_contract(write(tmp_path, "  database: { url: 'sqlite:///shop.db', table: orders }"))
    assert contract.source is not None and contract.source.type == "database"


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("  path: postgresql://u:secret-word@h/d\n  database: { table: t }", "LL168", "password"),
        ("  path: oracle://h/d\n  database: { table: t }", "LL168", "cannot be read"),
        ("  path: postgresql://h/d\n  database: { fetch_size: 5 }", "LL157", "either `table` or `query`"),
        ("  path: postgresql://h/d\n  database: { table: t, query: SELECT 1 }", "LL157", "either `table` or `query`"),
        ("  path: postgresql://h/d\n  database: { table: t, num_partitions: 2 }", "LL157", "belong together"),
        ("  type: database\n  database: { table: t }", "LL111", "address"),
        ("  path: postgresql://h/d\n  format: csv\n  database: { table: t }", "LL157", "no `format`"),
        ("  path: postgresql://h/d\n  load_mode: incremental\n  database: { table: t }", "LL157", "column to go by"),
        ("  path: postgresql://h/d\n  database: { query: DELETE FROM t }", "LL169", "one SELECT"),
        ("  path: postgresql://h/d\n  database: { query: SELECT 1; SELECT 2 }", "LL169", "one SELECT"),
        ("  path: postgresql://h/d\n  database: { query: SELECT * FROM t FOR UPDATE }", "LL169", "only read"),
        ("  path: data/x.csv\n  database: { table: t, url: 'postgresql://h/d' }", "LL157", "the source is a file"),
    ],
)
def test_mistakes(tmp_path: Path, source: str, code: str, words: str) -> None:
    found = problems(write(tmp_path, source))
    assert [message for each, message in found if each == code and words in message], found
    assert not [message for _, message in found if "secret-word" in message]


def test_an_incremental_database_needs_a_key(tmp_path: Path) -> None:
    source = "  path: postgresql://h/d\n  load_mode: incremental\n  watermark_field: at\n  database: { table: t }"
    found = problems(write(tmp_path, source, "model: { fields: [{ name: at, type: timestamp }] }\n" + TARGET))
    assert ("LL157", "an incremental database needs a primary key: rows of one moment are told apart by it") in found


def test_lookback_is_for_any_strategy_of_a_database(tmp_path: Path) -> None:
    source = "  path: postgresql://h/d\n  load_mode: incremental\n  watermark_field: at\n  lookback: 1h"
    source += "\n  database: { table: t }"
    assert load_checked(write(tmp_path, source)).source is not None
