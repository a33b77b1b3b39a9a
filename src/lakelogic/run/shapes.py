"""What the tables of a contract look like when they are made: by a run, or by `lakelogic ddl`."""

from __future__ import annotations

from collections.abc import Sequence

from lakelogic.contract.contract import Contract
from lakelogic.contract.raw import APPEND_ONLY
from lakelogic.plan.model import Column
from lakelogic.table.protocol import TableShape


def target_shape(contract: Contract, columns: Sequence[Column]) -> TableShape:
    assert contract.materialization is not None
    materialization = contract.materialization
    properties = {key: str(value) for key, value in materialization.table_properties.items()}
    if contract.is_raw:
        properties[APPEND_ONLY] = "true"  # other writers are refused, too
    return TableShape(tuple(columns), materialization.partition_by, properties, contract.info.description)


def quarantine_shape(contract: Contract, columns: Sequence[Column]) -> TableShape:
    about = f"Rows that {contract.dataset} rejected, as they were read, with their reasons."
    return TableShape(tuple(columns), description=about)
