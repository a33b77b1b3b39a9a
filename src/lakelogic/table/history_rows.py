"""From observations to versions: windows over each key, one shuffle, no loop over rows.

An observation says that a key had some state at some time, or that it was gone. Three kinds come together here:
the versions that the table has, what the observation store remembers, and the rows of the batch. What comes out
does not depend on the order in which they arrived:

* Of all that is known about a key at one instant the winner is a delete, else the row with the greatest values.
* Sorted by time, a winner whose state differs from the one before opens a version; a delete closes one.
* A winner that opens nothing is remembered, because a row that arrives late may come to stand before it.

Only the part of a key's history from the batch's first row on can change, so the versions that ended before it
are left alone; they are only counted. Every window below keeps to the order of one sort, by key and time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakelogic.plan.model import HIDDEN_PREFIX
from lakelogic.plan.writes import WriteScd2
from lakelogic.table.history_layout import (
    AT,
    BATCH,
    CHANGE,
    COVERED,
    FROM_STORE,
    FROM_TABLE,
    GONE,
    KIND,
    OLD_FILE,
    OLD_TO,
    OLD_VERSION,
    OP,
    ORIGIN,
    REMEMBER,
    SINCE,
    Layout,
)
from lakelogic.table.spark_staged import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType, StructType

_STATE, _SETTLED, _BASE = f"{HIDDEN_PREFIX}state", f"{HIDDEN_PREFIX}settled", f"{HIDDEN_PREFIX}base"
_STARTS, _NUMBER, _NEXT = f"{HIDDEN_PREFIX}starts", f"{HIDDEN_PREFIX}number", f"{HIDDEN_PREFIX}next"
_BEFORE, _ENDED, _BOUND = f"{HIDDEN_PREFIX}before", f"{HIDDEN_PREFIX}ended", f"{HIDDEN_PREFIX}bound"

_JSON = {
    "ignoreNullFields": "false",
    # The default formats end at milliseconds.
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True, slots=True)
class Observed:
    """Observations of keys, and from where besides the batch they come."""

    rows: DataFrame
    has_store: bool


def compute_changes(observed: Observed, layout: Layout, *, batch: int) -> DataFrame:
    """What must change in the table and what must be remembered."""
    from pyspark.sql import functions as sf

    settled = (sf.col(ORIGIN) == FROM_TABLE) & (sf.col(OLD_TO) < sf.col(SINCE))
    # Moved by key once, before a window that would move them by key and instant.
    rows = observed.rows.repartition(*_cols(layout.write.keys))
    frame = rows.withColumn(_SETTLED, sf.coalesce(settled, sf.lit(False)))
    frame = _restore_covered(frame, layout) if observed.has_store else frame
    frame = _choose_winners(frame, layout)
    frame = _find_versions(frame, layout)
    return _results(frame.where(~sf.col(_SETTLED)), layout, batch)


def _restore_covered(frame: DataFrame, layout: Layout) -> DataFrame:
    """Give what is remembered the values of the version around it, and drop what is no longer true of it."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    stored = sf.col(ORIGIN) == FROM_STORE
    values = sf.struct(*[_col(name) for name in layout.source], sf.col(ORIGIN))
    so_far = _in_time(layout).rowsBetween(Window.unboundedPreceding, Window.currentRow)
    of_table = sf.when((sf.col(ORIGIN) == FROM_TABLE) & ~sf.col(_SETTLED), values)
    around = f"{HIDDEN_PREFIX}around"
    frame = frame.withColumn(around, sf.last(of_table, ignorenulls=True).over(so_far))
    instant = Window.partitionBy(*_cols(layout.write.keys), sf.col(AT)).orderBy(*_known_first())
    # The table's version at an instant, else what was written last, is the winner of all that came before.
    frame = frame.withColumn(_NUMBER, sf.row_number().over(instant)).where(~stored | (sf.col(_NUMBER) == 1))
    restored = {
        name: sf.when(stored & sf.array_contains(COVERED, name), sf.col(around)[name]).otherwise(_col(name))
        for name in layout.source
    }
    return frame.withColumns(restored).drop(around, _NUMBER)


def _choose_winners(frame: DataFrame, layout: Layout) -> DataFrame:
    """One observation per key and instant; it knows the version that the table has there, whoever wins."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    write, types = layout.write, frame.schema
    content = [*sorted(write.tracked), *sorted(name for name in write.untracked if name not in write.opaque)]
    greatest = [_comparable(name, types[name].dataType).desc_nulls_last() for name in content]
    rest = [name for name in (*write.opaque, *layout.lineage) if _has_order(types[name].dataType)]
    last = [_col(name).asc_nulls_last() for name in rest]
    instant = Window.partitionBy(*_cols(write.keys), sf.col(AT))
    ranked = instant.orderBy(sf.desc(GONE), *greatest, sf.asc(ORIGIN), *last)
    whole = ranked.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    known = {name: sf.max(sf.col(name)).over(whole) for name in (OLD_TO, OLD_VERSION, OLD_FILE)}
    return frame.withColumns({_NUMBER: sf.row_number().over(ranked), **known}).where(sf.col(_NUMBER) == 1)


def _find_versions(frame: DataFrame, layout: Layout) -> DataFrame:
    """Which winners open a version, its number, and where it ends."""
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    types, settled = frame.schema, sf.col(_SETTLED)
    states = [_plain(name, types[name].dataType).alias(name) for name in layout.write.tracked]
    frame = frame.withColumn(_STATE, sf.struct(*states, sf.lit(0).alias(_STATE)))
    order = Window.partitionBy(*_cols(layout.write.keys)).orderBy(AT)
    so_far = order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    frame = frame.withColumns(
        {
            # What follows a settled version opens one: it differs, or the key was gone in between.
            _ENDED: sf.lag(sf.col(GONE) | settled).over(order),
            _BEFORE: sf.lag(_STATE).over(order),
            _BASE: sf.coalesce(sf.max(sf.when(settled, sf.col(OLD_VERSION))).over(so_far), sf.lit(0)),
        }
    )
    differs = sf.col(_ENDED).isNull() | sf.col(_ENDED) | ~sf.col(_BEFORE).eqNullSafe(sf.col(_STATE))
    frame = frame.withColumn(_STARTS, ~settled & ~sf.col(GONE) & differs)
    number = sf.col(_BASE) + sf.count(sf.when(sf.col(_STARTS), 1)).over(so_far)
    frame = frame.withColumn(_BOUND, sf.when(sf.col(_STARTS) | sf.col(GONE), sf.col(AT)))
    partition = ", ".join(quoted(key) for key in layout.write.keys)
    following = sf.expr(f"lead({_BOUND}) IGNORE NULLS OVER (PARTITION BY {partition} ORDER BY {AT})")
    return frame.withColumns({_NUMBER: number.cast("int"), _NEXT: following})


def _results(frame: DataFrame, layout: Layout, batch: int) -> DataFrame:
    from pyspark.sql import functions as sf

    write = layout.write
    starts, there = sf.col(_STARTS), sf.col(OLD_VERSION).isNotNull()
    end = sf.lit(write.end).cast(frame.schema[AT].dataType)
    frame = frame.withColumns({write.valid_to: sf.coalesce(sf.col(_NEXT), end), write.version: sf.col(_NUMBER)})
    same = (sf.col(ORIGIN) == FROM_TABLE) & (sf.col(OLD_TO) == _col(write.valid_to))
    same = same & (sf.col(OLD_VERSION) == sf.col(_NUMBER))
    changes = sf.when(starts, ~there | ~same).otherwise(there)
    remembered = ~starts & (sf.col(ORIGIN) != FROM_STORE)
    kinds = sf.array(sf.when(changes, sf.lit(CHANGE)), sf.when(remembered, sf.lit(REMEMBER)))
    frame = frame.withColumn(KIND, sf.explode(sf.array_compact(kinds)))
    return frame.select(*_result_columns(frame, layout, batch))


def _result_columns(frame: DataFrame, layout: Layout, batch: int) -> list[SparkColumn]:
    from pyspark.sql import functions as sf

    write, change = layout.write, sf.col(KIND) == CHANGE
    made = {
        write.timestamp: sf.when(change, sf.col(AT)),
        write.valid_from: sf.when(change, sf.col(AT)),
        write.valid_to: sf.when(change, _col(write.valid_to)),
        write.version: sf.when(change, _col(write.version)),
        write.current: sf.when(change, sf.col(_NEXT).isNull()),
        # A remembered row has the tracked values of the version around it, and a delete has none.
        **{name: sf.when(change, _col(name)) for name in write.tracked},
        **{name: sf.when(change | ~sf.col(GONE), _col(name)) for name in (*write.untracked, *layout.lineage)},
    }
    if write.surrogate:
        made[write.surrogate] = sf.when(change, _surrogate(frame, layout))
    tracked = sf.array(*[sf.lit(name) for name in write.tracked]).cast("array<string>")
    return [
        *[made.get(name, _col(name)).alias(name) for name in layout.columns],
        sf.when(change, sf.col(_STARTS)).alias(OP),
        sf.when(change, sf.col(OLD_FILE)).alias(OLD_FILE),
        sf.when(~change, sf.col(AT)).alias(AT),
        sf.when(~change, sf.col(GONE)).alias(GONE),
        sf.when(~change, sf.lit(batch).cast("bigint")).alias(BATCH),
        sf.when(~change, tracked).alias(COVERED),
        sf.col(KIND),
    ]


def _surrogate(frame: DataFrame, layout: Layout) -> SparkColumn:
    """A hash of key and start: the same for the same version, whenever it is computed."""
    from pyspark.sql import functions as sf

    write = layout.write
    hashed = sf.substring(sf.sha2(_text((*write.keys, AT), frame.schema), 256), 1, 32)
    unknown = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    if write.surrogate not in unknown:
        return hashed
    is_unknown = sf.col(AT) == unknown_start(write, frame.schema[AT].dataType)
    for key in write.keys:
        is_unknown = is_unknown & (_col(key) == sf.lit(unknown[key]).cast(frame.schema[key].dataType))
    return sf.when(is_unknown, sf.lit(unknown[write.surrogate])).otherwise(hashed)


def unknown_start(write: WriteScd2, type_: DataType) -> SparkColumn:
    """Since when the unknown member is there: before any fact."""
    from pyspark.sql import functions as sf

    given = dict(zip(write.unknown_names, write.unknown_values, strict=True))
    return sf.lit(given.get(write.timestamp, "1900-01-01")).cast(type_)


def _in_time(layout: Layout):  # type: ignore[no-untyped-def]  # a WindowSpec, whose module differs on Connect
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    return Window.partitionBy(*_cols(layout.write.keys)).orderBy(sf.col(AT), *_known_first())


def _known_first() -> list[SparkColumn]:
    from pyspark.sql import functions as sf

    return [sf.asc(ORIGIN), sf.desc_nulls_last(BATCH)]


def _text(names: Sequence[str], types: StructType) -> SparkColumn:
    """Values as one text that is equal exactly when they are; NULL equals NULL and NaN equals NaN."""
    from pyspark.sql import functions as sf

    if not names:
        return sf.lit("{}")
    return sf.to_json(sf.struct(*[_plain(name, types[name].dataType).alias(name) for name in names]), _JSON)


def _plain(name: str, type_: DataType) -> SparkColumn:
    from pyspark.sql import functions as sf

    match type_.typeName():
        case "timestamp":
            return sf.unix_micros(_col(name))
        case _ if "map<" in type_.simpleString():
            # Maps do not compare; their text does, where the entries are in order.
            return sf.to_json(sf.struct(_in_order(name, type_).alias(name)), _JSON)
        case _:
            return _col(name)


def _comparable(name: str, type_: DataType) -> SparkColumn:
    """A column of any type as one that rows can be ordered by."""
    from pyspark.sql import functions as sf

    unordered = any(word in type_.simpleString() for word in ("map<", "variant"))
    return sf.to_json(sf.struct(_plain(name, type_).alias(name)), _JSON) if unordered else _col(name)


def _in_order(name: str, type_: DataType) -> SparkColumn:
    from pyspark.sql import functions as sf

    nested = "map<" in type_.simpleString()[4:] or type_.typeName() != "map"
    return _col(name) if nested else sf.map_from_entries(sf.array_sort(sf.map_entries(_col(name))))


def _has_order(type_: DataType) -> bool:
    return type_.typeName() not in {"map", "array", "struct", "variant"}


def _col(name: str) -> SparkColumn:
    from pyspark.sql import functions as sf

    return sf.col(quoted(name))


def _cols(names: Sequence[str]) -> list[SparkColumn]:
    return [_col(name) for name in names]
