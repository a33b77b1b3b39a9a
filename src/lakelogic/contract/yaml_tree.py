"""YAML 1.2 text to plain values that remember where they stood."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lakelogic.core.errors import Place, Problem

_MAX_NODES = 100_000  # a few nested aliases can stand for billions of nodes
_MAX_DEPTH = 60


class Mark(NamedTuple):
    """Where a key or value stood, and who put it there when it was not the file itself."""

    file: str
    line: int
    column: int
    origin: str | None = None
    plain: bool = False  # written without quotes: `${PORT}` may become a number
    written: str | None = None  # the text before interpolation, where there was any

    def place(self, path: str = "") -> Place:
        return Place(self.file, self.line, self.column, path)


class YamlMap(dict[str, Any]):
    """A mapping that knows where its keys and values stood."""

    __slots__ = ("key_marks", "mark", "value_marks")

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.key_marks: dict[str, Mark] = {}
        self.value_marks: dict[str, Mark] = {}

    def put(self, key: str, value: Any, key_mark: Mark, value_mark: Mark) -> None:
        self[key] = value
        self.key_marks[key] = key_mark
        self.value_marks[key] = value_mark

    def mark_of(self, key: Any) -> Mark:
        return self.value_marks[key]

    def remove(self, key: str) -> None:
        del self[key], self.key_marks[key], self.value_marks[key]


class YamlList(list[Any]):
    """A list that knows where its items stood."""

    __slots__ = ("mark", "marks")

    def __init__(self, mark: Mark) -> None:
        super().__init__()
        self.mark = mark
        self.marks: list[Mark] = []

    def add(self, value: Any, mark: Mark) -> None:
        self.append(value)
        self.marks.append(mark)

    def mark_of(self, index: Any) -> Mark:
        mark: Mark = self.marks[index]
        return mark

    def remove(self, index: int) -> None:
        del self[index], self.marks[index]


# Tags that say how a scalar was written; values are resolved here and not by PyYAML, whose YAML 1.1
# rules would turn `on`, `no` and `12:30` into something else.
_PLAIN, _QUOTED = "plain", "quoted"
_KNOWN_TAGS = {_PLAIN, _QUOTED, *(f"tag:yaml.org,2002:{name}" for name in ("str", "map", "seq"))}


class _Resolver:
    """The part of a PyYAML loader that chooses tags."""

    def resolve(self, kind: type[Node], value: Any, implicit: Any) -> str:
        if kind is ScalarNode:
            return _PLAIN if implicit[0] else _QUOTED
        return "tag:yaml.org,2002:map" if kind is MappingNode else "tag:yaml.org,2002:seq"

    def descend_resolver(self, parent: Any, index: Any) -> None: ...

    def ascend_resolver(self) -> None: ...


class _Composer(CParser, _Resolver):
    """libyaml's parser, about ten times as fast as the one in Python."""


_INT = re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    ".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan,
}  # fmt: skip
_FIRST = frozenset("0123456789+-.~nNtTfF")


def resolve_scalar(text: str) -> Any:
    """Give a plain scalar its YAML 1.2 value; `007` stays text, because a code would lose its zeros."""
    if text and text[0] not in _FIRST:
        return text
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def parse_yaml(text: str, file: str) -> tuple[Any, list[Problem]]:
    """Read one YAML document into values with marks; a syntax error leaves None and its problem."""
    try:
        composer = _Composer(text)
        node = composer.get_single_node()
    except yaml.YAMLError as error:
        return None, [_syntax_problem(error, text, file)]
    builder = _Builder(file)
    value = builder.value(node, 0) if node is not None else None
    return value, builder.problems


def _syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    mark = getattr(error, "problem_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "it is not YAML"
    lines = text.splitlines()
    around = lines[max(0, line - 2) : line]
    hint = "look at the indentation, and put text with `: `, `#`, `{` or `*` in quotes"
    if any(re.match(r" *\t", each) for each in around):
        hint = "indent with spaces; YAML allows no tabs"
    return Problem("LL102", f"the YAML cannot be read: {what}", Place(file, line, column), hint)


class _Builder:
    """Turns composed nodes into values, and collects what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.count = 0

    def value(self, node: Node, depth: int) -> Any:
        self.count += 1
        if self.count > _MAX_NODES or depth > _MAX_DEPTH:
            if not any(problem.code == "LL105" for problem in self.problems):
                hint = "write less of it, or use fewer aliases (`*name`)"
                self.problems.append(Problem("LL105", "the file is too large", self.mark(node).place(), hint))
            return None
        if node.tag not in _KNOWN_TAGS:
            message = f"the YAML tag `{node.tag}` is not allowed"
            self.problems.append(Problem("LL104", message, self.mark(node).place(), "write the value without it"))
            return None
        if isinstance(node, ScalarNode):
            return resolve_scalar(node.value) if node.tag == _PLAIN else node.value
        if isinstance(node, SequenceNode):
            return self.list(node, depth)
        return self.map(node, depth) if isinstance(node, MappingNode) else None

    def mark(self, node: Node) -> Mark:
        start = node.start_mark
        return Mark(self.file, start.line + 1, start.column + 1, None, node.tag == _PLAIN)

    def list(self, node: SequenceNode, depth: int) -> YamlList:
        result = YamlList(self.mark(node))
        for item in node.value:
            result.add(self.value(item, depth + 1), self.mark(item))
        return result

    def map(self, node: MappingNode, depth: int) -> YamlMap:
        result = YamlMap(self.mark(node))
        merged: list[YamlMap] = []
        for key_node, value_node in node.value:
            mark = self.mark(key_node)
            if not isinstance(key_node, ScalarNode):
                message = "a key must be text, not a list or mapping"
                self.problems.append(Problem("LL103", message, mark.place(), "put `{` or `[` in quotes"))
                continue
            key = key_node.value
            if node.flow_style and result and _is_cut(result, key_node, value_node):
                self.join(result, key, mark)
                continue
            value = self.value(value_node, depth + 1)
            if key == "<<" and key_node.tag == _PLAIN:
                merged += [each for each in (value if type(value) is YamlList else [value]) if each]
            elif key in result:
                first = result.key_marks[key]
                hint = f"it stands on line {first.line} already; keep one"
                self.problems.append(Problem("LL103", f"the key `{key}` is written twice", mark.place(), hint))
            else:
                result.put(key, value, mark, self.mark(value_node))
        for block in merged:
            _merge_anchor(result, block)
        return result

    def join(self, result: YamlMap, rest: str, mark: Mark) -> None:
        """Put together what a comma cut in two: `{ amount: decimal(12,2) }` is two keys to YAML."""
        key, value = list(result.items())[-1]
        result[key] = f"{value},{rest}"
        # A type can be put together safely; of SQL we do not know the blanks that YAML left out.
        if not _TYPE_START.match(value) and not _has_brackets_open(result[key]):
            message = f"the comma ends the value of `{key}`, so that `{rest}` became a key of its own"
            hint = f"put the whole value of `{key}` in quotes"
            self.problems.append(Problem("LL107", message, mark.place(), hint))


_TYPE_START = re.compile(r"(decimal\s*\(|(array|map|struct)\s*<)", re.IGNORECASE)


def _is_cut(result: YamlMap, key: ScalarNode, value: Node) -> bool:
    """Whether a key without value follows a value whose brackets are still open."""
    if key.tag != _PLAIN or value.tag != _PLAIN or value.value != "":
        return False
    former = next(reversed(result))
    return result.value_marks[former].plain and _has_brackets_open(result[former])


def _has_brackets_open(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    angled = _TYPE_START.match(value) and value.count("<") > value.count(">")
    return bool(angled) or value.count("(") > value.count(")")


def _merge_anchor(result: YamlMap, block: Any) -> None:
    if isinstance(block, YamlMap):
        for key in block:
            if key not in result:
                result.put(key, block[key], block.key_marks[key], block.value_marks[key])
