"""Policy packs: what many contracts share, kept in one file and named by a contract or an operator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, FreeForm, Text, Version
from lakelogic.contract.quality import Quality
from lakelogic.contract.transformations import Transformations

PACK_FOLDER = "policy_packs"
FOLDER_VARIABLE = "LAKELOGIC_POLICY_PACK_DIR"


class Pack(ContractModel):
    """Defaults, rules and steps for many contracts."""

    version: Version | None = None
    description: Text | None = None
    defaults: FreeForm = Field(default_factory=dict)
    quality: Quality | None = None
    transformations: Transformations = ()
    transformations_mode: Literal["prepend", "append", "replace"] = "prepend"
    reference_transformations: Transformations = ()
    bronze_transformations: Transformations = ()
    silver_transformations: Transformations = ()
    gold_transformations: Transformations = ()


@dataclass(frozen=True, slots=True)
class PackChoice:
    """What an operator says about packs: which ones for every contract, and where all packs are."""

    names: tuple[str, ...] = ()
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class AppliedPack:
    """A pack that a contract was loaded with; the digest is that of the file."""

    name: str
    file: str
    digest: str
