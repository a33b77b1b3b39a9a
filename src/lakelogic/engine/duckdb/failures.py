"""DuckDB's errors, translated once at the edge: one sentence, no row values."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from lakelogic.core.errors import CapabilityError, LakeLogicError, RunError
from lakelogic.engine.local.failures import HINT, STOPPED

# These speak of names, types and paths; all others may quote a row's values.
_ABOUT_THE_QUERY = (
    duckdb.BinderException,
    duckdb.CatalogException,
    duckdb.ParserException,
    duckdb.NotImplementedException,
)
_ABOUT_STORAGE = (duckdb.IOException, duckdb.OutOfMemoryException)
_MEMORY_HINT = "give it more memory (LAKELOGIC_DUCKDB_MEMORY), or read fewer files at once (--max-files-per-batch)"
_REFUSAL = "the DuckDB engine cannot compute "


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what DuckDB raises while `doing` something into an error that a person can act on."""
    try:
        yield
    except LakeLogicError:
        raise
    except duckdb.Error as error:
        raise _translate(error, doing) from (error if isinstance(error, _ABOUT_THE_QUERY) else None)


def _translate(error: duckdb.Error, doing: str) -> LakeLogicError:
    first = str(error).strip().splitlines()[0]
    if STOPPED in first:
        return RunError(STOPPED, hint=HINT, code="LL488")
    if _REFUSAL in first:
        return CapabilityError(first[first.index(_REFUSAL) :], hint="use engine: spark")
    if isinstance(error, _ABOUT_THE_QUERY):
        return CapabilityError(f"DuckDB refused {doing}: {first[:400]}", hint="use engine: spark")
    if isinstance(error, _ABOUT_STORAGE):
        hint = _MEMORY_HINT if isinstance(error, duckdb.OutOfMemoryException) else None
        return RunError(f"DuckDB failed while {doing}: {first[:400]}", code="LL488", hint=hint)
    return RunError(f"DuckDB failed while {doing}: {type(error).__name__}", code="LL488")
