"""Items written as one key that names their kind: `- rename: {...}`, `- not_null: [...]`."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, describe_type
from lakelogic.contract.mistakes import mistake, suggest

PATH_KEY = "__path__"  # how `path` gets in; an author's `path:` beside a step stays an unknown key


class OneKeyItem(ContractModel):
    """A step or rule whose kind is the key it is written under."""

    # The field that takes the whole body: `rename: {a: b}` fills `mapping`.
    WHOLE: ClassVar[str | None] = None
    # The field that takes a body that is not a mapping: `trim: [email]` fills `fields`.
    SHORT: ClassVar[str | None] = None

    path: str = Field(default="", validation_alias=PATH_KEY, exclude=True, repr=False)

    @classmethod
    def from_body(cls, body: Any) -> dict[str, Any]:
        """Bring the value under the kind's key into long form."""
        if cls.WHOLE is not None:
            return {cls.WHOLE: body}
        if isinstance(body, Mapping):
            return dict(body)
        if cls.SHORT is not None:
            return {cls.SHORT: body}
        raise mistake("LL113", f"must be a mapping, not {describe_type(body)}")


def number_items(prefix: str) -> Callable[[Any], Any]:
    """Give every item of a list its path, so that the model can say where it stands."""

    def number(items: Any) -> Any:
        if not isinstance(items, list | tuple):
            return items
        return [
            # A path that is there already was written by the author, and is refused below.
            {**item, PATH_KEY: None if PATH_KEY in item else f"{prefix}.{index}"} if isinstance(item, Mapping) else item
            for index, item in enumerate(items)
        ]

    return number


def parse_item(noun: str, kinds: Mapping[str, type[OneKeyItem]], beside: frozenset[str]) -> Callable[[Any], Any]:
    """Make the validator that tags a one-key mapping; `beside` keys may stand next to the kind."""

    def parse(item: Any) -> Any:
        if isinstance(item, OneKeyItem):
            return item
        if not isinstance(item, Mapping):
            hint = f"write its kind as the key: `- {next(iter(kinds))}: ...`"
            raise mistake("LL113", f"must be a {noun}, not {describe_type(item)}", hint)
        kind = _kind_of(noun, item, kinds, beside)
        body = kinds[kind].from_body(item[kind])
        rest = {key: value for key, value in item.items() if key != kind}
        return {**body, **rest, "kind": kind}

    return parse


def _kind_of(noun: str, item: Mapping[str, Any], kinds: Mapping[str, type[OneKeyItem]], beside: frozenset[str]) -> str:
    internal = "kind" if "kind" in item else PATH_KEY
    if item.get(internal, "") is None or "kind" in item:
        raise mistake("LL110", f"`{internal}` is not a key of a {noun}", suggest("", beside), key=internal)
    found = [key for key in item if key in kinds]
    if len(found) == 1:
        return found[0]
    if found:
        both = " and ".join(f"`{key}`" for key in found)
        raise mistake("LL119", f"one {noun} has {both}", f"write them as separate {noun}s", key=found[1])
    unknown = [key for key in item if key not in beside and key != PATH_KEY]
    if unknown:
        word = str(unknown[0])
        raise mistake("LL110", f"`{word}` is not a kind of {noun}", suggest(word, kinds), key=word)
    raise mistake("LL111", f"this {noun} has no kind", suggest("", kinds))
