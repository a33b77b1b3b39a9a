"""LakeLogic: data contracts in, trustworthy tables out. Importing this starts no engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakelogic.contract.loader import load_contract
    from lakelogic.core.errors import (
        CapabilityError,
        ContractError,
        GateError,
        LakeLogicError,
        PlanError,
        RunError,
    )
    from lakelogic.driver.checks import build_dag
    from lakelogic.driver.checks import build_dag as build_dag_from_upstream
    from lakelogic.driver.estate import load_all_contracts
    from lakelogic.driver.graph import topo_sort
    from lakelogic.run.processor import DataProcessor
    from lakelogic.run.result import RunResult
    from lakelogic.run.validate import validate_contract

__version__ = "0.1.0"

# Looked up on first use: `import lakelogic` must stay cheap for the command line and for serverless functions.
_HOMES = {
    "DataProcessor": "lakelogic.run.processor",
    "RunResult": "lakelogic.run.result",
    "load_contract": "lakelogic.contract.loader",
    "validate_contract": "lakelogic.run.validate",
    "load_all_contracts": "lakelogic.driver.estate",
    "build_dag": "lakelogic.driver.checks",
    "topo_sort": "lakelogic.driver.graph",
    "LakeLogicError": "lakelogic.core.errors",
    "ContractError": "lakelogic.core.errors",
    "PlanError": "lakelogic.core.errors",
    "CapabilityError": "lakelogic.core.errors",
    "RunError": "lakelogic.core.errors",
    "GateError": "lakelogic.core.errors",
}

# A name from another page of the manual, for the same thing.
_ALIASES = {"build_dag_from_upstream": "build_dag"}

__all__ = [
    "CapabilityError",
    "ContractError",
    "DataProcessor",
    "GateError",
    "LakeLogicError",
    "PlanError",
    "RunError",
    "RunResult",
    "__version__",
    "build_dag",
    "build_dag_from_upstream",
    "load_all_contracts",
    "load_contract",
    "topo_sort",
    "validate_contract",
]


def __getattr__(name: str) -> Any:
    name = _ALIASES.get(name, name)
    if name not in _HOMES:
        raise AttributeError(f"module `lakelogic` has no attribute `{name}`")
    return getattr(import_module(_HOMES[name]), name)
