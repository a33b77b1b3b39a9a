"""What policy packs add to a contract: rules that hold beside its own, steps before, after or instead of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lakelogic.contract.info import LAYERS
from lakelogic.contract.pack_files import PackFile
from lakelogic.contract.yaml_tree import Mark, YamlList, YamlMap
from lakelogic.core.errors import Problem

_RULES = ("row_rules", "dataset_rules")
_Item = tuple[Any, Mark]


def add_packs(tree: YamlMap, packs: Sequence[PackFile], stage: str | None) -> tuple[YamlMap, list[Problem]]:
    """A contract, its stage and environment laid, with the rules and the steps of its packs."""
    problems: list[Problem] = []
    result = _shallow(tree)
    _add_rules(result, packs, problems)
    _add_steps(result, packs, stage, problems)
    return result, problems


def name_contract(problems: Iterable[Problem], packs: Iterable[str], dataset: str) -> list[Problem]:
    """Say whose contract it is, where the place of a problem is a pack that many have."""
    files = set(packs)
    return [
        replace(each, message=f"{each.message} (in `{dataset}`)") if each.place and each.place.file in files else each
        for each in problems
    ]


def _add_rules(tree: YamlMap, packs: Sequence[PackFile], problems: list[Problem]) -> None:
    for pack in packs:
        given = pack.tree.get("quality") if pack.tree is not None else None
        for key in _RULES:
            rules = given.get(key) if isinstance(given, YamlMap) else None
            if isinstance(rules, YamlList) and isinstance(given, YamlMap):
                _add_to(tree, key, rules, (given.key_marks[key], given.value_marks[key]), pack, problems)


def _add_to(
    tree: YamlMap, key: str, rules: YamlList, marks: tuple[Mark, Mark], pack: PackFile, problems: list[Problem]
) -> None:
    quality = tree.get("quality")
    if quality is None:
        quality = YamlMap(marks[0])
        tree.put("quality", quality, *marks)
    if not isinstance(quality, YamlMap):
        return  # of a wrong type, which the model reports
    quality = _shallow(quality)
    tree.put("quality", quality, tree.key_marks["quality"], tree.value_marks["quality"])
    there = quality.get(key)
    if there is not None and not isinstance(there, YamlList):
        return
    together = _list(_items(there), there.mark if there is not None else rules.mark)
    named = {_name(item): mark for item, mark in _items(there) if _name(item)}
    for item, mark in _items(rules):
        if item in together:
            continue
        name = _name(item)
        if name in named:
            problems.append(_two_rules(name, pack, mark, named[name]))
        else:
            together.add(item, mark)
    if there is not None:
        marks = (quality.key_marks[key], quality.value_marks[key])
    quality.put(key, together, *marks)


def _two_rules(name: Any, pack: PackFile, theirs: Mark, own: Mark) -> Problem:
    message = f"rule `{name}` is in policy pack `{pack.name}` ({theirs.place()}) and here, and they differ"
    return Problem("LL124", message, own.place(), "a pack's rule holds beside the others; give this one another name")


def _add_steps(tree: YamlMap, packs: Sequence[PackFile], stage: str | None, problems: list[Problem]) -> None:
    own = tree.get("transformations")
    if own is not None and not isinstance(own, YamlList):
        return
    layer = _layer(tree, stage)
    before: list[_Item] = []
    instead: list[_Item] = []
    after: list[_Item] = []
    replacing: PackFile | None = None
    for pack in packs:
        steps = list(_steps(tree, pack, layer, problems))
        mode = pack.tree.get("transformations_mode", "prepend") if pack.tree is not None else "prepend"
        if mode == "replace" and steps:
            if replacing is not None:
                problems.append(_two_replace(pack, replacing, steps[0][1]))
                continue
            replacing, instead = pack, steps
        else:
            (after if mode == "append" else before).extend(steps)
    if before or instead or after:
        steps = [*before, *(instead or _items(own)), *after]
        mark = own.mark if own is not None else steps[0][1]
        marks = (mark, mark) if own is None else (tree.key_marks["transformations"], mark)
        tree.put("transformations", _list(steps, mark), *marks)


def _steps(tree: YamlMap, pack: PackFile, layer: str | None, problems: list[Problem]) -> Iterator[_Item]:
    """The steps of a pack for all layers, then those for the contract's."""
    given = pack.tree if pack.tree is not None else {}
    yield from _items(given.get("transformations"))
    by_layer = [each for each in LAYERS if given.get(f"{each}_transformations")]
    if by_layer and layer is None:
        message = f"policy pack `{pack.name}` has steps for {', '.join(by_layer)}, and the contract has no layer"
        place = tree.value_marks.get("info", tree.mark).place("info.target_layer")
        problems.append(Problem("LL125", message, place, "set info.target_layer, or choose one with --stage"))
    if layer in by_layer:
        yield from _items(given[f"{layer}_transformations"])


def _layer(tree: YamlMap, stage: str | None) -> str | None:
    if stage in LAYERS:
        return stage
    info = tree.get("info")
    said = info.get("target_layer") if isinstance(info, YamlMap) else None
    return said if isinstance(said, str) else None


def _two_replace(pack: PackFile, other: PackFile, mark: Mark) -> Problem:
    message = f"policy packs `{other.name}` and `{pack.name}` both replace the steps of a contract"
    return Problem("LL126", message, mark.place(), "use one of them, or `transformations_mode: append`")


def _items(listed: Any) -> list[_Item]:
    return list(zip(listed, listed.marks, strict=True)) if isinstance(listed, YamlList) else []


def _list(items: Iterable[_Item], mark: Mark) -> YamlList:
    result = YamlList(mark)
    for item, where in items:
        result.add(item, where)
    return result


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, YamlMap) else None
    return name if isinstance(name, str) else None


def _shallow(block: YamlMap) -> YamlMap:
    result = YamlMap(block.mark)
    for key, value in block.items():
        result.put(key, value, block.key_marks[key], block.value_marks[key])
    return result
