"""Polars' errors, translated once at the edge: one sentence, no row values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl

from lakelogic.core.errors import CapabilityError, LakeLogicError, RunError

# These speak of names and types; all others may quote a row's values.
_ABOUT_THE_QUERY = (
    pl.exceptions.SchemaError,
    pl.exceptions.ColumnNotFoundError,
    pl.exceptions.DuplicateError,
    pl.exceptions.StructFieldNotFoundError,
)

_POLARS_WORDS = "This error occurred in the following expression"


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what Polars raises while `doing` something into an error that a person can act on."""
    try:
        yield
    except LakeLogicError as error:
        raise _without_the_query(error) from error.__cause__
    except _ABOUT_THE_QUERY as error:
        first = str(error).strip().splitlines()[0]
        raise CapabilityError(f"Polars refused {doing}: {first[:400]}", hint="use engine: spark") from error
    except pl.exceptions.PolarsError as error:
        raise RunError(f"Polars failed while {doing}: {type(error).__name__}", code="LL488") from None


def _without_the_query(error: LakeLogicError) -> LakeLogicError:
    """An error of ours that was raised while rows were computed: Polars makes it anew and adds its own words."""
    message = error.problem.message
    if _POLARS_WORDS not in message:
        return error
    code, _, told = message.partition(_POLARS_WORDS)[0].strip().partition(" ")
    return type(error)(told, code=code)
