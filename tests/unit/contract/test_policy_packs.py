"""Policy packs: defaults below a contract, rules and steps beside its own, each value with its file and line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import jsonschema
import pytest

from lakelogic.contract import Contract, load_contract, load_draft
from lakelogic.contract.json_schema import file_json_schema
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.contract.yaml_tree import parse_yaml
from lakelogic.driver.validate import validate_paths
from lakelogic.run.explain import explain_contract

REPO = Path(__file__).resolve().parents[3]
PACK = """\
    description: for all
    defaults:
      quality: { max_quarantine_ratio: 0.3, on_null: fail }
      quarantine: { retention: 30d }
    quality:
      on_dataset_failure: warn
      row_rules:
        - { name: known_id, sql: "id <> ''" }
        - not_null: [id]
      dataset_rules:
        - { name: has_rows, row_count_between: { min: 1 } }
    transformations:
      - trim: [id]
    silver_transformations:
      - upper: [id]
    gold_transformations:
      - lower: [id]
    """
CONTRACT = """\
    dataset: silver_claims
    info: { target_layer: silver }
    metadata: { policy_pack: baseline }
    source: { path: claims.csv }
    model: { fields: [{ name: id, type: string }] }
    transformations:
      - filter: "id <> 'x'"
    quality:
      on_null: pass
      row_rules:
        - not_null: [id]
        - { name: own, sql: "id <> 'y'" }
    materialization: { target_path: lake/claims }
    """
Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    return put


@pytest.fixture
def contract(write: Write) -> Path:
    write("policy_packs/baseline.yaml", PACK)
    return write("estate/silver/claims.yaml", CONTRACT)


def kinds(contract: Contract) -> list[str]:
    return [step.kind for step in contract.transformations]


def rules(contract: Contract) -> list[str | None]:
    return [rule.name or rule.kind for rule in contract.quality.row_rules]


def problems(path: Path, **options: object) -> list[str]:
    found = load_draft(path, environ={}, **options).problems  # type: ignore[arg-type]
    return [f"{p.code} {Path(p.place.file).name}:{p.place.line}" for p in found if p.place]


def test_a_pack_lies_below_the_values_of_a_contract_and_beside_its_rules(contract: Path) -> None:
    loaded = load_contract(contract, environ={})
    quality = loaded.quality
    assert (quality.max_quarantine_ratio, quality.on_null, quality.on_dataset_failure) == (0.3, "pass", "warn")
    # The same rule in both is one rule.
    assert rules(loaded) == ["not_null", "own", "known_id"]
    assert [rule.name for rule in quality.dataset_rules] == ["has_rows"]
    assert kinds(loaded) == ["trim", "upper", "filter"]


def test_every_value_of_a_pack_says_where_it_stands(contract: Path, tmp_path: Path) -> None:
    loaded = load_contract(contract, environ={})
    pack = f"pack baseline ({tmp_path}/policy_packs/baseline.yaml"
    assert loaded.origin("quality.max_quarantine_ratio") == f"{pack}:3:36)"
    assert loaded.origin("quality.on_null") == f"{contract}:9:12"
    inherited = dict(loaded.inherited())
    assert inherited["quality.row_rules.2.sql"] == f"{pack}:8:30)"
    assert inherited["quarantine.retention"] == f"{pack}:4:28)"
    assert inherited["transformations.0.trim"].startswith(pack)
    assert not any(path.startswith("transformations.2") for path in inherited)
    shown = explain_contract(contract)
    digest = "sha256:" + hashlib.sha256((tmp_path / "policy_packs/baseline.yaml").read_bytes()).hexdigest()
    assert shown.to_dict()["policy_packs"] == [
        {"name": "baseline", "file": str(tmp_path / "policy_packs/baseline.yaml"), "digest": digest}
    ]
    assert "from pack" not in shown.to_text()
    assert f"quality.max_quarantine_ratio: {pack}:3:36)" in shown.to_text()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("prepend", ["trim", "upper", "filter"]),
        ("append", ["filter", "trim", "upper"]),
        ("replace", ["trim", "upper"]),
    ],
)
def test_the_mode_says_where_steps_go(contract: Path, write: Write, mode: str, expected: list[str]) -> None:
    write("policy_packs/baseline.yaml", dedent(PACK) + f"transformations_mode: {mode}\n")
    assert kinds(load_contract(contract, environ={})) == expected


def test_steps_of_a_layer_are_those_of_the_chosen_stage(contract: Path, write: Write) -> None:
    text = dedent(CONTRACT) + "stages: { gold: {}, silver: {} }\n"
    assert kinds(load_contract(write("estate/silver/claims.yaml", text), stage="gold", environ={}))[:2] == [
        "trim",
        "lower",
    ]
    write("estate/silver/claims.yaml", CONTRACT.replace("info: { target_layer: silver }", "info: { title: x }"))
    assert problems(contract) == ["LL125 claims.yaml:2"]


def test_packs_of_the_operator_come_before_those_of_the_contract(contract: Path, write: Write, tmp_path: Path) -> None:
    write("elsewhere/baseline.yaml", "defaults: { quality: { max_quarantine_ratio: 0.1 } }\n")
    write("elsewhere/strict.yaml", "defaults: { quality: { max_quarantine_ratio: 0.2, on_null: fail } }\n")
    choice = PackChoice(("strict",), tmp_path / "elsewhere")
    loaded = load_contract(contract, environ={}, packs=choice)
    assert [pack.name for pack in loaded.policy_packs] == ["strict", "baseline"]
    assert loaded.quality.max_quarantine_ratio == 0.1  # the contract's own pack is nearer
    again = load_contract(contract, environ={"LAKELOGIC_POLICY_PACK_DIR": str(tmp_path / "elsewhere")})
    assert again.quality.max_quarantine_ratio == 0.1
    assert again.policy_pack_folder == tmp_path / "elsewhere"


def test_the_nearest_folder_that_has_the_pack_is_taken_and_the_search_ends_at_the_root(
    contract: Path, write: Write, tmp_path: Path
) -> None:
    write("estate/policy_packs/baseline.yaml", "defaults: { quality: { max_quarantine_ratio: 0.9 } }\n")
    assert load_contract(contract, environ={}).quality.max_quarantine_ratio == 0.9
    (tmp_path / "estate/policy_packs/baseline.yaml").unlink()
    (tmp_path / "estate/.git").mkdir()
    assert problems(contract) == ["LL123 claims.yaml:3"]


def test_a_pack_that_is_not_there_is_an_error_with_a_guess(contract: Path, tmp_path: Path) -> None:
    named = load_draft(contract, environ={}, packs=PackChoice(("basline",), tmp_path / "policy_packs"))
    problem = next(p for p in named.problems if p.code == "LL123")
    assert str(problem.place) == "--policy-pack basline:1:1"
    assert problem.hint is not None and problem.hint.startswith("did you mean `baseline`?")
    contract.write_text(dedent(CONTRACT).replace("policy_pack: baseline", "policy_pack: [baseline, baselin]"))
    assert problems(contract) == ["LL123 claims.yaml:3"]
    contract.write_text(dedent(CONTRACT).replace("policy_pack: baseline", "policy_pack: ../policy_packs/baseline"))
    assert problems(contract) == ["LL123 claims.yaml:3"]
    contract.write_text(dedent(CONTRACT).replace("policy_pack: baseline", "policy_pack: 7"))
    assert problems(contract) == ["LL113 claims.yaml:3"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("qualty: {}", "LL110 baseline.yaml:1"),
        ("bronze_transformations: [{ trimm: [id] }]", "LL110 baseline.yaml:1"),
        ("transformations_mode: before", "LL112 baseline.yaml:1"),
        ("quality: { row_rules: [{ name: a, sqll: b }] }", "LL110 baseline.yaml:1"),
        ("defaults: { quality: { on_nul: fail } }", "LL110 baseline.yaml:1"),
        ("defaults: { dataset: other }", "LL122 baseline.yaml:1"),
        ("defaults: { metadata: { policy_pack: other } }", "LL122 baseline.yaml:1"),
        ("- a list", "LL106 baseline.yaml:1"),
    ],
)
def test_a_mistake_in_a_pack_stands_in_the_pack(contract: Path, write: Write, line: str, found: str) -> None:
    pack = write("policy_packs/baseline.yaml", line + "\n")
    assert problems(contract) == [found]
    alone = validate_paths([pack])
    assert [f"{p.code} {Path(p.place.file).name}:{p.place.line}" for p in alone.problems if p.place] == [found]
    assert alone.contracts == 0


def test_a_rule_that_does_not_fit_names_the_pack_and_the_contract(contract: Path, write: Write) -> None:
    write("policy_packs/baseline.yaml", 'quality: { row_rules: [{ name: a, sql: "nobody > 1" }] }\n')
    found = [problem for problem in validate_paths([contract]).problems if problem.severity == "error"]
    assert [Path(p.place.file).name for p in found if p.place] == ["baseline.yaml"]
    assert found[0].message.endswith("(in `silver_claims`)")


def test_a_rule_of_a_pack_cannot_be_replaced_by_its_name(contract: Path, write: Write) -> None:
    contract.write_text(dedent(CONTRACT).replace("name: own", "name: known_id"))
    assert problems(contract) == ["LL124 claims.yaml:12"]
    weaker = 'environments: { dev: { quality: { row_rules: [{ name: known_id, sql: "true" }] } } }\n'
    contract.write_text(dedent(CONTRACT) + weaker)
    assert problems(contract, env="dev") == ["LL124 claims.yaml:14"]


def test_two_packs_cannot_both_replace_the_steps(contract: Path, write: Write, tmp_path: Path) -> None:
    steps = "transformations_mode: replace\ntransformations: [{ trim: [id] }]\n"
    for name in ("one", "two"):
        write(f"policy_packs/{name}.yaml", steps)
    contract.write_text(dedent(CONTRACT).replace("policy_pack: baseline", "policy_pack: [one, two]"))
    assert problems(contract) == ["LL126 two.yaml:2"]


def test_set_wins_over_packs_and_may_name_one(contract: Path) -> None:
    loaded = load_contract(contract, environ={}, overrides=["quality.max_quarantine_ratio=0.7"])
    assert loaded.quality.max_quarantine_ratio == 0.7
    contract.write_text(dedent(CONTRACT).replace("metadata: { policy_pack: baseline }", "metadata: {}"))
    assert load_contract(contract, environ={}).policy_packs == ()
    named = load_contract(contract, environ={}, overrides=["metadata.policy_pack=baseline"])
    assert [pack.name for pack in named.policy_packs] == ["baseline"]


def test_the_pack_that_is_shipped_is_valid_also_by_its_schema() -> None:
    path = REPO / "policy_packs/baseline_silver.yaml"
    assert validate_paths([path]).problems == ()
    schema = file_json_schema("policy-pack")
    by_schema = jsonschema.Draft202012Validator(schema)
    for text in (path.read_text(encoding="utf-8"), dedent(PACK)):
        by_schema.validate(parse_yaml(text, "pack")[0])
    with pytest.raises(jsonschema.ValidationError):
        by_schema.validate({"silver_transformations": [{"trimm": ["id"]}]})


def test_packs_below_a_folder_are_no_contracts(
    contract: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folders, contracts in (([tmp_path], 1), ([Path(".")], 1), ([Path("policy_packs")], 0)):
        found = validate_paths(folders)
        assert (found.problems, found.contracts, found.packs) == ((), contracts, 1)
    write("policy_packs/unused.yaml", "nonsense: 1\n")
    assert [problem.code for problem in validate_paths([tmp_path]).problems] == ["LL110"]
