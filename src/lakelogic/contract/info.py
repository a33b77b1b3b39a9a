"""`info`: what the data product is and who answers for it."""

from typing import Final, Literal

from lakelogic.contract.grammar import ContractModel, Text, Texts

Layer = Literal["reference", "bronze", "silver", "gold"]
LAYERS: Final[tuple[Layer, ...]] = ("reference", "bronze", "silver", "gold")  # in the order in which rows go through
EngineName = Literal["spark", "duckdb", "polars"]


class Info(ContractModel):
    """What the data product is called, where it belongs and who owns it."""

    title: Text | None = None
    description: Text | None = None
    domain: Text | None = None
    system: Text | None = None
    table_name: Text | None = None
    target_layer: Layer | None = None
    owner: Text | None = None
    contact: Text | None = None
    status: Literal["draft", "active", "deprecated"] = "active"
    classification: Text | None = None
    tags: Texts = ()
