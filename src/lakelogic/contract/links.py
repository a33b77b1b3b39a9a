"""`links`: further relations that steps and rules may join by name."""

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, Flag, Setting, Text, Texts
from lakelogic.contract.source import SourceFormat


class Link(ContractModel):
    """A relation beside the source: a path, or the target of another contract."""

    name: Text
    path: Text | None = None
    dataset: Text | None = None
    format: SourceFormat | None = None
    options: dict[str, Setting] = Field(default_factory=dict)
    columns: Texts = ()
    filter: Text | None = None
    broadcast: Flag = False
