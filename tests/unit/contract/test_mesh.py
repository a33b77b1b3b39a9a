"""What contracts inherit from `_domain.yaml` and `_system.yaml`: nearest value wins, and each says where it stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from lakelogic.contract import Contract, load_contract, load_draft
from lakelogic.contract.json_schema import file_json_schema

DOMAIN = """\
    domain: insurance
    owner: insurance@example.com
    contacts: ["#insurance", second@example.com]
    cost_centre: "4711"
    budget: { monthly: 900, currency: EUR }
    service_levels: { freshness_hours: 24, availability: 0.99 }
    defaults:
      schema_policy: strict
      quality: { max_quarantine_ratio: 0.2 }
    """
SYSTEM = """\
    system: claims_core
    owner: claims@example.com
    engine: duckdb
    storage: { lake: ../../lake, landing: "s3://landing/" }
    spark: { spark.sql.shuffle.partitions: 8 }
    service_levels: { freshness_hours: 6 }
    defaults:
      quality: { on_null: fail }
    environments:
      prod:
        storage: { lake: "s3://prod-lake" }
        spark: { spark.sql.shuffle.partitions: 64 }
        defaults: { quality: { on_null: pass } }
    """
CONTRACT = """\
    dataset: silver_claims
    source: { path: "${storage.landing}/claims.csv" }
    model: { fields: [{ name: id, type: string }] }
    materialization: { target_path: "${storage.lake}/silver/claims" }
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
def estate(write: Write) -> Path:
    write("insurance/_domain.yaml", DOMAIN)
    write("insurance/core/_system.yaml", SYSTEM)
    return write("insurance/core/silver/claims.yaml", CONTRACT)


def test_a_contract_inherits_what_it_does_not_say(estate: Path, tmp_path: Path) -> None:
    contract = load_contract(estate, environ={})
    info = contract.info
    assert (info.domain, info.system, info.owner, info.contact) == (
        "insurance",
        "claims_core",
        "claims@example.com",  # of the system, which is nearer than the domain
        "#insurance",
    )
    assert contract.metadata == {"cost_centre": "4711"}
    assert (contract.service_levels.freshness_hours, contract.service_levels.availability) == (6, 0.99)
    assert (contract.quality.on_null, contract.quality.max_quarantine_ratio) == ("fail", 0.2)
    assert contract.schema_policy.unknown_fields != "allow"
    assert (contract.engine, contract.spark) == ("duckdb", {"spark.sql.shuffle.partitions": 8})
    assert contract.source is not None and contract.source.path == "s3://landing/claims.csv"
    assert contract.materialization is not None
    assert contract.materialization.target_path == str(tmp_path / "lake" / "silver" / "claims")


def test_every_inherited_value_says_where_it_stands(estate: Path) -> None:
    contract = load_contract(estate, environ={})
    inherited = {path: origin.rsplit("/", 1)[-1] for path, origin in contract.inherited()}
    assert inherited["info.owner"] == "_system.yaml:2:8"
    assert inherited["info.domain"] == "_domain.yaml:1:9"
    assert inherited["service_levels.availability"] == "_domain.yaml:6:54"
    assert inherited["service_levels.freshness_hours"] == "_system.yaml:6:36"
    assert inherited["quality.on_null"] == "_system.yaml:8:23"
    assert inherited["storage.lake"] == "_system.yaml:4:18"
    assert "dataset" not in inherited and "source.path" not in inherited
    assert contract.origin("quality.on_null").endswith("_system.yaml:8:23")


def test_the_contract_itself_is_nearest_and_null_takes_away(write: Write, estate: Path) -> None:
    near = write(
        "insurance/core/silver/near.yaml",
        CONTRACT.rstrip(" ")
        + "    info: { owner: me@example.com }\n    engine: null\n    service_levels: { freshness_hours: 1 }\n",
    )
    contract = load_contract(near, environ={})
    assert (contract.info.owner, contract.engine) == ("me@example.com", None)
    assert (contract.service_levels.freshness_hours, contract.service_levels.availability) == (1, 0.99)


def test_an_environment_of_the_system_is_one_of_its_contracts(estate: Path) -> None:
    contract = load_contract(estate, env="prod", environ={})
    assert contract.materialization is not None
    assert contract.materialization.target_path == "s3://prod-lake/silver/claims"
    assert contract.source is not None and contract.source.path == "s3://landing/claims.csv"
    assert (contract.quality.on_null, contract.spark["spark.sql.shuffle.partitions"]) == ("pass", 64)
    (problem,) = load_draft(estate, env="prd", environ={}).problems
    assert problem.code == "LL140"


def test_files_farther_away_are_laid_below(write: Write, estate: Path) -> None:
    write("_system.yaml", "system: platform\nengine: spark\nstorage: { lake: far, temp: far/tmp }\n")
    contract = load_contract(estate, environ={})
    assert (contract.info.system, contract.engine) == ("claims_core", "duckdb")
    text = CONTRACT.replace("${storage.lake}", "${storage.temp}")
    other = load_contract(write("insurance/core/silver/other.yaml", text), environ={})
    assert other.materialization is not None and other.materialization.target_path is not None
    assert other.materialization.target_path.endswith("/far/tmp/silver/claims")


def test_the_search_ends_at_the_repository(write: Write, estate: Path, tmp_path: Path) -> None:
    write("_domain.yaml", "domain: outside\n")
    write("repo/.git/HEAD", "")
    alone = write("repo/contracts/a.yaml", "dataset: a\n")
    assert load_contract(alone, environ={}).info.domain is None


def test_storage_may_come_from_the_environment_and_is_then_not_shown(write: Write) -> None:
    write("_system.yaml", 'storage: { lake: "${LAKE_ROOT}", gold: "${storage.lake}/gold" }\n')
    text = "dataset: a\nmaterialization: { target_path: '${storage.gold}/a' }\n"
    contract = load_contract(write("a.yaml", text), environ={"LAKE_ROOT": "s3://very-private"})
    assert contract.materialization is not None
    assert contract.materialization.target_path == "s3://very-private/gold/a"
    assert contract.redact("in s3://very-private/gold/a") == "in ${LAKE_ROOT}/gold/a"


MISTAKES = [
    ("_domain.yaml", "ownr: me@example.com\n", "LL110", 1, "did you mean `owner`?"),
    ("_domain.yaml", "owner: 5\n", "LL113", 1, None),
    ("_system.yaml", "environments:\n  prod: { sorage: { a: b } }\n", "LL110", 2, "did you mean `storage`?"),
    ("_system.yaml", "engine: flink\n", "LL112", 1, None),
    ("_system.yaml", "defaults:\n  dataset: all\n", "LL122", 2, None),
    ("_system.yaml", "defaults:\n  quality: { on_nul: fail }\n", "LL110", 2, "did you mean `on_null`?"),
    ("_system.yaml", "storage: { lake: '${secret:a/b}' }\n", "LL131", 1, None),
    ("_system.yaml", "engine: [", "LL102", 2, None),
    ("_domain.yaml", "alerts: [{ on: failure, to: 'mailto://a' }]\n", "LL190", 1, None),
]


@pytest.mark.parametrize(("file", "text", "code", "line", "hint"), MISTAKES, ids=[m[2] + m[0] for m in MISTAKES])
def test_mistakes_above_a_contract_stand_where_they_were_made(
    write: Write, file: str, text: str, code: str, line: int, hint: str | None
) -> None:
    above = write(file, text)
    draft = load_draft(write("below/a.yaml", "dataset: a\n"), environ={})
    found = [problem for problem in draft.problems if problem.code == code]
    assert [(p.place.line, Path(p.place.file).name) for p in found if p.place] == [(line, above.name)]
    assert hint is None or (found[0].hint or "").startswith(hint)


def test_an_unknown_root_names_the_known_ones(estate: Path, write: Write) -> None:
    text = CONTRACT.replace("${storage.lake}", "${storage.lakehouse}")
    (problem,) = load_draft(write("insurance/core/silver/b.yaml", text), environ={}).problems
    assert (problem.code, problem.message) == ("LL134", "there is no storage root `lakehouse`")
    assert problem.hint == "known are `lake`, `landing`"


def test_broken_parts_of_a_file_do_not_take_the_rest_with_them(write: Write) -> None:
    write("_system.yaml", "system: crm\nsorage: {}\n")
    draft = load_draft(write("a.yaml", "dataset: a\n"), environ={})
    assert isinstance(draft.contract, Contract) and draft.contract.info.system == "crm"


@pytest.mark.parametrize("kind", ["registry", "domain", "system"])
def test_the_files_above_have_schemas_for_editors(kind: str) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = file_json_schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    good = {
        "registry": {
            "entries": [{"entity": "a", "enabled": False, "contracts": {"bronze": "a.yaml", "gold": ["b", "c"]}}]
        },
        "domain": {
            "owner": "a",
            "contacts": "b",
            "alerts": [{"on": "failure", "to": ["x"]}],
            "defaults": {"engine": "spark"},
        },
        "system": {"storage": {"a": "b"}, "environments": {"dev": {"engine": "duckdb", "defaults": {"dataset": "x"}}}},
    }
    check.validate(good[kind])
    assert not check.is_valid({"entires": []})
    assert all(prop.get("description") for prop in schema["properties"].values())
