"""Values from the environment and from secret stores get in, and never out (promise 6)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lakelogic.contract import Draft
from lakelogic.core.interpolate import interpolate
from lakelogic.core.secrets import (
    EnvironmentSecretStore,
    FileSecretStore,
    Secret,
    SecretStores,
    default_store,
    reveal,
)

Load = Callable[..., Draft]
VALUE = "hunter2-hunter2"
NO_STORE = EnvironmentSecretStore({})


def test_variables_are_filled_in(draft: Load) -> None:
    loaded = draft(
        """\
        dataset: ${NAME}
        source:
          path: "s3://${BUCKET}/in/${FOLDER:-landing}/"
          pattern: "${PATTERN:-*.csv}"
        service_levels:
          freshness_hours: ${HOURS}
        """,
        environ={"NAME": "orders", "BUCKET": "lake", "HOURS": "24"},
    )
    assert loaded.problems == () and loaded.contract is not None and loaded.contract.source is not None
    assert loaded.contract.dataset == "orders"
    assert loaded.contract.source.path == "s3://lake/in/landing/"
    assert loaded.contract.source.pattern == "*.csv"
    assert loaded.contract.service_levels.freshness_hours == 24


def test_a_quoted_value_stays_text(draft: Load) -> None:
    loaded = draft('info: { title: "${N}" }', environ={"N": "12"}).contract
    assert loaded is not None and loaded.info.title == "12"


def test_dollars_can_be_escaped() -> None:
    assert interpolate("a $${B} $1 ^x$", {}, NO_STORE).text == "a ${B} $1 ^x$"


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("${NOT_THERE}", "LL130", "${NOT_THERE:-...}"),
        ("${secret:db/password}", "LL131", "LAKELOGIC_SECRET_DB_PASSWORD"),
        ("${1x}", "LL132", "${NAME}"),
        ("${secret:db}", "LL132", "${secret:scope/name}"),
    ],
)
def test_what_cannot_be_filled_in_is_one_mistake(draft: Load, text: str, code: str, hint: str) -> None:
    (problem,) = draft(f'spark:\n  key: "{text}"').problems
    assert problem.code == code and hint in (problem.hint or "")
    assert problem.place is not None and (problem.place.line, problem.place.column) == (2, 8)


def test_a_missing_variable_is_not_reported_twice(draft: Load) -> None:
    (problem,) = draft("service_levels: { availability: '${NOPE}' }").problems
    assert problem.code == "LL130"


def secret_contract(draft: Load) -> Draft:
    return draft(
        """\
        source:
          path: in/a.csv
          options: { password: "${secret:db/password}", user: "${DB_USER}", header: true }
        spark: { spark.token: "prefix-${secret:db/password}" }
        metadata: { note: "${DB_USER}" }
        """,
        environ={"LAKELOGIC_SECRET_DB_PASSWORD": VALUE, "DB_USER": "someone-secret"},
    )


def test_secrets_reach_the_library_and_nothing_else(draft: Load) -> None:
    loaded = secret_contract(draft)
    assert loaded.problems == () and loaded.contract is not None and loaded.contract.source is not None
    options = loaded.contract.source.options
    assert reveal(options["password"]) == VALUE
    assert reveal(options["user"]) == "someone-secret"
    assert options["header"] is True
    assert reveal(loaded.contract.spark["spark.token"]) == f"prefix-{VALUE}"
    contract = loaded.contract
    shown = [
        repr(contract), str(contract), repr(contract.source), str(contract.source), f"{contract.spark}",
        repr(contract.model_dump()), contract.model_dump_json(), json.dumps(contract.model_dump(mode="json")),
        repr(contract.metadata), repr(loaded), repr(contract._positions),
    ]  # fmt: skip
    assert not any(VALUE in text or "someone-secret" in text for text in shown)
    assert "***" in repr(contract.source)


def test_a_secret_may_not_stand_where_it_would_be_seen(draft: Load) -> None:
    loaded = draft(
        "materialization: { target_path: '${secret:db/password}' }",
        environ={"LAKELOGIC_SECRET_DB_PASSWORD": VALUE},
    )
    (problem,) = loaded.problems
    assert problem.code == "LL133" and VALUE not in str(problem)
    assert loaded.contract is not None and VALUE not in loaded.contract.model_dump_json()


@pytest.mark.parametrize(
    "text",
    [
        "engine: ${V}",
        "version: ${V}",
        "schema_policy: ${V}",
        "compliance: { retention: '${V}' }",
        "model: { fields: [{ name: a, type: '${V}' }] }",
        "model: { fields: [{ name: a, min_length: '${V}' }] }",
        "lineage: { enabled: '${V}' }",
        "quality: { row_rules: '${V}' }",
        "materialization: { strategy: '${V}' }",
    ],
)
def test_a_mistake_about_a_filled_value_does_not_show_it(draft: Load, text: str) -> None:
    problems = draft(text, environ={"V": VALUE}).problems
    assert problems
    assert VALUE not in "\n".join(map(str, problems)) + repr(problems)


@pytest.mark.parametrize("value", [VALUE, "xyz"])
def test_refused_and_conflicting_values_do_not_show_either(draft: Load, value: str) -> None:
    loaded = draft("links: [{ name: a, path: p }]\ntransformations: [{ union: ['${V}'] }]", environ={"V": value})
    assert [problem.code for problem in loaded.problems] == ["LL154"]
    assert value not in repr(loaded.problems)


def test_texts_can_be_shown_as_they_were_written(draft: Load) -> None:
    loaded = draft("quality: { row_rules: [{ sql: \"token <> '${V}'\" }] }", environ={"V": VALUE}).contract
    assert loaded is not None
    assert loaded.written("quality.row_rules.0.sql") == "token <> '${V}'"
    assert loaded.redact(f"Rule failed: token <> '{VALUE}'") == "Rule failed: token <> '${V}'"
    assert loaded.written("quality.row_rules.0.name") is None


def test_stores_are_asked_in_order(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "password").write_text("from-file\n")
    (tmp_path / "db" / "user").write_text("someone")
    store = default_store({"LAKELOGIC_SECRETS_DIR": str(tmp_path), "LAKELOGIC_SECRET_DB_PASSWORD": "from-environment"})
    assert isinstance(store, SecretStores)
    assert store.find_secret("db", "password") == "from-environment"
    assert store.find_secret("db", "user") == "someone"
    assert store.find_secret("db", "none") is None
    assert FileSecretStore(tmp_path / "db").find_secret("..", "db/user") is None
    assert FileSecretStore(tmp_path).find_secret("db", "password") == "from-file"


def test_a_secret_prints_as_stars() -> None:
    secret = Secret(VALUE)
    assert (repr(secret), str(secret), f"{secret}", f"{secret:>5}") == ("***",) * 4
    assert secret == Secret(VALUE) and secret != Secret("other") and secret != VALUE
