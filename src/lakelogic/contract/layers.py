"""Laying one block over another: inheritance, stages, environments, overrides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Literal

from lakelogic.contract.mistakes import suggest
from lakelogic.contract.yaml_tree import Mark, YamlList, YamlMap, parse_yaml
from lakelogic.core.errors import Problem

# Lists whose items have names. A rule of the same name takes the other's place: half of one and half
# of the other would be a rule that nobody wrote.
_NAMED_LISTS: dict[str, Literal["merge", "replace"]] = {
    "model.fields": "merge",
    "links": "merge",
    "downstream": "merge",
    "views": "merge",
    "tests": "replace",
    "quality.row_rules": "replace",
    "quality.dataset_rules": "replace",
}


def merge(base: YamlMap, over: YamlMap, path: str = "") -> YamlMap:
    """Lay `over` on `base`; nearest value wins, `null` takes an inherited value away."""
    result = _copy(base)
    for key, value in over.items():
        below = f"{path}.{key}" if path else key
        if key in base:
            if value is None:
                result.remove(key)
                continue
            value = _merge_values(base[key], value, below)
        result.put(key, value, over.key_marks[key], over.value_marks[key])
    return result


def _merge_values(base: Any, over: Any, path: str) -> Any:
    if isinstance(base, YamlMap) and isinstance(over, YamlMap):
        return merge(base, over, path)
    if isinstance(base, YamlList) and isinstance(over, YamlList) and path in _NAMED_LISTS:
        return _merge_named(base, over, _NAMED_LISTS[path])
    return over


def _merge_named(base: YamlList, over: YamlList, how: Literal["merge", "replace"]) -> YamlList:
    result = YamlList(over.mark)
    for value, mark in zip(base, base.marks, strict=True):
        result.add(value, mark)
    places = {_name(item): index for index, item in enumerate(base) if _name(item) is not None}
    for item, mark in zip(over, over.marks, strict=True):
        index = places.get(_name(item)) if _name(item) is not None else None
        if index is not None:
            result[index] = merge(base[index], item) if how == "merge" else item
            result.marks[index] = mark
        elif item not in base:
            result.add(item, mark)
    return result


def _name(item: Any) -> str | None:
    name = item.get("name") if isinstance(item, YamlMap) else None
    return name if isinstance(name, str) else None


def _copy(block: YamlMap) -> YamlMap:
    result = YamlMap(block.mark)
    for key, value in block.items():
        result.put(key, value, block.key_marks[key], block.value_marks[key])
    return result


def relabel(value: Any, origin: str | Callable[[Mark], str]) -> Any:
    """Copy a block, its marks saying which layer it came from."""

    def said(mark: Mark) -> Mark:
        return mark._replace(origin=origin if isinstance(origin, str) else origin(mark))

    if isinstance(value, YamlMap):
        result = YamlMap(said(value.mark))
        for key, item in value.items():
            result.put(key, relabel(item, origin), said(value.key_marks[key]), said(value.value_marks[key]))
        return result
    if isinstance(value, YamlList):
        items = YamlList(said(value.mark))
        for item, mark in zip(value, value.marks, strict=True):
            items.add(relabel(item, origin), said(mark))
        return items
    return value


def choose_layer(
    tree: YamlMap, block: Literal["stages", "environments"], name: str | None, elsewhere: Collection[str] = ()
) -> tuple[YamlMap, list[Problem]]:
    """Lay the chosen stage or environment over the contract; one that is known `elsewhere` need not be here."""
    if name is None:
        return tree, []
    noun = block.removesuffix("s")
    known = tree.get(block)
    if isinstance(known, YamlMap) and isinstance(known.get(name), YamlMap):
        return merge(tree, relabel(known[name], f"{noun} {name}")), []
    if isinstance(known, YamlMap) and name in known:
        return tree, []  # empty, or of a wrong type, which the model reports
    if name in elsewhere:
        return tree, []
    mark = tree.value_marks.get(block, tree.mark)
    hint = suggest(name, known) if isinstance(known, YamlMap) and known else f"add `{block}: {{ {name}: ... }}`"
    return tree, [Problem("LL140", f"the contract has no {noun} `{name}`", mark.place(block), hint)]


def other_layers(tree: YamlMap, chosen: Iterable[str | None]) -> Iterator[tuple[str, YamlMap]]:
    """The contract under each stage and environment that was not chosen, to find the mistakes in them too."""
    taken = set(chosen)
    for block in ("stages", "environments"):
        known = tree.get(block)
        for name, layer in known.items() if isinstance(known, YamlMap) else ():
            if isinstance(layer, YamlMap) and layer and name not in taken:
                origin = f"{block.removesuffix('s')} {name}"
                yield origin, merge(tree, relabel(layer, origin))


def apply_overrides(tree: YamlMap, overrides: Iterable[str]) -> tuple[YamlMap, list[Problem]]:
    """Set single values, each written `a.b=c`."""
    problems: list[Problem] = []
    result = deep_copy(tree)
    for override in overrides:
        path, equals, text = override.partition("=")
        mark = Mark(f"--set {path.strip()}", 1, 1, origin="--set", plain=True)
        parts = [part for part in path.strip().split(".") if part]
        if not equals or not parts:
            hint = "write the path and the value: `source.path=data/customers.csv`"
            problems.append(Problem("LL141", "an override needs a path and a value", mark.place(), hint))
            continue
        value, syntax = parse_yaml(text, mark.file)
        # A path on the right such as `C:\data` or `a: b` need not be YAML to be a fine text.
        value = text.strip() if syntax or isinstance(value, YamlMap) else value
        problem = _set(result, parts, relabel(value, "--set"), mark)
        problems += [problem] if problem else []
    return result, problems


def deep_copy(value: Any) -> Any:
    """A copy whose parts may be changed."""
    if isinstance(value, YamlMap):
        result = YamlMap(value.mark)
        for key, item in value.items():
            result.put(key, deep_copy(item), value.key_marks[key], value.value_marks[key])
        return result
    if isinstance(value, YamlList):
        items = YamlList(value.mark)
        for item, mark in zip(value, value.marks, strict=True):
            items.add(deep_copy(item), mark)
        return items
    return value


def _set(node: Any, parts: list[str], value: Any, mark: Mark) -> Problem | None:
    *above, last = parts
    for part in above:
        if isinstance(node, YamlList):
            index = _index(node, part)
            if index is None:
                return _no_item(part, node, mark)
            node = node[index]
        else:
            if not isinstance(node.get(part), YamlMap | YamlList):
                node.put(part, YamlMap(mark), mark, mark)
            node = node[part]
        if not isinstance(node, YamlMap | YamlList):
            return Problem("LL142", f"`{part}` has no keys to set", mark.place(), "set the whole value instead")
    if isinstance(node, YamlMap):
        node.put(last, value, mark, mark)
        return None
    index = _index(node, last)
    if index is None:
        return _no_item(last, node, mark)
    node[index], node.marks[index] = value, mark
    return None


def _index(items: YamlList, part: str) -> int | None:
    if part.isdigit():
        return int(part) if int(part) < len(items) else None
    return next((index for index, item in enumerate(items) if _name(item) == part), None)


def _no_item(part: str, items: YamlList, mark: Mark) -> Problem:
    names = [name for name in map(_name, items) if name]
    hint = suggest(part, names) if names and not part.isdigit() else f"it has {len(items)} items, counted from 0"
    return Problem("LL142", f"the list has no item `{part}`", mark.place(), hint)
