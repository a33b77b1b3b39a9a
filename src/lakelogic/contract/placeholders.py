"""`${...}` in a contract: filled after all layers are laid, and never shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from lakelogic.contract.yaml_tree import Mark, YamlList, YamlMap, resolve_scalar
from lakelogic.core.database_url import is_database_url
from lakelogic.core.errors import Problem
from lakelogic.core.interpolate import interpolate
from lakelogic.core.secrets import Secret, SecretStore

# What goes to a library as it is. Everything else ends up in plans, tables or messages.
_SETTINGS = (
    "source.options.*", "source.database.url", "source.kafka.bootstrap_servers",
    "source.kafka.schema_registry", "links.*.options.*", "spark.*", "credentials.*",
    "notifications.*.to*", "metadata.*", "external_logic.args.*",
)  # fmt: skip
_LONG = 8
_LEFT_ALONE = ("stages", "environments")  # filled when they are chosen


@dataclass(frozen=True, slots=True)
class Filled:
    """The tree with its placeholders filled, what was hidden, and what could not be found."""

    tree: YamlMap
    hidden: tuple[tuple[str, str], ...] = field(repr=False)
    problems: tuple[Problem, ...]


def fill_placeholders(
    tree: YamlMap, environ: Mapping[str, str], store: SecretStore, storage: Mapping[str, str] | None = None
) -> Filled:
    """Fill the placeholders of all values, in place."""
    filler = _Filler(environ, store, storage or {})
    for key in tree:
        if key not in _LEFT_ALONE:
            filler.fill(tree, key, key)
    # Long values first, so that one inside another does not leave a rest of it.
    hidden = sorted(set(filler.hidden), key=lambda pair: len(pair[0]), reverse=True)
    return Filled(tree, tuple(hidden), tuple(filler.problems))


class _Filler:
    def __init__(self, environ: Mapping[str, str], store: SecretStore, storage: Mapping[str, str]) -> None:
        self.environ = environ
        self.store = store
        self.storage = storage
        self.hidden: list[tuple[str, str]] = []
        self.problems: list[Problem] = []

    def fill(self, parent: YamlMap | YamlList, key: Any, path: str) -> None:
        value = parent[key]
        if isinstance(value, str):
            if "${" in value:
                self.fill_text(parent, key, path)
        elif isinstance(value, YamlMap):
            for below in value:
                self.fill(value, below, f"{path}.{below}")
        elif isinstance(value, YamlList):
            for index in range(len(value)):
                self.fill(value, index, f"{path}.{index}")

    def fill_text(self, parent: YamlMap | YamlList, key: Any, path: str) -> None:
        text, mark = parent[key], parent.mark_of(key)
        result = interpolate(text, self.environ, self.store, self.storage)
        place = mark.place(path)
        self.problems += [Problem(each.code, each.message, place, each.hint) for each in result.missing]
        self.hidden += result.hidden
        setting = any(fnmatchcase(path, pattern) for pattern in _SETTINGS) or _is_address(path, result.text)
        if result.secret and not setting:
            hint = "secrets may stand in `credentials`, `spark`, `source.database.url` and in `options`"
            self.problems.append(Problem("LL133", "a secret cannot stand here", place, hint))
            parent[key] = text
        elif result.hidden and setting:
            # Values of variables may be ordinary words; only long ones can be secrets worth cleaning logs of.
            parent[key] = Secret(result.text, remember=result.secret or len(result.text) >= _LONG)
        else:
            parent[key] = resolve_scalar(result.text) if mark.plain else result.text
        _remark(parent, key, mark._replace(written=text))


def _is_address(path: str, text: str) -> bool:
    """A path is shown everywhere, unless it is the address of a database: that may hold a password."""
    return path == "source.path" and is_database_url(text)


def _remark(parent: YamlMap | YamlList, key: Any, mark: Mark) -> None:
    if isinstance(parent, YamlMap):
        parent.value_marks[key] = mark
    else:
        parent.marks[key] = mark
