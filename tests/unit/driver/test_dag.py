"""The graph, what can be chosen of it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lakelogic.core.errors import ContractError
from lakelogic.driver.checks import build_dag
from lakelogic.driver.draw import describe_dag, draw_dot, draw_mermaid, draw_text
from lakelogic.driver.draw_html import draw_html
from lakelogic.driver.estate import read_estate
from lakelogic.driver.graph import Dag
from lakelogic.driver.select import Selection, choose, split_words


@pytest.fixture
def dag(write: Callable[[str, str], Path], contract: Callable[..., Path]) -> Dag:
    """Two entities that meet in one fact."""
    contract("bronze_claims", "info: { target_layer: bronze, tags: [raw] }")
    contract("bronze_people", "info: { target_layer: bronze, tags: [raw] }")
    contract("silver_claims", "info: { target_layer: silver, domain: claims }", source="lake/bronze_claims")
    contract("silver_people", "upstream: [bronze_people]", "info: { target_layer: silver, tags: [pii] }")
    contract(
        "gold_fact",
        "links: [{ name: people, dataset: silver_people }]",
        "info: { target_layer: gold, owner: me@example.com }",
        source="lake/silver_claims",
    )
    contract("gold_people", "upstream: [silver_people]", "info: { target_layer: gold }", folder="c")
    entries = "".join(
        f"  - {{ entity: {entity}, contracts: {{ {layers} }} }}\n"
        for entity, layers in (
            ("claims", "bronze: bronze_claims.yaml, silver: silver_claims.yaml, gold: gold_fact.yaml"),
            ("people", "bronze: bronze_people.yaml, silver: silver_people.yaml, gold: gold_people.yaml"),
        )
    )
    write("c/_registry.yaml", f"entries:\n{entries}")
    return build_dag(read_estate([Path("c")], checked=False))


def test_edges_come_from_upstream_links_and_tables(dag: Dag) -> None:
    assert {(e.upstream, e.downstream, e.key) for e in dag.edges} == {
        ("bronze_claims", "silver_claims", "source.path"),
        ("bronze_people", "silver_people", "upstream"),
        ("silver_claims", "gold_fact", "source.path"),
        ("silver_people", "gold_fact", "links.people"),
        ("silver_people", "gold_people", "upstream"),
    }
    assert dag.ancestors("gold_fact") == {"silver_claims", "silver_people", "bronze_claims", "bronze_people"}
    assert dag.ancestors("gold_fact", 1) == {"silver_claims", "silver_people"}
    assert dag.descendants("bronze_people") == {"silver_people", "gold_fact", "gold_people"}


def test_the_order_is_by_layers_and_then_as_listed(dag: Dag) -> None:
    assert dag.order == (
        "bronze_claims", "bronze_people", "silver_claims", "silver_people", "gold_fact", "gold_people",
    )  # fmt: skip


CHOICES = [
    ("silver_people", {"silver_people"}),
    ("+silver_people", {"bronze_people", "silver_people"}),
    ("silver_people+", {"silver_people", "gold_fact", "gold_people"}),
    ("+silver_people+", {"bronze_people", "silver_people", "gold_fact", "gold_people"}),
    ("1+gold_fact", {"silver_claims", "silver_people", "gold_fact"}),
    ("bronze_people+1", {"bronze_people", "silver_people"}),
    ("bronze_*", {"bronze_claims", "bronze_people"}),
    ("tag:raw", {"bronze_claims", "bronze_people"}),
    ("tag:raw,entity:people", {"bronze_people"}),
    ("gold_people bronze_claims", {"gold_people", "bronze_claims"}),
    ("+layer:gold,layer:bronze", {"bronze_claims", "bronze_people"}),
    ("domain:claims", {"silver_claims"}),
    ("owner:me@example.com", {"gold_fact"}),
    ("path:c/gold_fact.yaml", {"gold_fact"}),
    ("path:c/gold_*", {"gold_fact", "gold_people"}),
    ("path:elsewhere", set()),
]


@pytest.mark.parametrize(("words", "expected"), CHOICES, ids=[words for words, _ in CHOICES])
def test_words_choose_datasets(dag: Dag, words: str, expected: set[str]) -> None:
    assert set(choose(dag, Selection(select=(words,)))) == expected


def test_layers_entities_and_exclusions_narrow(dag: Dag) -> None:
    assert choose(dag, Selection(layers=("silver", "gold"), entities=("people",))) == ("silver_people", "gold_people")
    assert choose(dag, Selection(select=("tag:raw", "gold_fact"), exclude=("bronze_people",))) == (
        "bronze_claims",
        "gold_fact",
    )
    assert split_words(["bronze,silver", "gold"]) == ("bronze", "silver", "gold")


def test_fields_with_personal_data_are_tagged_pii(contract: Callable[..., Path], write: Callable[..., Path]) -> None:
    contract("a")
    write("c/b.yaml", "dataset: b\nmodel: { fields: [{ name: mail, pii: true }] }\n")
    found = build_dag(read_estate([Path("c")], checked=False))
    assert choose(found, Selection(select=("tag:pii",))) == ("b",)


WRONG = [
    (Selection(select=("silver_persons",)), "there is no dataset `silver_persons`", "did you mean `silver_people`?"),
    (Selection(select=("tags:raw",)), "`tags:` is not a way to choose datasets", "did you mean `tag`?"),
    (Selection(select=("layer:sliver",)), "layer:: there is no layer `sliver`", "did you mean `silver`?"),
    (Selection(layers=("brnze",)), "--layers: there is no layer `brnze`", "did you mean `bronze`?"),
    (Selection(entities=("claim",)), "--entities: there is no entity `claim`", "did you mean `claims`?"),
    (Selection(select=("a++b",)), "`a++b` chooses nothing", None),
]


@pytest.mark.parametrize(("wanted", "message", "hint"), WRONG, ids=[message for _, message, _ in WRONG])
def test_words_that_mean_nothing_are_refused(dag: Dag, wanted: Selection, message: str, hint: str | None) -> None:
    with pytest.raises(ContractError) as error:
        choose(dag, wanted)
    assert (error.value.problem.code, error.value.problem.message) == ("LL180", message)
    assert hint is None or error.value.problem.hint == hint


def test_the_tree_names_everybody_and_draws_nobody_twice(dag: Dag) -> None:
    assert draw_text(dag).splitlines() == [
        "bronze_claims [bronze]",
        "└─ silver_claims [silver]",
        "   └─ gold_fact [gold]",
        "bronze_people [bronze]",
        "└─ silver_people [silver]",
        "   ├─ gold_fact [gold]",
        "   └─ gold_people [gold]",
    ]


def test_mermaid_and_dot_have_every_node_and_edge(dag: Dag) -> None:
    mermaid = draw_mermaid(dag)
    assert mermaid.startswith("flowchart LR\n  subgraph bronze\n")
    assert (mermaid.count('["'), mermaid.count(" --> ")) == (6, 5)
    dot = draw_dot(dag)
    assert (dot.count("[group="), dot.count(" -> ")) == (6, 5)
    assert '"silver_people" -> "gold_fact";' in dot


def test_data_has_the_order_and_the_places(dag: Dag) -> None:
    told = describe_dag(dag)
    assert [each["dataset"] for each in told["datasets"]] == list(dag.order)
    fact = told["datasets"][4]
    assert (fact["layer"], fact["entity"], sorted(fact["upstream"])) == (
        "gold", "claims", ["silver_claims", "silver_people"],
    )  # fmt: skip
    assert fact["target"].endswith("/c/lake/gold_fact")
    assert {edge["place"].split(":")[0] for edge in told["edges"]} == {
        "c/silver_claims.yaml", "c/silver_people.yaml", "c/gold_fact.yaml", "c/gold_people.yaml",
    }  # fmt: skip


def test_names_do_not_run_as_scripts(contract: Callable[..., Path], write: Callable[..., Path]) -> None:
    write("c/evil.yaml", "dataset: '<script>alert(1)</script>\"];'\n")
    found = build_dag(read_estate([Path("c")], checked=False))
    page = draw_html(found)
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "<" not in draw_mermaid(found)
    assert '\\"];' in draw_dot(found)


def test_a_page_holds_the_whole_graph(dag: Dag) -> None:
    page = draw_html(dag)
    assert (page.count("<rect"), page.count("<path")) == (6, 5)
    assert "http" not in page


def test_a_part_keeps_its_own_edges_only(dag: Dag) -> None:
    part = dag.part({"bronze_people", "silver_people", "gold_fact"})
    assert {(e.upstream, e.downstream) for e in part.edges} == {
        ("bronze_people", "silver_people"),
        ("silver_people", "gold_fact"),
    }
