"""An estate is looked at as a whole: every mistake at once, each at its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import lakelogic
from lakelogic.core.errors import ContractError, Problem
from lakelogic.core.settings import Settings
from lakelogic.driver.checks import build_dag
from lakelogic.driver.estate import read_estate
from lakelogic.driver.validate import validate_paths
from lakelogic.run.links import find_in_registries, resolve_links

Write = Callable[[str, str], Path]
PutContract = Callable[..., Path]


def problems(*paths: str) -> list[Problem]:
    return list(validate_paths([Path(path) for path in paths]).problems)


def told(found: list[Problem]) -> list[tuple[str, str, int]]:
    return [(p.code, Path(p.place.file).name, p.place.line) for p in found if p.place]


REGISTRY = """\
    entries:
      - entity: claims
        contracts: { bronze: bronze_claims.yaml, silver: [silver_claims.yaml, silver_claims_open.yaml] }
      - entity: policies
        enabled: false
        contracts: { bronze: bronze_policies.yaml }
    """


@pytest.fixture
def registry(write: Write, contract: PutContract) -> Path:
    contract("bronze_claims")
    contract("silver_claims", "upstream: [bronze_claims]")
    contract("silver_claims_open", source="lake/silver_claims")
    contract("bronze_policies")
    return write("c/_registry.yaml", REGISTRY)


def test_a_registry_gives_entity_layer_and_whether_it_runs(registry: Path) -> None:
    estate = read_estate([registry])
    assert estate.problems == ()
    assert {name: (m.entity, m.layer, m.enabled) for name, m in estate.members.items()} == {
        "bronze_claims": ("claims", "bronze", True),
        "silver_claims": ("claims", "silver", True),
        "silver_claims_open": ("claims", "silver", True),
        "bronze_policies": ("policies", "bronze", False),
    }


def test_a_folder_is_its_registries_and_what_they_do_not_list(registry: Path, contract: PutContract) -> None:
    contract("loose", folder="c/sub")
    assert [*read_estate([Path("c")]).members][-1] == "loose"
    assert validate_paths([Path("c")]).contracts == 5


def test_mistakes_of_registries_have_places(write: Write, contract: PutContract) -> None:
    contract("a")
    write(
        "c/_registry.yaml",
        """\
        entries:
          - entity: a
            contracts: { bronze: a.yaml, slver: b.yaml }
          - entity: b
            contracts: { bronze: missing.yaml, silver: a.yaml }
          - enabled: true
        """,
    )
    found = problems("c/_registry.yaml")
    assert told(found) == [
        ("LL110", "_registry.yaml", 3),
        ("LL170", "_registry.yaml", 5),
        ("LL171", "_registry.yaml", 5),
        ("LL111", "_registry.yaml", 6),
    ]
    assert found[0].hint == "did you mean `silver`?"


def test_relations_are_checked(write: Write, contract: PutContract) -> None:
    contract("a", "upstream: [bronze_b]")
    contract("bronze_bb", "links: [{ name: x, dataset: nobody_knows }]")
    write("c/again.yaml", "dataset: a\nmaterialization: { target_path: lake/bronze_bb }\n")
    found = problems("c")
    assert {(p.code, p.message) for p in found} == {
        ("LL172", "no contract of the estate is of dataset `bronze_b`"),
        ("LL172", "no contract of the estate is of dataset `nobody_knows`"),
        ("LL171", "two contracts are of dataset `a`"),
    }
    assert next(p.hint for p in found if "bronze_b`" in p.message) == "did you mean `bronze_bb`?"


def test_two_writers_of_one_table(contract: PutContract, write: Write) -> None:
    contract("a")
    write("c/b.yaml", "dataset: b\nmaterialization: { target_path: ./lake/a/ }\n")
    write("c/d.yaml", "dataset: d\nmaterialization: { target_path: lake/d }\nquarantine: { target_path: lake/a }\n")
    found = [p for p in problems("c") if p.code == "LL174"]
    assert [(Path(p.place.file).name, p.place.line) for p in found if p.place] == [("b.yaml", 2), ("d.yaml", 3)]


def test_a_circle_is_drawn_with_its_places(contract: PutContract) -> None:
    contract("a", "upstream: [d]")
    contract("b", source="lake/a")
    contract("d", "links: [{ name: bs, path: lake/b }]")
    contract("far", "upstream: [a]")
    (problem,) = problems("c")
    assert (problem.code, problem.message) == ("LL173", "datasets go in a circle: a -> b -> d -> a")
    assert problem.hint is not None
    for place in ("b.yaml:2:", "d.yaml:5:", "a.yaml:5:"):
        assert place in problem.hint


def test_whoever_needs_itself_is_a_circle_and_whoever_looks_at_its_own_table_is_not(contract: PutContract) -> None:
    contract("mirror", source="lake/mirror")
    assert problems("c") == []
    contract("selfish", "upstream: [selfish]")
    assert [p.message for p in problems("c")] == ["datasets go in a circle: selfish -> selfish"]


def test_what_is_switched_off_warns_its_dependants(registry: Path, contract: PutContract) -> None:
    contract("gold_policies", "upstream: [bronze_policies]", folder="c/gold")
    (problem,) = problems("c")
    assert (problem.code, problem.severity) == ("LL177", "warning")
    assert problem.hint is not None and "_registry.yaml:6:" in problem.hint


def test_the_layer_is_said_once(write: Write, contract: PutContract) -> None:
    contract("a", "info: { target_layer: gold }")
    write("c/_registry.yaml", "entries: [{ entity: a, contracts: { silver: a.yaml } }]\n")
    assert told(problems("c/_registry.yaml")) == [("LL178", "a.yaml", 5)]


def test_other_registries_and_others_tables_are_known(write: Write, contract: PutContract) -> None:
    contract("ref_countries", folder="ref")
    contract("a", "upstream: [ref_countries, crm_export]", "links: [{ name: countries, dataset: ref_countries }]")
    write("ref/_registry.yaml", "entries: [{ entity: countries, contracts: { reference: ref_countries.yaml } }]\n")
    entries = "entries: [{ entity: a, contracts: { silver: a.yaml } }]\n"
    write("c/_registry.yaml", entries)
    assert [p.code for p in problems("c/_registry.yaml")] == ["LL172", "LL172", "LL172"]
    write("c/_registry.yaml", entries + "uses: [../ref/_registry.yaml]\nexternal: [crm_export]\n")
    assert problems("c/_registry.yaml") == []
    estate = read_estate([Path("c/_registry.yaml")])
    assert [contract.dataset for contract in estate] == ["a"]  # the other's are known, and not ours to run
    assert build_dag(estate).upstream_of("a") == ("ref_countries",)


def test_a_mistake_above_many_contracts_is_told_once(write: Write, contract: PutContract) -> None:
    write("c/_system.yaml", "sytem: crm\n")
    for name in ("a", "b", "d"):
        contract(name)
    assert told(problems("c")) == [("LL110", "_system.yaml", 1)]


def test_a_contract_by_itself_may_name_what_only_its_estate_knows(contract: PutContract) -> None:
    path = contract("a", "upstream: [somebody]")
    assert problems(str(path)) == []


def test_a_link_by_dataset_is_found_through_the_registries_above(write: Write, contract: PutContract) -> None:
    contract("ref_countries", folder="shared/ref")
    file = contract("a", "links: [{ name: countries, dataset: ref_countries }]", folder="sales/silver")
    loaded = lakelogic.load_contract(file)
    with pytest.raises(ContractError, match="no registry has a contract of dataset `ref_countries`"):
        resolve_links(loaded, Settings(), find_in_registries(loaded, None))
    write("shared/ref/_registry.yaml", "entries: [{ entity: c, contracts: { reference: ref_countries.yaml } }]\n")
    write("sales/_registry.yaml", "uses: [../shared/ref/_registry.yaml]\n")
    resolved = resolve_links(loaded, Settings(), find_in_registries(loaded, None))
    assert resolved.links[0].path == str(Path.cwd() / "shared" / "ref" / "lake" / "ref_countries")
    assert resolved.links[0].format == "delta"
    assert validate_paths([file]).problems == ()


def test_the_python_interface_reads_like_the_manual(registry: Path) -> None:
    estate = lakelogic.load_all_contracts("c")
    dag = lakelogic.build_dag_from_upstream(estate)
    names = [contract.dataset for contract in lakelogic.topo_sort(dag)]
    assert names.index("bronze_claims") < names.index("silver_claims") < names.index("silver_claims_open")
    assert lakelogic.build_dag is lakelogic.build_dag_from_upstream


def test_the_python_interface_raises_with_all_mistakes(contract: PutContract) -> None:
    contract("a", "upstream: [x]")
    contract("b", "upstrem: [a]")
    with pytest.raises(ContractError) as error:
        lakelogic.load_all_contracts("c")
    assert [problem.code for problem in error.value.problems] == ["LL110"]
    contract("b", "upstream: [y]")
    with pytest.raises(ContractError) as error:
        lakelogic.build_dag(lakelogic.load_all_contracts("c"))
    assert [problem.code for problem in error.value.problems] == ["LL172", "LL172"]
