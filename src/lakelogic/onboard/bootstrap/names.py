"""Names: of datasets from files, of columns from headers, safe in tables, paths and YAML."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_OURS = "_lakelogic"


def snake(text: str) -> str:
    """Words in lower case with underscores between them; letters of any script stay, accents go."""
    plain = unicodedata.normalize("NFKD", _CAMEL.sub("_", text))
    kept = "".join(char for char in plain if not unicodedata.combining(char))
    return re.sub(r"_+", "_", re.sub(r"\W", "_", unicodedata.normalize("NFC", kept))).strip("_").lower()


def column_name(name: str, taken: Collection[str], number: int) -> str:
    """A name that a table can have, as near to the source's as possible.

    A table takes no blanks and brackets in names, and `Id` and `id` for the same column.
    """
    fine = re.fullmatch(r"\w+", name) is not None and not name.lower().startswith(_OURS)
    return unique(name if fine else snake(name).removeprefix("lakelogic") or f"column_{number + 1}", taken)


def unique(name: str, taken: Collection[str]) -> str:
    """The name, or the first of `name_2`, `name_3`, ... that nobody has, whatever the case of its letters."""
    folded = {each.casefold() for each in taken}
    chosen, number = name, 2
    while chosen.casefold() in folded:
        chosen, number = f"{name}_{number}", number + 1
    return chosen


def column_names(names: Sequence[str]) -> tuple[str, ...]:
    """A name for each column of a source, all different."""
    chosen: list[str] = []
    for number, name in enumerate(names):
        chosen.append(column_name(name, chosen, number))
    return tuple(chosen)
