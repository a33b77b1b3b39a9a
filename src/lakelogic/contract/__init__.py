"""What was declared: the frozen contract, and the loader that finds all mistakes at once."""

from lakelogic.contract.contract import Contract
from lakelogic.contract.loader import Draft, load_contract, load_draft

__all__ = ["Contract", "Draft", "load_contract", "load_draft"]
