"""What Parquet and ORC files say of their columns, in Spark's words: every engine reads the same, or none does.

Each library has its own idea of an INT96, of a date that pandas wrote, of a decimal with fifty digits, and of files
that disagree. What would give other values than Spark's is found here, before a row moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.storage.address import is_remote
from lakelogic.storage.tables import open_parquet

_is = pa.types
_MOST_DIGITS = 38
# Each holds every value of those before it.
_WIDER = (("byte", "short", "int", "long"), ("float", "double"))
_WORDS: tuple[tuple[Callable[[pa.DataType], bool], str], ...] = (
    (_is.is_null, "null"), (_is.is_boolean, "boolean"), (_is.is_int8, "byte"),
    (lambda type_: _is.is_int16(type_) or _is.is_uint8(type_), "short"),
    (lambda type_: _is.is_int32(type_) or _is.is_uint16(type_), "int"),
    (lambda type_: _is.is_int64(type_) or _is.is_uint32(type_) or _is.is_duration(type_), "long"),
    (_is.is_uint64, "decimal(20,0)"), (_is.is_float32, "float"), (_is.is_float64, "double"), (_is.is_date, "date"),
    (lambda type_: _is.is_string(type_) or _is.is_large_string(type_) or _is.is_string_view(type_), "string"),
    (lambda type_: "binary" in str(type_), "binary"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ParquetColumns:
    """The columns of one file, with Spark's word for the type of each."""

    path: str
    words: Mapping[str, str]
    names: tuple[str, ...]  # in their order, also where one stands twice
    instants: frozenset[str]  # of type INT96, which Spark reads as moments in UTC
    dates: frozenset[str]  # dates, whatever the writer held them in


def read_columns(paths: Sequence[str], *, widen: bool = True) -> tuple[ParquetColumns, ...]:
    """The columns of all files; raises where a file cannot be read, or where two do not go together.

    `widen`: a type and a wider one go together.
    """
    files = tuple(_of_file(path) for path in paths)
    refuse_differences([(file.path, file.words) for file in files], widen=widen)
    return files


def refuse_differences(files: Sequence[tuple[str, Mapping[str, str]]], *, widen: bool = True) -> None:
    """Raise where a column has types in two files that do not go together; each file with its columns' words."""
    known: dict[str, tuple[str, str]] = {}
    for file, words in files:
        for name, word in words.items():
            before, path = known.get(name, (word, file))
            known[name] = _together(name, (before, path), (word, file), widen=widen), path


def has_nulls(files: Sequence[ParquetColumns]) -> bool:
    """Whether a column has no type in some file, as it holds nothing there; Spark reads an INT."""
    return any("null" in word for file in files for word in file.words.values())


@contextmanager
def unreadable_files(kind: str, path: str) -> Iterator[None]:
    """Name the file that a library cannot read; none of its rows was looked at yet."""
    try:
        yield
    except FileNotFoundError as error:
        raise RunError(f"`{path}` is gone since it was listed", code="LL423", retryable=True) from error
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and (error.errno is not None or is_remote(path)):
            raise RunError(
                f"`{path}` cannot be read: {error.strerror or 'no answer'}", code="LL423", retryable=True
            ) from error
        raise damaged(kind, path) from error


def damaged(kind: str, path: str) -> RunError:
    hint = "write it again, or take it away"
    return RunError(f"`{path}` is not {kind} file, or a damaged one", code="LL423", hint=hint)


def words_of(schema: pa.Schema) -> dict[str, str]:
    """Spark's word for the type of each column."""
    return {column.name: _word(column.type) for column in schema}


def _of_file(path: str) -> ParquetColumns:
    with unreadable_files("a Parquet", path), open_parquet(path) as parquet:
        schema, physical = parquet.schema_arrow, parquet.schema
        leaves = {physical.column(n).path for n in range(len(physical)) if _is_int96(physical.column(n))}
    names = tuple(schema.names)
    nested = sorted(leaf for leaf in leaves if leaf not in names)
    if nested:
        raise CapabilityError(f"`{nested[0]}` of `{path}` is an INT96 in a nested value", hint="use engine: spark")
    words = {**words_of(schema), **dict.fromkeys(leaves, "timestamp")}
    _refuse_wide_decimals(words, path)
    dates = frozenset(column.name for column in schema if _is.is_date(column.type))
    return ParquetColumns(path, words, names, frozenset(leaves), dates)


def _is_int96(column: object) -> bool:
    return getattr(column, "physical_type", None) == "INT96"


def _word(type_: pa.DataType) -> str:
    """Spark's word for a type; of one that it has not, Arrow's."""
    if isinstance(type_, pa.BaseExtensionType):
        return _word(type_.storage_type)
    if _is.is_dictionary(type_):
        return _word(type_.value_type)
    if _is.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if _is.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if _is.is_struct(type_):
        return f"struct<{', '.join(f'{field.name}: {_word(field.type)}' for field in type_)}>"
    if _is.is_map(type_):
        return f"map<{_word(type_.key_type)}, {_word(type_.item_type)}>"
    if _is.is_list(type_) or _is.is_large_list(type_) or _is.is_fixed_size_list(type_):
        return f"array<{_word(type_.value_type)}>"
    return next((word for fits, word in _WORDS if fits(type_)), str(type_))


def _refuse_wide_decimals(words: Mapping[str, str], path: str) -> None:
    for name, word in words.items():
        if word.startswith("decimal") and _digits(word)[0] > _MOST_DIGITS:
            raise CapabilityError(
                f"column `{name}` of `{path}` is a `{word}`: a table holds at most {_MOST_DIGITS} digits",
                hint="write the file with fewer digits, or with a text",
            )


def _together(name: str, one: tuple[str, str], other: tuple[str, str], *, widen: bool) -> str:
    """The type that holds the values of both files as they are."""
    (left, left_path), (right, right_path) = one, other
    wider = _wider(left, right) if widen else None
    if left == right or wider is not None:
        return wider or left
    if left.startswith(("struct", "array")) and right.startswith(("struct", "array")):
        return left  # each engine brings these together, or refuses to
    raise RunError(
        f"column `{name}` is `{left}` in `{left_path}` and `{right}` in `{right_path}`",
        code="LL424",
        hint="write one of them again, or read them with two contracts (source.pattern)",
    )


def _wider(left: str, right: str) -> str | None:
    if "null" in {left, right}:
        return right if left == "null" else left
    for row in _WIDER:
        if left in row and right in row:
            return max(left, right, key=row.index)
    if not (left.startswith("decimal") and right.startswith("decimal")):
        return None
    (p1, s1), (p2, s2) = _digits(left), _digits(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return f"decimal({precision},{scale})" if precision <= _MOST_DIGITS else None


def _digits(word: str) -> tuple[int, int]:
    precision, _, scale = word.removeprefix("decimal(").removesuffix(")").partition(",")
    return int(precision), int(scale)
