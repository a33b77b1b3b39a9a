"""Where every value of a contract stands, and who put it there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakelogic.contract.dataset_rules import DATASET_RULE_BESIDE, DATASET_RULE_KINDS
from lakelogic.contract.row_rules import ROW_RULE_BESIDE, ROW_RULE_KINDS
from lakelogic.contract.transformations import STEP_BESIDE, STEP_KINDS
from lakelogic.contract.yaml_tree import Mark, YamlList, YamlMap
from lakelogic.core.errors import Place

Part = str | int

# Keys that may be written another way, by their long form.
_OTHER_SPELLINGS = {
    "accepted_values": "allowed_values",
    "required": "nullable",
    "json_path": "path",
    "from_": "from",
}
# A value that is resolved from several places.
_ELSEWHERE = {
    "primary_key": ("model.primary_key", "materialization.primary_key"),
    "dataset": ("info.table_name",),
}
_ONE_KEY_LISTS: tuple[tuple[tuple[Part, ...], Collection[str], Collection[str]], ...] = (
    (("transformations",), STEP_KINDS, STEP_BESIDE),
    (("quality", "row_rules"), ROW_RULE_KINDS, ROW_RULE_BESIDE),
    (("quality", "dataset_rules"), DATASET_RULE_KINDS, DATASET_RULE_BESIDE),
)
_SHORT_VALUE = 6  # shorter values of variables are words such as `dev`; hiding them would garble any text


@dataclass(frozen=True)
class Positions:
    """The values as they were written, after all layers were laid over each other."""

    file: str = "contract.yaml"
    tree: YamlMap | None = field(default=None, repr=False)
    hidden: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    roots: tuple[tuple[str, Place], ...] = field(default=(), repr=False)  # of storage, by name

    def at(self, path: str) -> Place:
        found = self._find(path)
        if found is None:
            return Place(self.file, 1, 1, path)
        return mark_of(self.tree, found).place(path)

    def origin(self, path: str) -> str:
        found = self._find(path)
        parts = split_path(path)
        if found is None or (len(found) < len(parts) and not _written_short(self.tree, found)):
            return "default"
        mark = mark_of(self.tree, found)
        return mark.origin or str(mark.place())

    def inherited(self) -> tuple[tuple[str, str], ...]:
        """Values that another file, a layer or the command line gave: their paths, and who said so."""
        found = inherited_values(self.tree, self.file)
        values = [(path, mark.origin or str(mark.place())) for path, mark in found]
        return (*values, *[(f"storage.{name}", str(place)) for name, place in self.roots])

    def written(self, path: str) -> str | None:
        """A text value as the author wrote it, with its `${...}`."""
        found = self._find(path)
        if found is None:
            return None
        value = value_of(self.tree, found)
        return mark_of(self.tree, found).written or (value if isinstance(value, str) else None)

    def redact(self, text: str) -> str:
        for value, written in self.hidden:
            if written.startswith("${secret:"):
                text = text.replace(value, "***")
            elif len(value) >= _SHORT_VALUE:
                text = text.replace(value, written)
        return text

    def hide(self, path: str, text: str) -> str:
        """Take the value at a path out of a sentence about it, however short it is, and all others too."""
        found = self._find(path)
        written = mark_of(self.tree, found).written if found else None
        if found and written is not None:
            text = text.replace(f"`{value_of(self.tree, found)}`", f"`{written}`")
        return self.redact(text)

    def _find(self, path: str) -> tuple[Part, ...] | None:
        found = locate(self.tree, split_path(path))
        if found:
            return found
        head, _, rest = path.partition(".")
        for other in _ELSEWHERE.get(head, ()):
            found = locate(self.tree, split_path(f"{other}.{rest}" if rest else other))
            if len(found) >= len(split_path(other)):
                return found
        return None


def split_path(path: str) -> tuple[Part, ...]:
    """`model.fields.0` as keys and indexes."""
    return tuple(int(part) if part.isdigit() else part for part in path.split("."))


def locate(tree: Any, parts: Sequence[Part]) -> tuple[Part, ...]:
    """Find the written path that stands for a path in long form, as deep as it goes.

    Items of a list may be written short (`- rename: {a: b}` for `{kind: rename, mapping: {a: b}}`), so that
    below a list some parts have no counterpart; outside of lists every part has.
    """
    return _search(tree, _with_kind(tree, tuple(parts)), inside_item=False)[2]


def _with_kind(tree: Any, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Name the kind of a step or rule in a path that goes into one: `transformations.0.on` has none."""
    for head, kinds, beside in _ONE_KEY_LISTS:
        depth = len(head)
        if parts[:depth] != head or len(parts) < depth + 2 or parts[depth + 1] in beside:
            continue
        path = _search(tree, parts[: depth + 1], inside_item=False)[2]
        item = value_of(tree, path)
        if len(path) == depth + 1 and isinstance(item, YamlMap) and parts[depth + 1] not in item:
            kind = next((key for key in item if key in kinds), None)
            return (*path, kind, *parts[depth + 1 :]) if kind else parts
    return parts


def _search(node: Any, parts: tuple[Part, ...], inside_item: bool) -> tuple[bool, int, tuple[Part, ...]]:
    # Best is the way that reaches the last part; among those, the one that leaves out the fewest.
    if not parts:
        return (False, 0, ())
    whole = ".".join(str(part) for part in parts)
    if len(parts) > 1 and isinstance(node, YamlMap) and whole in node:
        return (True, len(parts), (whole,))  # a key with dots, as table properties have
    best: tuple[bool, int, tuple[Part, ...]] = (False, 0, ())
    if inside_item:
        best = _search(node, parts[1:], True)
    key = _key_in(node, parts[0])
    if key is not None:
        last, count, path = _search(node[key], parts[1:], inside_item or isinstance(node, YamlList))
        way = (last or len(parts) == 1, count + 1, (key, *path))
        if way[:2] >= best[:2]:
            best = way
    return best


def _key_in(node: Any, part: Part) -> Any:
    if isinstance(node, YamlMap):
        for key in (str(part), _OTHER_SPELLINGS.get(str(part))):
            if key in node:
                return key
    if isinstance(node, YamlList) and isinstance(part, int) and part < len(node):
        return part
    return None


def value_of(tree: Any, path: Sequence[Part]) -> Any:
    """The value at a written path."""
    for part in path:
        tree = tree[part]
    return tree


def mark_of(tree: Any, path: Sequence[Part]) -> Mark:
    """The mark of the value at a written path."""
    if not path:
        mark: Mark = tree.mark
        return mark
    parent: YamlMap | YamlList = value_of(tree, path[:-1])
    return parent.mark_of(path[-1])


def _written_short(tree: Any, path: Sequence[Part]) -> bool:
    return not isinstance(value_of(tree, path), YamlMap)


def inherited_values(tree: YamlMap | None, file: str) -> Iterator[tuple[str, Mark]]:
    """The values that the file did not write itself: by their paths, and where they stood."""
    for key, value in (tree or {}).items():
        if key not in ("stages", "environments"):
            assert tree is not None
            yield from _inherited(value, tree.value_marks[key], key, file)


def _inherited(value: Any, mark: Mark, path: str, file: str) -> Iterator[tuple[str, Mark]]:
    if isinstance(value, YamlMap) and value:
        for key, item in value.items():
            yield from _inherited(item, value.value_marks[key], f"{path}.{key}", file)
    elif isinstance(value, YamlList) and _is_mixed(value, mark, file):
        for index, item in enumerate(value):
            yield from _inherited(item, value.marks[index], f"{path}.{index}", file)
    elif mark.file != file or mark.origin is not None:
        yield path, mark


def _is_mixed(items: YamlList, mark: Mark, file: str) -> bool:
    """Whether the items of a list are not all of one other file."""
    files = {each.file for each in items.marks}
    return file in files or not files <= {mark.file}
