"""extends < file < stage < environment < --set, with the origin of every value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from lakelogic.contract import Contract, Draft, load_contract, load_draft

Load = Callable[..., Draft]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return put


BASE = """\
    info: { owner: platform@example.com, domain: sales }
    model:
      fields:
        - { name: id, type: string, required: true }
        - { name: email, type: string, pii: true }
    quality:
      row_rules:
        - { name: has_mail, sql: "email LIKE '%@%'", severity: warning }
        - sql: "id <> ''"
    transformations:
      - trim: [id]
    materialization: { strategy: append, target_path: lake/base, table_properties: { a: "1", b: "2" } }
    """
CHILD = """\
    extends: ../shared/base.yaml
    info: { owner: crm@example.com }
    model:
      fields:
        - { name: email, required: true }
        - { name: phone }
    quality:
      row_rules:
        - { name: has_mail, not_null: [email] }
        - sql: "id <> ''"
        - sql: "phone <> ''"
    transformations:
      - lower: [email]
    materialization: { target_path: lake/child, table_properties: { b: "3" } }
    stages:
      silver: { materialization: { target_path: lake/silver } }
    environments:
      dev: { materialization: { target_path: dev/child }, quality: { max_quarantine_ratio: 0.5 } }
    """


@pytest.fixture
def child(write: Callable[[str, str], Path]) -> Path:
    write("shared/base.yaml", BASE)
    return write("crm/child.yaml", CHILD)


def target(contract: Contract) -> str | None:
    assert contract.materialization is not None
    return contract.materialization.target_path


def test_the_nearest_value_wins_and_the_rest_is_inherited(child: Path) -> None:
    loaded = load_contract(child)
    assert (loaded.info.owner, loaded.info.domain) == ("crm@example.com", "sales")
    assert target(loaded) == "lake/child"
    assert loaded.materialization is not None
    assert loaded.materialization.table_properties == {"a": "1", "b": "3"}
    assert loaded.dataset == "child"


def test_lists_of_named_items_merge_by_name(child: Path) -> None:
    loaded = load_contract(child)
    assert [field.name for field in loaded.fields] == ["id", "email", "phone"]
    email = loaded.model.field("email")
    assert email is not None and email.required and email.pii
    rules = loaded.quality.row_rules
    assert [(rule.name, rule.kind, rule.severity) for rule in rules] == [
        ("has_mail", "not_null", "error"),
        (None, "sql", "error"),
        (None, "sql", "error"),
    ]


def test_lists_without_names_are_replaced(child: Path) -> None:
    assert [step.kind for step in load_contract(child).transformations] == ["lower"]


def test_places_point_into_the_file_that_said_so(child: Path) -> None:
    loaded = load_contract(child)
    assert loaded.at("info.owner").file == str(child)
    assert Path(loaded.at("info.domain").file).name == "base.yaml"
    assert Path(loaded.at("model.fields.0.type").file).name == "base.yaml"
    assert loaded.at("model.fields.1.required").file == str(child)


def test_stage_then_environment_then_set(child: Path) -> None:
    assert target(load_contract(child, stage="silver")) == "lake/silver"
    assert target(load_contract(child, stage="silver", env="dev")) == "dev/child"
    chosen = load_contract(child, stage="silver", env="dev", overrides=["materialization.target_path=x"])
    assert target(chosen) == "x"


def test_the_origin_of_a_value_is_known(child: Path) -> None:
    loaded = load_contract(child, stage="silver", env="dev", overrides=["materialization.strategy=overwrite"])
    assert loaded.origin("materialization.target_path") == "environment dev"
    assert loaded.origin("quality.max_quarantine_ratio") == "environment dev"
    assert loaded.origin("materialization.strategy") == "--set"
    assert loaded.origin("materialization.format") == "default"
    assert loaded.origin("info.owner") == f"{child}:2:16"
    assert loaded.origin("resilience") == "default"
    assert load_contract(child, stage="silver").origin("materialization.target_path") == "stage silver"


def test_null_takes_an_inherited_value_away(write: Callable[[str, str], Path]) -> None:
    write("base.yaml", "info: { owner: a@example.com, domain: sales }")
    loaded = load_contract(write("c.yaml", "extends: base.yaml\ninfo: { owner: null }"))
    assert (loaded.info.owner, loaded.info.domain) == (None, "sales")


def test_extends_goes_over_several_files(write: Callable[[str, str], Path]) -> None:
    write("a.yaml", "info: { domain: sales, system: crm, owner: a }")
    write("b.yaml", "extends: a.yaml\ninfo: { system: erp, owner: b }")
    info = load_contract(write("c.yaml", "extends: b.yaml\ninfo: { owner: c }")).info
    assert (info.domain, info.system, info.owner) == ("sales", "erp", "c")


def test_a_circle_is_a_mistake(write: Callable[[str, str], Path]) -> None:
    write("a.yaml", "extends: b.yaml")
    (problem,) = load_draft(write("b.yaml", "dataset: x\nextends: a.yaml")).problems
    assert problem.code == "LL121" and problem.place is not None and problem.place.file.endswith("a.yaml")


def test_a_missing_base_is_a_mistake_at_its_name(draft: Load) -> None:
    (problem,) = draft("dataset: x\nextends: none.yaml").problems
    assert problem.code == "LL120"
    assert problem.place is not None and (problem.place.line, problem.place.column) == (2, 10)


def test_a_mistake_in_the_base_points_into_the_base(write: Callable[[str, str], Path]) -> None:
    write("base.yaml", "info:\n  ownr: a")
    (problem,) = load_draft(write("c.yaml", "extends: base.yaml")).problems
    assert problem.place is not None
    assert (Path(problem.place.file).name, problem.place.line) == ("base.yaml", 2)


@pytest.mark.parametrize("layer", ["env", "stage"])
def test_an_unknown_layer_names_the_known_ones(draft: Load, layer: str) -> None:
    text = "environments: { dev: { engine: duckdb }, prod: {} }\nstages: { dev: {}, prod: {} }"
    (problem,) = draft(text, **{layer: "prd"}).problems
    assert problem.code == "LL140" and problem.hint == "did you mean `prod`?"
    (problem,) = draft("dataset: a", **{layer: "dev"}).problems
    assert problem.code == "LL140"


def test_mistakes_in_layers_that_were_not_chosen_are_found(draft: Load) -> None:
    text = """\
        environments:
          dev: { engine: duckdb }
          prod: { materialization: { stratgy: append }, source: { path: "${ONLY_IN_PROD}" } }
        """
    for chosen in (None, "dev"):
        (problem,) = draft(text, env=chosen).problems
        assert problem.code == "LL110" and problem.place is not None
        assert (problem.place.line, problem.place.column) == (3, 30)
    assert {problem.code for problem in draft(text, env="prod").problems} == {"LL110", "LL130"}


@pytest.mark.parametrize(
    ("override", "path", "value"),
    [
        ("engine=duckdb", "engine", "duckdb"),
        ("source.pattern=claims_2026.csv", "source.pattern", "claims_2026.csv"),
        ("source.options.header=false", "source.options.header", False),
        ("quality.max_quarantine_ratio=0.3", "quality.max_quarantine_ratio", 0.3),
        ("model.fields.0.type=int", "model.fields.0.type", "int"),
        ("model.fields.id.type=long", "model.fields.0.type", "long"),
        ("consumers=[a, b]", "consumers", ("a", "b")),
        ("info.description=one: two", "info.description", "one: two"),
        ("schema_policy.unknown_fields=drop", "schema_policy.unknown_fields", "drop"),
        ("quality.row_rules.0.sql=a > 2", "quality.row_rules.0.sql", "a > 2"),
    ],
)
def test_overrides_set_single_values(draft: Load, override: str, path: str, value: object) -> None:
    text = """\
        source: { path: in/ }
        model: { fields: [{ name: id }] }
        schema_policy: strict
        quality: { row_rules: [{ sql: "a > 1" }] }
        """
    loaded = draft(text, overrides=[override])
    assert loaded.problems == () and loaded.contract is not None
    found: object = loaded.contract
    for part in path.split("."):
        match found:
            case dict():
                found = found[part]
            case tuple():
                found = found[int(part)]
            case _:
                found = getattr(found, part)
    assert found == value
    assert loaded.contract.origin(path) == "--set"


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("source.pth=x", "LL110"),
        ("engine=flink", "LL112"),
        ("engine", "LL141"),
        ("=x", "LL141"),
        ("model.fields.7.type=int", "LL142"),
        ("model.fields.mail.type=int", "LL142"),
        ("dataset.name=int", "LL113"),
    ],
)
def test_wrong_overrides_are_mistakes(draft: Load, override: str, code: str) -> None:
    (problem,) = draft(
        "dataset: a\nsource: { path: a.csv }\nmodel: { fields: [{ name: id }] }", overrides=[override]
    ).problems
    assert problem.code == code
    assert problem.place is not None and problem.place.file.startswith("--set")
