"""`_registry.yaml`: which contracts there are, by entity and layer, and which of them run."""

from collections.abc import Iterator

from lakelogic.contract.grammar import ContractModel, Flag, Text, Texts, block
from lakelogic.contract.info import LAYERS, Layer


class LayerContracts(ContractModel):
    """The contracts of one entity, by layer: paths relative to the registry."""

    reference: Texts = ()
    bronze: Texts = ()
    silver: Texts = ()
    gold: Texts = ()


class RegistryEntry(ContractModel):
    """One entity, from where it comes in to where it is used."""

    entity: Text
    enabled: Flag = True
    contracts: LayerContracts = block()

    def paths(self) -> Iterator[tuple[Layer, int | None, str]]:
        """Each contract: its layer, its number in a list of several, its path."""
        for layer in LAYERS:
            listed = getattr(self.contracts, layer)
            for index, path in enumerate(listed):
                yield layer, index if len(listed) > 1 else None, path


class Registry(ContractModel):
    """The contracts of a domain, a system or a layer."""

    description: Text | None = None
    entries: tuple[RegistryEntry, ...] = ()
    uses: Texts = ()
    external: Texts = ()
