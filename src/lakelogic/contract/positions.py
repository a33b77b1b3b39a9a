"""Where every key and value of a contract stands."""

from __future__ import annotations

from dataclasses import dataclass

from lakelogic.core.errors import Place


@dataclass(frozen=True)
class Positions:
    """The places of a contract's values."""

    file: str = "contract.yaml"

    def at(self, path: str) -> Place:
        return Place(self.file, 1, 1, path)

    def origin(self, path: str) -> str:
        return "default"

    def redact(self, text: str) -> str:
        return text
