"""What was declared: the frozen contract, and the loader that finds all mistakes at once."""

from lakelogic.contract.contract import Contract

__all__ = ["Contract"]
