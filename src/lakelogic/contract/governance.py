"""`breaking_change_policy`, `compliance`, `cost`: promises around the data, for people to read."""

from pydantic import Field

from lakelogic.contract.grammar import ContractModel, Count, Duration, Flag, FreeForm, Number, Text, Texts


class BreakingChangePolicy(ContractModel):
    """How a breaking change is announced."""

    notice_days: Count | None = None
    approval_required_from: Texts = ()
    migration_support: Flag = False


class Compliance(ContractModel):
    """Which law the data falls under."""

    regulations: Texts = ()
    legal_basis: Text | None = None
    retention: Duration | None = None
    subject_key: Text | None = None
    ai_act: FreeForm = Field(default_factory=dict)


class Cost(ContractModel):
    """What the data product may cost."""

    budget_monthly: Number | None = None
    currency: Text = "EUR"
