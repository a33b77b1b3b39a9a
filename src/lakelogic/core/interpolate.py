"""`${VAR}`, `${VAR:-default}` and `${secret:scope/name}` in text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from lakelogic.core.secrets import SecretStore

_PLACEHOLDER = re.compile(r"\$\$\{|\$\{([^{}]*)\}")
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(:-(.*))?", re.DOTALL)
_SECRET = re.compile(r"secret:([^/]+)/(.+)")
_STORAGE = re.compile(r"storage\.([\w-]+)")


@dataclass(frozen=True, slots=True)
class Missing:
    """A placeholder that could not be filled, and what to do about it."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Interpolated:
    """Text with its placeholders filled; `hidden` pairs what came from outside with how it was written."""

    text: str = field(repr=False)
    secret: bool = False
    hidden: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    missing: tuple[Missing, ...] = ()


def interpolate(
    text: str, environ: Mapping[str, str], store: SecretStore, storage: Mapping[str, str] | None = None
) -> Interpolated:
    """Fill all placeholders of a text; `$${` stands for a plain `${`. `storage`: named roots of a system."""
    hidden: list[tuple[str, str]] = []
    missing: list[Missing] = []
    secret = False

    def fill(match: re.Match[str]) -> str:
        nonlocal secret
        if match[0] == "$${":
            return "${"
        found = _find(match[1], environ, store, storage or {})
        if isinstance(found, Missing):
            missing.append(found)
            return match[0]
        value, outside = found
        secret = secret or match[1].startswith("secret:")
        if outside and value:
            hidden.append((value, match[0]))
        return value

    filled = _PLACEHOLDER.sub(fill, text)
    return Interpolated(filled, secret, tuple(hidden), tuple(missing))


def _find(
    inside: str, environ: Mapping[str, str], store: SecretStore, storage: Mapping[str, str]
) -> tuple[str, bool] | Missing:
    if inside.startswith("secret:"):
        return _find_secret(inside, store)
    if root := _STORAGE.fullmatch(inside):
        return _find_root(root[1], storage)
    variable = _VARIABLE.fullmatch(inside)
    if not variable:
        choices = "`${NAME}`, `${NAME:-default}`, `${secret:scope/name}` or `${storage.name}`"
        hint = f"write {choices}; `$${{` stands for a plain `${{`"
        return Missing("LL132", f"`${{{inside}}}` is not a placeholder", hint)
    name, has_default, default = variable.groups()
    value = environ.get(name)
    if has_default and not value:
        return default, False
    if value is None:
        hint = f"set it, or give a default: `${{{name}:-...}}`"
        return Missing("LL130", f"the environment variable `{name}` is not set", hint)
    return value, True


def _find_secret(inside: str, store: SecretStore) -> tuple[str, bool] | Missing:
    reference = _SECRET.fullmatch(inside)
    if not reference:
        return Missing("LL132", f"`${{{inside}}}` is not a placeholder", "write `${secret:scope/name}`")
    scope, name = reference.groups()
    value = store.find_secret(scope, name)
    if value is None:
        hint = f"put it into {store.describe(scope, name)}"
        return Missing("LL131", f"the secret `{scope}/{name}` was not found", hint)
    return value, True


def _find_root(name: str, storage: Mapping[str, str]) -> tuple[str, bool] | Missing:
    if name in storage:
        return storage[name], False
    known = ", ".join(f"`{each}`" for each in storage)
    hint = f"known are {known}" if known else f"name it in a `_system.yaml` above: `storage: {{ {name}: ... }}`"
    return Missing("LL134", f"there is no storage root `{name}`", hint)
