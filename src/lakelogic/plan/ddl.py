"""From a table as it is to the table that a contract wants: the changes, and what is refused because it loses data.

Pure: both sides are arguments. A refused difference is never half carried out; whoever applies the changes
applies all of them or none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from lakelogic.plan.model import HIDDEN_PREFIX, Column
from lakelogic.plan.relation import suggestion
from lakelogic.plan.table_facts import KEY_PROPERTY, TableFacts
from lakelogic.plan.type_changes import Lost, NewField, Other, Path, Wider, compare_types
from lakelogic.plan.types import family, type_name

WIDENING = "delta.enableTypeWidening"
_OURS = (HIDDEN_PREFIX, "_upstream_")  # lineage comes and goes with the source; it is never dropped


@dataclass(frozen=True, slots=True)
class CreateTable:
    """The table is not there; `instead`: it is there without rows, and takes its new shape in one commit."""

    facts: TableFacts
    instead: bool = False


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A new column, or a new field inside one; rows that are there have NULL in it."""

    path: Path
    type: exp.DataType
    comment: str | None = None
    masking: str | None = None
    after: str | None = None
    first: bool = False


@dataclass(frozen=True, slots=True)
class SetComment:
    """What a column means, in other words; None takes the comment away."""

    column: str
    comment: str | None


@dataclass(frozen=True, slots=True)
class DropNotNull:
    """The column may be NULL from now on."""

    column: str


@dataclass(frozen=True, slots=True)
class WidenType:
    """Values keep their meaning and get more room."""

    path: Path
    type: exp.DataType


@dataclass(frozen=True, slots=True)
class SetProperty:
    """A table property."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class SetDescription:
    """What the table is; None takes the description away."""

    text: str | None


Change = CreateTable | AddColumn | SetComment | DropNotNull | WidenType | SetProperty | SetDescription


@dataclass(frozen=True, slots=True)
class Refused:
    """A difference that would lose data or break readers: what, and what to do instead."""

    code: str
    subject: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know that changes nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class TableDiff:
    """What is between a table and its contract."""

    changes: tuple[Change, ...] = ()
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()


Found = Change | Refused | Note


def diff_table(there: TableFacts | None, wanted: TableFacts, *, closed: bool = True, keyed: bool = False) -> TableDiff:
    """Compare; `closed`: the contract names all columns; `keyed`: rows are found again by their key."""
    if there is None:
        return _sorted(_create(wanted))
    found = _sorted(_differences(there, wanted, closed=closed, keyed=keyed))
    if found.refused and there.rows == 0 and all(refused.code != "LL346" for refused in found.refused):
        # Nothing can be lost; what was there before stays in older versions.
        note = f"the table has no rows and takes its new shape at once ({found.refused[0].message})"
        replaced = replace(wanted, columns=_known_types(there, wanted))
        return TableDiff((CreateTable(replaced, instead=True),), (), (note,))
    return found


def _known_types(there: TableFacts, wanted: TableFacts) -> tuple[Column, ...]:
    types = {column.name: column.type for column in there.columns}
    return tuple(replace(c, type=types[c.name]) if family(c.type) == "unknown" else c for c in wanted.columns)


def _sorted(found: Iterator[Found]) -> TableDiff:
    everything = list(found)
    changes = tuple(item for item in everything if not isinstance(item, Refused | Note))
    refused = tuple(item for item in everything if isinstance(item, Refused))
    return TableDiff(changes, refused, tuple(item.text for item in everything if isinstance(item, Note)))


def _create(wanted: TableFacts) -> Iterator[Found]:
    vague = [column for column in wanted.columns if family(column.type) == "unknown"]
    yield from (_vague(column) for column in vague)
    if not vague:
        yield CreateTable(wanted)


def _differences(there: TableFacts, wanted: TableFacts, *, closed: bool, keyed: bool) -> Iterator[Found]:
    yield from _partitioning(there, wanted)
    gone = [c.name for c in there.columns if wanted.find(c.name) is None and not c.name.startswith(_OURS)]
    new = [column for column in wanted.columns if there.find(column.name) is None]
    renamed = _renamed(gone, new)
    for column in new:
        yield from _new_column(column, renamed, there)
    for name in gone:
        if name in renamed.values():
            continue
        yield _removed(name, there) if closed else Note(f"`{name}` is in the table only; the contract lets it be")
    for column in wanted.columns:
        found = there.find(column.name)
        if found is not None:
            yield from _changed_column(found, column, there, wanted)
    yield from _properties(there, wanted, keyed=keyed)
    if (there.description or None) != (wanted.description or None):
        yield SetDescription(wanted.description or None)


def _partitioning(there: TableFacts, wanted: TableFacts) -> Iterator[Refused]:
    if there.partition_by == wanted.partition_by:
        return
    yield Refused(
        "LL342",
        "partition_by",
        f"the table is partitioned by {_names(there.partition_by)}, the contract says {_names(wanted.partition_by)}",
        "files would have to be written anew: set partition_by as the table has it, or write to a new target_path"
        " and load it again",
    )


def _renamed(gone: list[str], new: list[Column]) -> dict[str, str]:
    """New column to the one that it probably is."""
    pairs: dict[str, str] = {}
    for column in new:
        near = suggestion(column.name, [name for name in gone if name not in pairs.values()])
        if near is not None:
            pairs[column.name] = near
    return pairs


def _new_column(column: Column, renamed: dict[str, str], there: TableFacts) -> Iterator[Found]:
    if column.name in renamed:
        before = renamed[column.name]
        yield Refused(
            "LL344",
            column.name,
            f"column `{column.name}` is new and `{before}` is gone: it looks like a rename, and the values of"
            f" `{before}` would stay behind",
            f"keep `{before}` as the name and put the source's name under `aliases`; or keep both columns declared",
        )
    elif family(column.type) == "unknown":
        yield _vague(column)
    else:
        yield AddColumn((column.name,), column.type, column.comment, column.masking)
        if not column.nullable and there.rows:
            yield Note(f"`{column.name}` is required, but the {there.rows} rows that are there have NULL in it")


def _removed(name: str, there: TableFacts) -> Refused:
    count = f" of {there.rows} rows" if there.rows else ""
    return Refused(
        "LL340",
        name,
        f"column `{name}` is in the table and not in the contract; dropping it would lose its values{count}",
        f"declare `{name}` again (it may be optional), or drop it yourself with ALTER TABLE ... DROP COLUMN, which"
        " needs delta.columnMapping.mode = name",
    )


def _vague(column: Column) -> Refused:
    return Refused(
        "LL346",
        column.name,
        f"the type of column `{column.name}` is known only when rows are read",
        "declare the column under model.fields with its type",
    )


def _changed_column(there: Column, wanted: Column, facts: TableFacts, goal: TableFacts) -> Iterator[Found]:
    if family(wanted.type) != "unknown":
        for change in compare_types(there.type, wanted.type, (wanted.name,)):
            yield _type_change(change, goal)
    if there.nullable != wanted.nullable:
        yield _nullability(wanted, facts)
    if (there.masking or None) != (wanted.masking or None):
        yield Refused(
            "LL345",
            wanted.name,
            f"the values of `{wanted.name}` that are there are {_masked(there)}, new ones would be {_masked(wanted)}",
            "`lakelogic reset` empties the table, `ddl --apply` then changes it, and a run loads it again",
        )
    if (there.comment or None) != (wanted.comment or None):
        yield SetComment(wanted.name, wanted.comment or None)


def _type_change(change: NewField | Wider | Lost | Other, goal: TableFacts) -> Found:
    name = ".".join(change.path)
    match change:
        case NewField():
            return AddColumn(change.path, change.type, after=change.after, first=change.first)
        case Lost():
            return _removed(name, goal)
        case Wider() if goal.properties.get(WIDENING, "").lower() == "true":
            return WidenType(change.path, change.after)
        case Wider():
            return Refused(
                "LL347",
                name,
                f"`{name}` would become {type_name(change.after)} and is {type_name(change.before)}; Delta widens it"
                " in place only with type widening, which only Spark reads",
                "a run writes the table anew with the wider type where schema_policy.evolution allows it; to widen it"
                f' in place, for Spark alone, set materialization.table_properties: {{{WIDENING}: "true"}}',
            )
        case Other():
            return Refused(
                "LL341",
                name,
                f"`{name}` is {type_name(change.before)} in the table, {type_name(change.after)} in the contract; not"
                " every value that is there would fit",
                "declare the table's type, or write to a new column or target_path",
            )


def _nullability(wanted: Column, facts: TableFacts) -> Found:
    if wanted.nullable:
        return DropNotNull(wanted.name)
    nulls = facts.nulls.get(wanted.name)
    if nulls == 0 or facts.rows == 0:
        return Note(
            f"`{wanted.name}` is required now and has no NULL; rows without it go to quarantine. The table's column"
            " stays nullable: Delta cannot tighten it in place"
        )
    count = "an unknown number of" if nulls is None else str(nulls)
    return Refused(
        "LL343",
        wanted.name,
        f"`{wanted.name}` is required now, and {count} rows of the table have NULL in it",
        "fill them first, or leave the field optional",
    )


def _properties(there: TableFacts, wanted: TableFacts, *, keyed: bool) -> Iterator[Found]:
    for key, value in wanted.properties.items():
        before = there.properties.get(key)
        if before == value:
            continue
        if key == KEY_PROPERTY and before is not None and keyed and not _refines(before, value):
            yield Refused(
                "LL348",
                "primary_key",
                f"the rows that are there were merged by ({before}); by ({value}) several may have one key",
                "`lakelogic reset`, `ddl --apply` and a run load the table again by the new key",
            )
        else:
            yield SetProperty(key, value)


def _refines(before: str, after: str) -> bool:
    """Rows that are unique by some columns are unique by those and more."""
    return set(before.split(",")) <= set(after.split(","))


def _masked(column: Column) -> str:
    return f"masked by `{column.masking}`" if column.masking else "in the clear"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"
