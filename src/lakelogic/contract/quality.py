"""`quality`: the rules, and what their failure means."""

from typing import Literal

from lakelogic.contract.dataset_rules import DatasetRules
from lakelogic.contract.grammar import ContractModel, Flag, Ratio
from lakelogic.contract.row_rules import OnNull, RowRules


class Quality(ContractModel):
    """What rows must fulfil, one by one and together."""

    enforce_required: Flag = True
    on_null: OnNull = "pass"
    on_dataset_failure: Literal["block", "warn"] = "block"
    max_quarantine_ratio: Ratio | None = None
    row_rules: RowRules = ()
    dataset_rules: DatasetRules = ()
