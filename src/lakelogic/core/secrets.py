"""Secrets: text that never shows itself, and the stores it is read from."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pydantic_core import core_schema

from lakelogic.core.redaction import remember_secret

SHOWN = "***"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Secret:
    """Text that prints as `***`; only `reveal()` gives it away."""

    __slots__ = ("_text",)

    def __init__(self, text: str, *, remember: bool = True) -> None:
        self._text = text
        if remember:
            remember_secret(text)

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return SHOWN

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return SHOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        shown = core_schema.plain_serializer_function_ser_schema(lambda secret: SHOWN)
        return core_schema.is_instance_schema(cls, serialization=shown)


def reveal(setting: str | int | float | bool | Secret) -> str | int | float | bool:
    """A setting as a library needs it; call it only at the edge to that library."""
    return setting.reveal() if isinstance(setting, Secret) else setting


class SecretStore(Protocol):
    """A place that keeps secrets by scope and name."""

    def find_secret(self, scope: str, name: str) -> str | None:
        """Return the secret, or None where this store does not have it."""
        ...

    def describe(self, scope: str, name: str) -> str:
        """Say where this store would have looked, for a hint; never the secret itself."""
        ...


@dataclass(frozen=True, slots=True)
class EnvironmentSecretStore:
    """Secrets in variables LAKELOGIC_SECRET_<SCOPE>_<NAME>."""

    environ: Mapping[str, str] = field(repr=False)

    def find_secret(self, scope: str, name: str) -> str | None:
        return self.environ.get(self._variable(scope, name))

    def describe(self, scope: str, name: str) -> str:
        return f"the variable {self._variable(scope, name)}"

    @staticmethod
    def _variable(scope: str, name: str) -> str:
        return "LAKELOGIC_SECRET_" + re.sub(r"[^A-Z0-9]", "_", f"{scope}_{name}".upper())


@dataclass(frozen=True, slots=True)
class FileSecretStore:
    """Secrets in files <folder>/<scope>/<name>, as Kubernetes and Docker mount them."""

    folder: Path

    def find_secret(self, scope: str, name: str) -> str | None:
        # A name such as `..` would leave the folder.
        if not (_NAME.fullmatch(scope) and _NAME.fullmatch(name)):
            return None
        try:
            return (self.folder / scope / name).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError):
            return None

    def describe(self, scope: str, name: str) -> str:
        return f"the file {scope}/{name} in the folder of LAKELOGIC_SECRETS_DIR"


@dataclass(frozen=True, slots=True)
class SecretStores:
    """Several stores, asked in order."""

    stores: tuple[SecretStore, ...]

    def find_secret(self, scope: str, name: str) -> str | None:
        found = (store.find_secret(scope, name) for store in self.stores)
        return next((secret for secret in found if secret is not None), None)

    def describe(self, scope: str, name: str) -> str:
        return " or ".join(store.describe(scope, name) for store in self.stores)


def default_store(environ: Mapping[str, str] = os.environ) -> SecretStore:
    """The environment, then the folder in LAKELOGIC_SECRETS_DIR where that is set."""
    stores: list[SecretStore] = [EnvironmentSecretStore(environ)]
    folder = environ.get("LAKELOGIC_SECRETS_DIR")
    if folder:
        stores.append(FileSecretStore(Path(folder)))
    return SecretStores(tuple(stores))
