"""`quarantine`: where rejected rows go."""

from lakelogic.contract.grammar import ContractModel, Duration, Flag, Text


class Quarantine(ContractModel):
    """Where rejected rows go; by default beside the target."""

    target_path: Text | None = None
    retention: Duration | None = None
    fail_on_quarantine: Flag = False
