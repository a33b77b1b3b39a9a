"""What `bootstrap` guesses from names and values: datasets, types, personal data, keys, rules."""

from __future__ import annotations

from typing import Any

import pytest

from lakelogic.contract.yaml_tree import parse_yaml
from lakelogic.onboard.bootstrap.kinds import kind_of
from lakelogic.onboard.bootstrap.landing import LandedFile, group_files
from lakelogic.onboard.bootstrap.names import column_names
from lakelogic.onboard.bootstrap.personal import find_personal
from lakelogic.onboard.bootstrap.profiles import find_key, profile_columns
from lakelogic.onboard.bootstrap.rules import suggest_rules
from lakelogic.onboard.bootstrap.write import Draft, contract_text


def groups(*names: str) -> dict[str, tuple[str, str, int]]:
    files = [LandedFile(f"/landing/{name}", name, 1) for name in names]
    return {each.name: (each.folder, each.pattern, len(each.files)) for each in group_files(files, "landing")}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["claims_cdc_2026-02-06.csv", "claims_cdc_2026-02-07.csv"], {"claims_cdc": ("", "claims_cdc_[0-9]*.csv", 2)}),
        (["orders_20260206_001.csv", "orders_20260206_002.csv"], {"orders": ("", "orders_[0-9]*_[0-9]*.csv", 2)}),
        (["2026-02-06 sales.csv", "2026-02-07 sales.csv"], {"sales": ("", "[0-9]* sales.csv", 2)}),
        (["customers.csv"], {"customers": ("", "customers.csv", 1)}),
        (["export (1).csv", "export (2).csv"], {"export": ("", "export*.csv", 2)}),
        (["orders/2026-02-01.csv", "orders/2026-02-02.csv"], {"orders": ("orders", "[0-9]*.csv", 2)}),
        (["orders/day=2026-02-01/a.jsonl", "orders/day=2026-02-02/a.jsonl"], {"a": ("orders", "a.jsonl", 2)}),
        (["2026-02-01.csv"], {"landing": ("", "[0-9]*.csv", 1)}),
        (["part-00000-1b4e28ba-2fa1-11d2-883f-0016d3cca427-c000.parquet"], {"landing": ("", "*.parquet", 1)}),
        (["a/x.csv", "b/x.csv"], {"a_x": ("a", "x.csv", 1), "b_x": ("b", "x.csv", 1)}),
        (["Kunden Übersicht 2026-01.csv"], {"kunden_ubersicht": ("", "Kunden Übersicht [0-9]*.csv", 1)}),
        (["odd[1]*.csv"], {"odd_1": ("", "odd[[]1][*].csv", 1)}),
    ],
)
def test_files_that_differ_by_dates_and_numbers_are_one_dataset(
    names: list[str], expected: dict[str, tuple[str, str, int]]
) -> None:
    assert groups(*names) == expected


def test_no_pattern_takes_the_files_of_another_dataset() -> None:
    found = groups(
        "claims_2026-02-06.csv", "claims_cdc_2026-02-06.csv", "claims_2026-02-06_eu.csv", "x/claims_2026-02-06.csv"
    )
    digits = "[0-9]" * 4 + "-" + "[0-9]" * 2 + "-" + "[0-9]" * 2
    assert found["claims"][1] == f"claims_{digits}.csv"
    assert found["claims_cdc"][1] == "claims_cdc_[0-9]*.csv"
    assert found["claims_eu"][1] == "claims_[0-9]*_eu.csv"
    assert found["x_claims"][:2] == ("x", "claims_[0-9]*.csv")


KINDS: list[tuple[str, list[str], str, str | None]] = [
    ("n", ["1", "-20", "0"], "long", None),
    ("n", ["1", "007"], "string", None),
    ("n", ["1" * 19], "string", None),
    ("zip_code", ["10115", "80331"], "string", None),
    ("price", ["1.5", "20", "3.25"], "decimal(18,2)", None),
    ("price", ["1.5e3", "2"], "double", None),
    ("price", ["00.5", "1.5"], "string", None),
    ("flag", ["true", "FALSE"], "boolean", None),
    ("flag", ["0", "1"], "long", None),
    ("d", ["2026-02-06", "2024-02-29"], "date", None),
    ("d", ["2026-02-30"], "string", None),
    ("d", ["06.02.2026", "28.02.2026"], "date", "dd.MM.yyyy"),
    ("d", ["06/02/2026", "28/02/2026"], "date", "dd/MM/yyyy"),
    ("d", ["02/06/2026", "02/28/2026"], "date", "MM/dd/yyyy"),
    ("d", ["02/06/2026", "03/04/2026"], "string", None),  # nobody can tell
    ("d", ["2026-02-06", "06.02.2026"], "string", None),
    ("booking_date", ["20260206", "20260228"], "date", "yyyyMMdd"),
    ("amount", ["20260206", "20260228"], "long", None),
    ("t", ["2026-02-06T10:00:00Z", "2026-02-06 10:00:00.123", "2026-02-06"], "timestamp", None),
    ("t", ["06.02.2026 10:00:00"], "timestamp", "dd.MM.yyyy HH:mm:ss"),
    ("x", [], "string", None),
    ("x", ["1", ""], "string", None),
    ("x", ["1", "n/a"], "string", None),
]


@pytest.mark.parametrize(("name", "values", "type_", "form"), KINDS)
def test_a_type_is_chosen_only_where_every_value_fits(
    name: str, values: list[str], type_: str, form: str | None
) -> None:
    kind = kind_of(name, values)
    assert (kind.type, kind.format) == (type_, form)


def test_names_are_all_different_and_fit_a_table() -> None:
    names = ["id", "Id", "a b", "a_b", "größe", "顧客", "", "x.y", "_lakelogic_run_id", "a,b;c", "select"]
    chosen = column_names(names)
    assert chosen == ("id", "Id_2", "a_b", "a_b_2", "größe", "顧客", "column_7", "x_y", "_run_id", "a_b_c", "select")


@pytest.mark.parametrize(
    ("name", "values", "personal"),
    [
        ("email", [], True),
        ("customerEmail", [], True),
        ("email_verified", [], False),
        ("contact", ["a@x.io", "b@y.de", "c@z.com"], True),
        ("contact", ["a@x.io", "no", "neither", "nor"], False),
        ("birth_date", [], True),
        ("first_name", [], True),
        ("product_name", ["a", "b", "c"], False),
        ("account", ["DE89370400440532013000", "GB82WEST12345698765432", "FR1420041010050500013M02606"], True),
        ("account", ["DE00370400440532013000", "GB00WEST12345698765432", "FR0020041010050500013M02606"], False),
        ("line", ["+49 30 1234567", "+1 (555) 123-4567", "030/1234567"], True),
        ("day", ["2026-02-06", "2026-02-07", "2026-02-08"], False),
        ("host", ["10.0.0.1", "10.0.0.2", "192.168.1.1"], True),
        ("number", ["123-45-6789", "987-65-4321", "111-22-3333"], True),
    ],
)
def test_personal_data_is_told_by_its_name_or_by_its_values(name: str, values: list[str], personal: bool) -> None:
    found = find_personal(name, frozenset(values))
    assert (found is not None) is personal
    assert not any(value in (found or "") for value in values)


def sample(rows: int = 40) -> dict[str, list[Any]]:
    return {
        "order_id": [f"O{n:04d}" for n in range(rows)],
        "line": [str(n % 4) for n in range(rows)],
        "status": [("open", "closed")[n % 2] for n in range(rows)],
        "amount": [f"{n}.50" if n % 7 else None for n in range(rows)],
        "email": [f"p{n}@example.com" for n in range(rows)],
        "born": [f"19{n + 50}-01-01" for n in range(rows)],
    }


def test_rules_hold_for_every_row_of_the_sample_and_show_no_person() -> None:
    cells = sample()
    profiles = profile_columns(cells, {})
    key = find_key(profiles, cells)
    rules = suggest_rules(profiles, key)
    assert key == ("order_id",)
    assert {rule.name: rule.body for rule in rules} == {
        "always_present": ["line", "status", "email", "born"],
        "order_id_has_its_shape": {"field": "order_id", "pattern": "^[A-Z][0-9]{4}$"},
        "line_in_range": {"field": "line", "min": 0},
        "status_is_known": {"field": "status", "values": ["closed", "open"]},
        "amount_in_range": {"field": "amount", "min": 0},
        "email_looks_right": {"field": "email", "pattern": r"^[^@\s]+@[^@\s]+\.[^@\s]+$"},
    }
    text = contract_text(Draft("d", "bronze", "p", "*.csv", "csv", "t", {}, profiles, key, rules))
    assert "example.com" not in text and "1950" not in text
    assert "40 rows, 6 null, 34 distinct, 1.50 to 39.50" in text
    tree, problems = parse_yaml(text, "contract.yaml")
    assert problems == [] and tree["model"]["primary_key"] == ["order_id"]


def test_two_columns_are_the_key_where_one_is_not_enough() -> None:
    cells = {"order_id": ["1", "1", "2"], "line_no": ["1", "2", "1"], "x": ["a", "b", "c"]}
    assert find_key(profile_columns(cells, {}), cells) == ("order_id", "line_no")
    cells = {"order_id": ["1", "1", None], "x": ["a", "a", "a"]}
    assert find_key(profile_columns(cells, {}), cells) == ()
