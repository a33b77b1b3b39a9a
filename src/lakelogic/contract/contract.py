"""The whole contract: what was declared, frozen, with the place of every value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, Field, PrivateAttr, model_validator

from lakelogic.contract.bucket_credentials import BucketCredentials
from lakelogic.contract.governance import BreakingChangePolicy, Compliance, Cost
from lakelogic.contract.grammar import ContractModel, FreeForm, Setting, Text, Texts, Version, block
from lakelogic.contract.info import EngineName, Info
from lakelogic.contract.lineage import Lineage
from lakelogic.contract.links import Link
from lakelogic.contract.materialization import Materialization
from lakelogic.contract.model import Model, ModelField
from lakelogic.contract.neighbours import Downstream, UpstreamItem
from lakelogic.contract.operations import ContractTest, ExternalLogic, Notification, Resilience, View
from lakelogic.contract.policy_pack import AppliedPack
from lakelogic.contract.positions import Positions
from lakelogic.contract.quality import Quality
from lakelogic.contract.quarantine import Quarantine
from lakelogic.contract.schema_policy import SchemaPolicy
from lakelogic.contract.service_levels import ServiceLevels
from lakelogic.contract.source import Source
from lakelogic.contract.transformations import Transformations
from lakelogic.core.errors import Place


class Contract(ContractModel):
    """All that an author declared about one dataset, after inheritance, stage, environment and overrides."""

    model_config = ConfigDict(defer_build=False)

    version: Version = "1.0.0"
    dataset: Text = "dataset"
    dialect: Text = "spark"
    engine: EngineName | None = None
    extends: Text | None = None
    info: Info = block()
    metadata: FreeForm = Field(default_factory=dict)
    upstream: tuple[UpstreamItem, ...] = ()
    downstream: tuple[Downstream, ...] = ()
    consumers: Texts = ()
    source: Source | None = None
    links: tuple[Link, ...] = ()
    model: Model = block()
    primary_key: Texts = ()
    schema_policy: SchemaPolicy = block()
    transformations: Transformations = ()
    external_logic: ExternalLogic | None = None
    quality: Quality = block()
    quarantine: Quarantine = block()
    materialization: Materialization | None = None
    lineage: Lineage = block()
    service_levels: ServiceLevels = block()
    breaking_change_policy: BreakingChangePolicy | None = None
    notifications: tuple[Notification, ...] = ()
    compliance: Compliance | None = None
    cost: Cost | None = None
    resilience: Resilience | None = None
    views: tuple[View, ...] = ()
    stages: dict[str, FreeForm] = Field(default_factory=dict)
    environments: dict[str, FreeForm] = Field(default_factory=dict)
    tests: tuple[ContractTest, ...] = ()
    spark: dict[str, Setting] = Field(default_factory=dict)
    credentials: tuple[BucketCredentials, ...] = ()

    _positions: Positions = PrivateAttr(default_factory=Positions)
    _packs: tuple[AppliedPack, ...] = PrivateAttr(default=())
    _pack_folder: Path | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _resolve(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = dict(value)
        name = _get(given, "info", "table_name")
        if "dataset" not in given and isinstance(name, str):
            given["dataset"] = name
        keys = [key for _, key in declared_keys(given)]
        if keys and "primary_key" not in given:
            given["primary_key"] = keys[0]
        return given

    @property
    def is_raw(self) -> bool:
        """Whether the payloads are kept as they came (raw Bronze)."""
        return self.source is not None and self.source.raw

    @property
    def enforces_required(self) -> bool:
        """Whether a row without a required value is rejected, so that the column of the target has none."""
        return self.quality.enforce_required and not self.is_raw

    @property
    def fields(self) -> tuple[ModelField, ...]:
        return self.model.fields

    @property
    def personal(self) -> tuple[str, ...]:
        """Fields whose values are personal and stand in the target as they are."""
        return tuple(field.name for field in self.fields if field.pii and field.masking is None)

    @property
    def file(self) -> Path:
        """The file that was loaded."""
        return Path(self._positions.file)

    @property
    def folder(self) -> Path:
        """What relative paths of the contract are relative to."""
        return self.file.parent

    @property
    def policy_packs(self) -> tuple[AppliedPack, ...]:
        """The packs that are part of it."""
        return self._packs

    @property
    def policy_pack_folder(self) -> Path | None:
        """Where packs were looked for, if the operator said so; its neighbours need to know."""
        return self._pack_folder

    def at(self, path: str) -> Place:
        """Where a value stands, by its path in long form; the nearest block where it is not written down."""
        return self._positions.at(path)

    def origin(self, path: str) -> str:
        """Who said so: `contract.yaml:12:3`, `environment dev`, `--set`, `default`."""
        return self._positions.origin(path)

    def inherited(self) -> tuple[tuple[str, str], ...]:
        """What the file itself does not say, and who says it."""
        return self._positions.inherited()

    def written(self, path: str) -> str | None:
        """A text as the author wrote it, with its `${...}`: what to show instead of the value."""
        return self._positions.written(path)

    def redact(self, text: str) -> str:
        """Write `${...}` back where a text holds a value that came from the environment or a secret store."""
        return self._positions.redact(text)

    def __repr__(self) -> str:
        return f"Contract(dataset={self.dataset!r}, version={self.version!r}, file={self._positions.file!r})"

    __str__ = __repr__


def declared_keys(block: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """All places that declare a primary key, with what they declare; wrong types are left to the models."""
    found = []
    for path in (("primary_key",), ("model", "primary_key"), ("materialization", "primary_key")):
        value = _get(block, *path)
        names = (value,) if isinstance(value, str) else value
        if isinstance(names, list | tuple) and names and all(isinstance(name, str) for name in names):
            found.append((".".join(path), tuple(names)))
    flagged = _flagged_fields(block)
    if flagged:
        found.append(("model.fields", flagged))
    return found


def _flagged_fields(block: Mapping[str, Any]) -> tuple[str, ...]:
    fields = _get(block, "model", "fields")
    if not isinstance(fields, list | tuple):
        return ()
    names = (field.get("name") for field in fields if isinstance(field, Mapping) and field.get("primary_key") is True)
    return tuple(name for name in names if isinstance(name, str))


def _get(block: Any, *path: str) -> Any:
    for key in path:
        block = block.get(key) if isinstance(block, Mapping) else None
    return block
