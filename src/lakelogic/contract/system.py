"""`_system.yaml`: where the tables of a system lie, and how its contracts run."""

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, FreeForm, Setting, Text, Texts
from lakelogic.contract.info import EngineName
from lakelogic.contract.service_levels import ServiceLevels


class SystemSettings(ContractModel):
    """What may differ from environment to environment."""

    storage: dict[str, Text] = Field(default_factory=dict)
    engine: EngineName | None = None
    spark: dict[str, Setting] = Field(default_factory=dict)
    defaults: FreeForm = Field(default_factory=dict)


class System(SystemSettings):
    """A system that data comes from or is kept in. Contracts below it inherit what they do not say themselves."""

    system: Text | None = None
    description: Text | None = None
    owner: Text | None = None
    contacts: Texts = ()
    service_levels: ServiceLevels | None = None
    environments: dict[str, SystemSettings] = Field(default_factory=dict)
