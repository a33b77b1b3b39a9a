"""Validation: the path up to the point where a source would be looked at."""

from __future__ import annotations

import os
from collections.abc import Sequence

from lakelogic.contract.contract import Contract
from lakelogic.contract.loader import load_draft
from lakelogic.contract.readers import check_readers
from lakelogic.core.errors import ContractError, Problem
from lakelogic.plan.build import check_contract


def validate_contract(
    path: str | os.PathLike[str], *, env: str | None = None, stage: str | None = None, overrides: Sequence[str] = ()
) -> tuple[Problem, ...]:
    """Every mistake and warning of a contract, in the order of the file; nothing is read but the contract."""
    draft = load_draft(path, env=env, stage=stage, overrides=overrides)
    found = [*draft.problems]
    if draft.contract is not None:
        found += [*check_contract(draft.contract), *check_readers(draft.contract)]
    return tuple(sorted(found, key=_position))


def load_checked(
    path: str | os.PathLike[str], *, env: str | None = None, stage: str | None = None, overrides: Sequence[str] = ()
) -> Contract:
    """A contract without mistakes; raises with all of them."""
    draft = load_draft(path, env=env, stage=stage, overrides=overrides)
    problems = [*draft.problems, *(check_contract(draft.contract) if draft.contract else ())]
    if problems or draft.contract is None:
        raise ContractError(problems)
    return draft.contract


def _position(problem: Problem) -> tuple[str, int, int]:
    place = problem.place
    return (place.file, place.line, place.column) if place else ("", 0, 0)
