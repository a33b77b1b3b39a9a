"""YAML 1.2, with the place of every value (trap 11)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakelogic.contract import Contract, Draft
from lakelogic.contract.yaml_tree import YamlMap, parse_yaml, resolve_scalar

Load = Callable[..., Draft]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("off", "off"), ("yes", "yes"), ("no", "no"), ("y", "y"), ("n", "n"), ("NO", "NO"),
        ("true", True), ("False", False), ("null", None), ("~", None), ("", None),
        ("12", 12), ("-3", -3), ("0x1F", 31), ("0o17", 15), ("1e3", 1000.0), ("0.5", 0.5), (".5", 0.5),
        ("007", "007"), ("12:30", "12:30"), ("1_000", "1_000"),
        ("2026-02-01", "2026-02-01"), ("1.2.3", "1.2.3"),
        ("tomato", "tomato"), ("-", "-"),
    ],
)  # fmt: skip
def test_plain_scalars_follow_yaml_1_2(text: str, value: Any) -> None:
    resolved = resolve_scalar(text)
    assert resolved == value and type(resolved) is type(value)


def test_the_key_on_stays_a_word(contract: Callable[[str], Contract]) -> None:
    loaded = contract("transformations: [{ deduplicate: { on: [id] } }]")
    assert loaded.at("transformations.0.on").column == 40


def test_keys_are_text_however_they_look() -> None:
    tree, problems = parse_yaml("{ on: 1, no: 2, 3: 4, true: 5, null: 6 }", "f")
    assert list(tree) == ["on", "no", "3", "true", "null"] and problems == []


def test_every_key_and_value_has_its_place() -> None:
    tree, _ = parse_yaml("a: 1\nb:\n  - x\n  - c: 'y'\n", "f.yaml")
    assert isinstance(tree, YamlMap)
    assert tree.key_marks["b"][:3] == ("f.yaml", 2, 1)
    assert tree["b"].marks[0][:3] == ("f.yaml", 3, 5)
    assert tree["b"][1].value_marks["c"][:3] == ("f.yaml", 4, 8)


def test_a_key_written_twice_is_a_mistake(draft: Load) -> None:
    (problem,) = draft("dataset: a\nversion: '1.0.0'\ndataset: b\n").problems
    assert problem.code == "LL103" and "`dataset`" in problem.message
    assert problem.place is not None and (problem.place.line, problem.place.column) == (3, 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1, 2\nb: 3\n", 2),
        ("a: 'open\n", 2),
        ("a: b: c\n", 1),
        ("a: 1\n---\nb: 2\n", 2),
        ("a: \x01\n", 1),
    ],
)
def test_broken_yaml_is_one_problem_with_its_place(draft: Load, text: str, line: int) -> None:
    loaded = draft(text)
    (problem,) = loaded.problems
    assert loaded.contract is None and problem.code == "LL102" and problem.hint
    assert problem.place is not None and problem.place.line == line


def test_a_tab_is_named(draft: Load) -> None:
    (problem,) = draft("source:\n\tpath: a.csv\n").problems
    assert problem.hint == "indent with spaces; YAML allows no tabs"


@pytest.mark.parametrize("text", ["", "# nothing\n", "- a\n- b\n", "just text\n"])
def test_a_contract_is_a_mapping(draft: Load, text: str) -> None:
    (problem,) = draft(text).problems
    assert problem.code == "LL106"


def test_anchors_and_merge_keys_work(contract: Callable[[str], Contract]) -> None:
    loaded = contract(
        """
        model:
          fields:
            - &amount { name: net, type: double, min: 0 }
            - { <<: *amount, name: gross }
        """
    )
    assert [(field.name, field.type, field.min) for field in loaded.fields] == [
        ("net", "double", 0),
        ("gross", "double", 0),
    ]


def test_aliases_cannot_blow_a_file_up(draft: Load) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    assert "LL105" in {problem.code for problem in draft("\n".join(lines)).problems}


def test_a_list_that_holds_itself_is_refused(draft: Load) -> None:
    assert draft("consumers: &a [*a]").problems


def test_tags_are_refused(draft: Load) -> None:
    (problem,) = draft("dataset: !!python/object:os.system x").problems
    assert problem.code == "LL104"


def test_sql_cut_by_a_comma_is_explained(draft: Load) -> None:
    (problem,) = draft("transformations: [{ derive: { net: COALESCE(a, b, 0) } }]").problems
    assert problem.code == "LL107" and problem.hint == "put the whole value of `net` in quotes"


def test_a_byte_order_mark_is_no_part_of_the_first_key(contract: Callable[[str], Contract]) -> None:
    assert contract("\ufeffdataset: a").dataset == "a"
