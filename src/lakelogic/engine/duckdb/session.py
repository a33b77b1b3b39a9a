"""One private DuckDB database in memory: UTC, offline, with the functions that Spark's semantics need."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, Signature
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy  # noqa: F401 - functions in Python need it, and DuckDB does not ask for it
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType

from lakelogic.core.keys import MaskKeys
from lakelogic.engine.duckdb.casts import CAST_MACROS, decimal_macros
from lakelogic.engine.duckdb.functions import FUNCTION_MACROS
from lakelogic.engine.local.calls import CALLS
from lakelogic.engine.local.masking import mask_calls
from lakelogic.storage.objects import missing_package

_ARROW = {"VARCHAR": pa.string(), "BOOLEAN": pa.bool_(), "INTEGER": pa.int32(), "VARCHAR[]": pa.list_(pa.string())}
_MIB = {"bytes": 2**-20, "KiB": 2**-10, "MiB": 1, "GiB": 2**10, "TiB": 2**20}
_DEFAULT_SHARE, _LEAST_SHARE = 0.8, 0.4
_OWN_MIB = 400  # Python, its libraries, and buffers of readers and writers that DuckDB does not count
_DECIMAL_CALL = re.compile(r"ll_(?:cast|from_text)_decimal_(\d+)_(\d+)", re.IGNORECASE)
_CALL = re.compile(r"\bll_\w+", re.IGNORECASE)
_REFUSE = {"ll_refuse(what)": "error(concat('the DuckDB engine cannot compute ', what))"}
MACROS = {head.split("(")[0]: (head, body) for head, body in {**_REFUSE, **CAST_MACROS, **FUNCTION_MACROS}.items()}


def find_macro(name: str) -> tuple[str, str] | None:
    """Name with parameters, and body, of a macro of ours."""
    sizes = _DECIMAL_CALL.fullmatch(name)
    if sizes is None:
        return MACROS.get(name)
    made = decimal_macros(int(sizes[1]), int(sizes[2]))
    return next((head, body) for head, body in made.items() if head.startswith(f"{name}("))


class Session:
    """A connection that knows which macros it has."""

    def __init__(self, keys: MaskKeys, memory: str | None = None) -> None:
        self.connection = duckdb.connect(
            config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        )
        self.connection.execute("SET TimeZone = 'UTC'")
        # What does not fit in memory is spilled here, not into the caller's working directory.
        self._spill = TemporaryDirectory(prefix="lakelogic-duckdb-")
        self.connection.execute(f"SET temp_directory = '{self._spill.name}'")
        self.connection.execute(f"SET memory_limit = '{memory or self._usual_memory()}'")
        self.connection.execute("SET enable_progress_bar = false")
        # It makes "the first row of each key" an aggregate over a struct, which gives 0.0 for -0.0.
        self.connection.execute("SET disabled_optimizers = 'top_n_window_elimination'")
        # Each column of a wide table makes an expression over all of them deeper; the stack must still hold it.
        self.connection.execute("SET max_expression_depth = 3000")
        self._defined: set[str] = set()
        self._mounted = False
        for name, (function, takes, gives) in {**CALLS, **mask_calls(keys)}.items():
            self._register(name, function, takes, gives, pure=name not in {"LAKELOGIC_ENCRYPT"})

    def _usual_memory(self) -> str:
        """DuckDB takes four fifths of what the machine or the container has, as if this process held nothing else."""
        found = str(self.connection.execute("SELECT current_setting('memory_limit')").fetchall()[0][0])
        return f"{usual_memory_mib(found)}MiB"

    def mount_stores(self) -> None:
        """Have addresses of object stores readable."""
        try:
            from lakelogic.engine.duckdb.stores import Stores
        except ModuleNotFoundError as error:
            raise missing_package("an object store", "fsspec") from error
        if not self._mounted:
            self.connection.register_filesystem(Stores())
            self._mounted = True

    def run(self, sql: str) -> Any:
        """Execute one statement, after defining the macros that it calls."""
        self._prepare(sql)
        return self.connection.execute(sql)

    def query(self, sql: str) -> Any:
        """A relation that gives its rows as Arrow without a copy."""
        self._prepare(sql)
        return self.connection.sql(sql)

    def _prepare(self, sql: str) -> None:
        """Define what a text calls and the session does not have yet; all of them would take a third of a second."""
        for precision, scale in set(_DECIMAL_CALL.findall(sql)):
            for head, body in decimal_macros(int(precision), int(scale)).items():
                self._define(head, body)
        for name in sorted({name.lower() for name in _CALL.findall(sql)} & MACROS.keys()):
            self._define(*MACROS[name])

    def close(self) -> None:
        self.connection.close()
        self._spill.cleanup()

    def _define(self, head: str, body: str) -> None:
        if head in self._defined:
            return
        self._defined.add(head)
        self._prepare(body)  # what it calls comes first
        self.connection.execute(f"CREATE TEMP MACRO {head} AS ({body})")

    def _register(
        self, name: str, function: Callable[..., object], takes: tuple[str, ...], gives: str, *, pure: bool
    ) -> None:
        # `special`: NULLs are ours to handle, so that a batch with NULLs is still one call.
        self.connection.create_function(
            name, _batched(function, len(takes), _ARROW[gives]), list(takes), gives,
            type=PythonUDFType.ARROW, null_handling=FunctionNullHandling.SPECIAL, side_effects=not pure,
        )  # fmt: skip


def usual_memory_mib(default: str) -> int:
    """What DuckDB may hold, by its own default; in small places less, or the kernel would kill us before it spills."""
    number, unit = default.split()
    limit = float(number) * _MIB[unit]
    there = limit / _DEFAULT_SHARE
    return round(max(min(limit, there - _OWN_MIB), there * _LEAST_SHARE))


def _batched(function: Callable[..., object], count: int, gives: pa.DataType) -> Callable[..., pa.Array]:
    """Lift a function of values to one of Arrow columns; NULL in any of them gives NULL."""

    def run(*columns: pa.Array) -> pa.Array:
        rows = zip(*[column.to_pylist() for column in columns], strict=True)
        return pa.array([None if None in row else function(*row) for row in rows], type=gives)

    # DuckDB counts parameters by the signature.
    names = [Parameter(f"column_{n}", Parameter.POSITIONAL_ONLY) for n in range(count)]
    run.__signature__ = Signature(names)  # type: ignore[attr-defined]
    return run
