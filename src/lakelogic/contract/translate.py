"""What Pydantic found, in the author's words and at the author's place."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from lakelogic.contract.contract import Contract
from lakelogic.contract.grammar import describe_type
from lakelogic.contract.mistakes import MISTAKE, suggest
from lakelogic.contract.model import ModelField
from lakelogic.contract.one_key import PATH_KEY
from lakelogic.contract.positions import Part, locate, mark_of, value_of
from lakelogic.contract.yaml_tree import YamlList, YamlMap
from lakelogic.core.errors import Place, Problem

_WANTED = {
    "model_type": "a mapping", "model_attributes_type": "a mapping", "dict_type": "a mapping",
    "tuple_type": "a list", "list_type": "a list", "string_type": "text", "bool_type": "true or false",
    "int_type": "a whole number", "float_type": "a number",
}  # fmt: skip
_INTERNAL = {"kind", PATH_KEY}


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, and the written path of what must go for the rest to load."""

    problem: Problem
    culprit: tuple[Part, ...]


def translate(error: ErrorDetails, tree: YamlMap, root: type[BaseModel] = Contract) -> Finding:
    """Say one of Pydantic's errors in the author's words; `root` is the model of the whole file."""
    loc = tuple(error["loc"])
    match error["type"]:
        case "extra_forbidden":
            return _unknown_key(loc, tree, root)
        case "missing":
            return _missing_key(loc, tree, root)
        case "literal_error":
            return _wrong_choice(loc, error["ctx"]["expected"], tree)
        case kind if kind == MISTAKE:
            return _own_mistake(loc, error["ctx"], tree)
        case "too_short" | "string_too_short":
            return _finding("LL114", "`{key}` must not be empty", None, locate(tree, loc), tree)
        case "too_long":
            return _finding("LL114", "`{key}` has too many items", None, locate(tree, loc), tree)
        case kind:
            return _wrong_type(locate(tree, loc), _WANTED.get(kind, "something else"), tree)


def _unknown_key(loc: tuple[Part, ...], tree: YamlMap, root: type[BaseModel]) -> Finding:
    path = locate(tree, loc)
    key = str(loc[-1])
    parent = value_of(tree, path[:-1])
    place = parent.key_marks[key].place(_dotted(path)) if isinstance(parent, YamlMap) else _place(path, tree)
    message = f"`{key}` is not a key of {_block_name(path[:-1], root)}"
    return Finding(Problem("LL110", message, place, suggest(key, allowed_keys(loc[:-1], root))), path)


def _missing_key(loc: tuple[Part, ...], tree: YamlMap, root: type[BaseModel]) -> Finding:
    path = locate(tree, loc[:-1])
    message = f"`{_written_key(loc)}` is missing in {_block_name(path, root)}"
    hint = f"add `{_written_key(loc)}: ...`"
    return Finding(Problem("LL111", message, _place(path, tree), hint), path)


def _written_key(loc: Sequence[Part]) -> str:
    return str(loc[-1])


def _wrong_choice(loc: tuple[Part, ...], expected: str, tree: YamlMap) -> Finding:
    path = locate(tree, loc)
    choices = re.findall(r"'([^']*)'", expected)
    value = value_of(tree, path)
    if not isinstance(value, str):
        return _wrong_type(path, "one of " + ", ".join(f"`{choice}`" for choice in choices), tree)
    shown = mark_of(tree, path).written or value
    hint = suggest(value, choices)
    if hint.startswith("did you mean"):
        hint += " Choices: " + ", ".join(f"`{choice}`" for choice in choices)
    return _finding("LL112", f"`{shown}` is not a choice for `{{key}}`", hint, path, tree)


def _own_mistake(loc: tuple[Part, ...], context: Mapping[str, Any], tree: YamlMap) -> Finding:
    path = locate(tree, loc)
    value = value_of(tree, path)
    key = context["key"]
    if key is not None and isinstance(value, YamlMap) and key in value:
        place = value.key_marks[key].place(_dotted((*path, key)))
        return Finding(Problem(context["code"], context["message"], place, context["hint"]), (*path, key))
    if isinstance(key, int) and isinstance(value, YamlList):
        subject = _subject(path)
        message = context["message"].replace("must be", f"`{subject}` must be", 1)
        return _finding(context["code"], message, context["hint"], (*path, key), tree)
    message = context["message"]
    if message.startswith("must "):
        if value is None:
            return _empty(path, tree)
        message = "`{key}` " + message
    return _finding(context["code"], message, context["hint"], path, tree)


def _wrong_type(path: tuple[Part, ...], wanted: str, tree: YamlMap) -> Finding:
    value = value_of(tree, path)
    if value is None:
        return _empty(path, tree)
    return _finding("LL113", f"`{{key}}` must be {wanted}, not {describe_type(value)}", None, path, tree)


def _empty(path: tuple[Part, ...], tree: YamlMap) -> Finding:
    return _finding("LL113", "`{key}` is empty", "write its value, or take the key away", path, tree)


def _finding(code: str, message: str, hint: str | None, path: tuple[Part, ...], tree: YamlMap) -> Finding:
    message = message.replace("{key}", _subject(path))
    written = mark_of(tree, path).written
    if written is not None:
        # The value came from outside; whatever the sentence says about it is said about `${...}` instead.
        value = str(value_of(tree, path))
        message, hint = message.replace(value, written), hint.replace(value, written) if hint else None
    return Finding(Problem(code, message, _place(path, tree), hint), path)


def _place(path: Sequence[Part], tree: YamlMap) -> Place:
    return mark_of(tree, path).place(_dotted(path))


def _dotted(path: Sequence[Part]) -> str:
    return ".".join(str(part) for part in path)


def _subject(path: Sequence[Part]) -> str:
    """The key to name; an item of a list goes by its list's name and its number."""
    if not path:
        return "the contract"
    names = [str(part) for part in path]
    if isinstance(path[-1], int) and len(path) > 1:
        return ".".join(names[-2:])
    return names[-1]


def _block_name(path: Sequence[Part], root: type[BaseModel]) -> str:
    if not path:
        return f"a {root.__name__.lower()}"
    if isinstance(path[-1], int):
        return f"this item of `{path[-2]}`"
    return f"`{path[-1]}`"


def allowed_keys(loc: Sequence[Part], root: type[BaseModel] = Contract) -> list[str]:
    """The keys that the block at this place of the model takes."""
    kind: Any = root
    for part in loc:
        kind = _step_into(_plain_type(kind), part)
    model = _plain_type(kind)
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return []
    keys = [str(info.validation_alias or name) for name, info in model.model_fields.items()]
    if model is ModelField:
        keys += ["allowed_values", "nullable"]
    return [key for key in keys if key not in _INTERNAL]


def _plain_type(kind: Any) -> Any:
    """Take `Annotated` and `| None` away."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
        elif get_origin(kind) in (Union, types.UnionType) and len(_not_none(kind)) == 1:
            kind = _not_none(kind)[0]
        else:
            return kind


def _not_none(kind: Any) -> list[Any]:
    return [each for each in get_args(kind) if each is not type(None)]


def _step_into(kind: Any, part: Part) -> Any:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields
        return next((i.annotation for n, i in fields.items() if part in (n, i.validation_alias)), None)
    if get_origin(kind) in (Union, types.UnionType):
        return next((each for each in _not_none(kind) if each.model_fields["kind"].default == part), None)
    arguments = get_args(kind)
    if get_origin(kind) is dict:
        return arguments[1]
    return arguments[0] if arguments else None
