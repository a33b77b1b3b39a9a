"""A MERGE statement as SELECTs: the text that Spark runs, taken apart for engines that know no MERGE.

`t` is the table, `s` the batch, as in the statement. Of the table the queries read `old`, its rows in the files that
are written again, and `known`, its rows in all files that may hold a key of the batch; `batch` is the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from lakelogic.plan.expressions import alias, all_of, any_of, case, column, is_null, null_of, text
from lakelogic.plan.model import Column

OLD, KNOWN, BATCH = "old", "known", "batch"
# Columns on the way, under names that no column of an author has.
FILE_COLUMN = "_lakelogic_file"  # of `known`: the number of the file that a row stands in
_THERE, _ACTION = "_lakelogic_there", "_lakelogic_action"
_UPDATE, _DELETE = "update", "delete"


@dataclass(frozen=True, slots=True)
class Clause:
    """What happens to rows for which a condition is the first that holds; without values, they go."""

    condition: exp.Expr
    values: Mapping[str, exp.Expr] | None


@dataclass(frozen=True, slots=True)
class Merge:
    """The clauses of a statement."""

    keys: tuple[str, ...]
    changes: tuple[Clause, ...]  # of rows of the table
    insert: Clause  # of rows of the batch whose key the table does not have


def parse_merge(statement: str, keys: Sequence[str]) -> Merge:
    """Take a MERGE of `merge_sql` or `cdc_sql` apart; its condition is that the keys are equal."""
    tree = sqlglot.parse_one(statement, dialect="databricks")
    assert isinstance(tree, exp.Merge)
    changes: list[Clause] = []
    insert: Clause | None = None
    for when in tree.args["whens"].expressions:
        then, condition = when.args["then"], when.args.get("condition")
        if isinstance(then, exp.Insert):
            names = [part.name for part in then.this.expressions]
            insert = Clause(condition or exp.true(), dict(zip(names, then.expression.expressions, strict=True)))
            continue
        found = is_null(column(_THERE, "s")) if when.args.get("source") else column(_THERE, "s")
        sets = then.expressions if isinstance(then, exp.Update) else None
        values = None if sets is None else {pair.this.name: pair.expression for pair in sets}
        changes.append(Clause(all_of([found, *([condition] if condition is not None else [])]), values))
    assert insert is not None
    return Merge(tuple(keys), tuple(changes), insert)


def effect_query(merge: Merge) -> exp.Query:
    """For each file of `known`: its number, and how many of its rows change and go."""
    acted = exp.select(column(FILE_COLUMN, "t"), alias(_action(merge), _ACTION)).from_(_named(KNOWN, "t"))
    acted = _beside_batch(acted, merge)
    counts = [exp.CountIf(this=_acts(what)) for what in (_UPDATE, _DELETE)]
    query = exp.select(column(FILE_COLUMN), alias(counts[0], "updated"), alias(counts[1], "deleted"))
    return query.from_(acted.subquery("acted")).group_by(column(FILE_COLUMN))


def rewrite_query(merge: Merge, columns: Iterable[Column]) -> exp.Query:
    """The rows of `old` as they are afterwards."""
    values = [alias(_value(merge, c.name), c.name) for c in columns]
    query = _beside_batch(exp.select(*values).from_(_named(OLD, "t")), merge)
    stays = any_of([is_null(_action(merge)), exp.NEQ(this=_action(merge), expression=text(_DELETE))])
    return query.where(stays) if any(clause.values is None for clause in merge.changes) else query


def insert_query(merge: Merge, columns: Iterable[Column]) -> exp.Query:
    """The rows of `batch` that become new rows; a column that the batch does not have is NULL."""
    assert merge.insert.values is not None
    given = merge.insert.values
    values = [alias(given[c.name].copy() if c.name in given else null_of(c.type), c.name) for c in columns]
    return _new_rows(merge, exp.select(*values))


def count_inserts_query(merge: Merge) -> exp.Query:
    return _new_rows(merge, exp.select(alias(exp.Count(this=exp.Star()), "inserted")))


def missing_query(keys: Sequence[str]) -> exp.Query:
    """How many rows `known` has, and how many of them have a key that `batch` has not."""
    lacking = exp.CountIf(this=is_null(column(_THERE, "s")))
    query = exp.select(alias(exp.Count(this=exp.Star()), "found"), alias(lacking, "missing")).from_(_named(KNOWN, "t"))
    return query.join(_keys_of(BATCH, keys, "s"), on=_same(keys), join_type="left")


def repeated_query(keys: Sequence[str]) -> exp.Query:
    """How many keys stand in `batch` more than once."""
    names = [column(key) for key in keys]
    counted = exp.select(*names, alias(exp.Count(this=exp.Star()), "found")).from_(_named(BATCH, "s")).group_by(*names)
    more = exp.CountIf(this=exp.GT(this=column("found"), expression=exp.Literal.number(1)))
    return exp.select(alias(more, "repeated")).from_(counted.subquery("counted"))


def _action(merge: Merge) -> exp.Expr:
    branches = [
        (clause.condition.copy(), text(_DELETE if clause.values is None else _UPDATE)) for clause in merge.changes
    ]
    return case(branches) if branches else null_of(exp.DataType.build("string", dialect="databricks"))


def _acts(what: str) -> exp.Expr:
    return exp.EQ(this=column(_ACTION), expression=text(what))


def _value(merge: Merge, name: str) -> exp.Expr:
    old: exp.Expr = column(name, "t")
    if not any(clause.values is not None and name in clause.values for clause in merge.changes):
        return old
    # A clause that does not name the column comes in its turn all the same: the first that holds is the one.
    branches = [
        (clause.condition.copy(), (clause.values or {}).get(name, column(name, "t")).copy()) for clause in merge.changes
    ]
    return case(branches, old)


def _new_rows(merge: Merge, query: exp.Select) -> exp.Select:
    query = query.from_(_named(BATCH, "s"))
    query = query.join(_keys_of(KNOWN, merge.keys, "t"), on=_same(merge.keys), join_type="left")
    return query.where(all_of([is_null(column(_THERE, "t")), merge.insert.condition.copy()]))


def _beside_batch(query: exp.Select, merge: Merge) -> exp.Select:
    there = exp.select(exp.Star(), alias(exp.true(), _THERE)).from_(_named(BATCH, BATCH))
    return query.join(there.subquery("s"), on=_same(merge.keys), join_type="left")


def _keys_of(name: str, keys: Sequence[str], known_as: str) -> exp.Expr:
    """Each key once."""
    found = exp.select(*[column(key) for key in keys], alias(exp.true(), _THERE)).from_(_named(name, name))
    return found.distinct().subquery(known_as)


def _same(keys: Sequence[str]) -> exp.Expr:
    return all_of([exp.EQ(this=column(key, "t"), expression=column(key, "s")) for key in keys])


def _named(name: str, known_as: str) -> exp.Expr:
    return alias_of(exp.Table(this=exp.to_identifier(name, quoted=True)), known_as)


def alias_of(table: exp.Table, known_as: str) -> exp.Expr:
    table.set("alias", exp.TableAlias(this=exp.to_identifier(known_as)))
    return table
