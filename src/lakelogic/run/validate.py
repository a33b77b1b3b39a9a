"""Validation: the path up to the point where a source would be looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lakelogic.contract.contract import Contract
from lakelogic.contract.loader import load_draft
from lakelogic.contract.mesh import shown_path
from lakelogic.contract.pack_layers import name_contract
from lakelogic.contract.policy_pack import PackChoice
from lakelogic.contract.readers import check_readers
from lakelogic.core.errors import ContractError, Problem
from lakelogic.core.settings import Settings, read_settings
from lakelogic.plan.build import check_contract
from lakelogic.run.links import find_in_registries, resolve_links


def validate_contract(
    path: str | os.PathLike[str],
    *,
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    packs: PackChoice | None = None,
) -> tuple[Problem, ...]:
    """Every mistake and warning of a contract, in the order of the file; nothing is read but the contract."""
    draft = load_draft(path, env=env, stage=stage, overrides=overrides, packs=packs)
    found = [*draft.problems]
    if draft.contract is not None:
        found += check_declared(draft.contract)
        found += _find_unknown_links(draft.contract, env)
    return tuple(sorted(found, key=position_of))


def check_declared(contract: Contract) -> list[Problem]:
    """What is wrong with a loaded contract, as far as it can be told without its neighbours."""
    return _named([*check_contract(contract), *check_readers(contract)], contract)


def _named(problems: Sequence[Problem], contract: Contract) -> list[Problem]:
    return name_contract(problems, (shown_path(pack.file) for pack in contract.policy_packs), contract.dataset)


def load_checked(
    path: str | os.PathLike[str],
    *,
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    settings: Settings | None = None,
    packs: PackChoice | None = None,
) -> Contract:
    """A contract without mistakes, its links found; raises with all of them."""
    draft = load_draft(path, env=env, stage=stage, overrides=overrides, packs=packs)
    problems = list(draft.problems)
    if draft.contract is not None:
        problems += _named(check_contract(draft.contract), draft.contract)
    if problems or draft.contract is None:
        raise ContractError(problems)
    find = find_in_registries(draft.contract, env)
    return resolve_links(draft.contract, settings or read_settings(os.environ), find)


def _find_unknown_links(contract: Contract, env: str | None) -> tuple[Problem, ...]:
    try:
        resolve_links(contract, read_settings(os.environ), find_in_registries(contract, env))
    except ContractError as error:
        return error.problems
    return ()


def position_of(problem: Problem) -> tuple[str, int, int]:
    """What problems are sorted by: their place in the file."""
    place = problem.place
    return (place.file, place.line, place.column) if place else ("", 0, 0)
