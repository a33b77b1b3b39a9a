"""`--set` in a pipeline: values for all chosen contracts, and a file for those of them that it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from loguru import logger

from lakelogic.contract.contract import Contract

_WILD = frozenset("*?[")


def concerned(contracts: Mapping[str, Contract], overridden: Mapping[str, Contract]) -> dict[str, Contract]:
    """The contracts with their new values, without those that a file named by `source.pattern` is not for.

    One file, named for a whole layer, is of the contract whose own pattern takes it: the others would read rows that
    are not theirs. Where no contract takes it, the caller means what he says, for all of them.
    """
    named = {name: each for name, each in overridden.items() if _names_a_file(contracts[name], each)}
    strangers = {name for name, each in named.items() if not _takes(contracts[name], each)}
    if len(strangers) == len(overridden):
        return dict(overridden)
    for name in sorted(strangers):
        own, file = _pattern(contracts[name]), _pattern(overridden[name])
        logger.info(f"'{name}' is left out: `{file}` is not one of its files (`{own}`)")
    return {name: each for name, each in overridden.items() if name not in strangers}


def _names_a_file(contract: Contract, overridden: Contract) -> bool:
    own, wanted = _pattern(contract), _pattern(overridden)
    return own is not None and wanted is not None and own != wanted and _WILD.isdisjoint(wanted)


def _takes(contract: Contract, overridden: Contract) -> bool:
    own, wanted = _pattern(contract), _pattern(overridden)
    return own is not None and wanted is not None and fnmatchcase(wanted, own)


def _pattern(contract: Contract) -> str | None:
    return contract.source.pattern if contract.source is not None else None
