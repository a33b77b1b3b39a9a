"""`_domain.yaml`: who owns the contracts below it, and what readers may rely on."""

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, FreeForm, Number, Text, Texts
from lakelogic.contract.operations import Notification
from lakelogic.contract.service_levels import ServiceLevels


class Budget(ContractModel):
    """What the whole domain may cost."""

    monthly: Number
    currency: Text = "EUR"


class Domain(ContractModel):
    """A business domain. Contracts below it inherit what they do not say themselves."""

    domain: Text | None = None
    description: Text | None = None
    owner: Text | None = None
    contacts: Texts = ()
    cost_centre: Text | None = None
    service_levels: ServiceLevels | None = None
    budget: Budget | None = None
    alerts: tuple[Notification, ...] = ()
    defaults: FreeForm = Field(default_factory=dict)
