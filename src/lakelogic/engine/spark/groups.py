"""What HAVING, QUALIFY and ORDER BY ask, where Spark would look for it among the outputs of their SELECT only.

Spark knows the keys of ROLLUP, CUBE and GROUPING SETS there by their bare names, and our queries tie each column to
its relation. sqlglot writes QUALIFY as a WHERE around the whole SELECT, its LIMIT and DISTINCT included. So what these
clauses ask becomes an output, and a SELECT around it leaves that out again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

from lakelogic.plan.expressions import alias, column
from lakelogic.plan.model import HIDDEN_PREFIX

_SPECIAL = (exp.Rollup, exp.Cube, exp.GroupingSets)
_LAST = ("distinct", "order", "limit", "offset")
_INNER = f"{HIDDEN_PREFIX}asked"


def ask_by_outputs(tree: exp.Expr) -> exp.Expr:
    """The same rows and columns; inner queries first."""
    for select in reversed(list(tree.find_all(exp.Select))):
        if not _asks(select):
            continue
        place, key, index = select.parent, select.arg_key, select.index
        made = _wrapped(select)
        if select is tree:
            tree = made
        elif place is not None and key is not None:
            place.set(key, made, index=index)
    return tree


def _asks(select: exp.Select) -> bool:
    if select.is_star or not all(node.alias_or_name for node in select.expressions):
        return False
    by_sets = _has_sets(select) and any(select.args.get(part) is not None for part in ("having", "order"))
    return by_sets or select.args.get("qualify") is not None


def _has_sets(select: exp.Select) -> bool:
    group = select.args.get("group")
    return group is not None and group.find(*_SPECIAL) is not None


def _wrapped(select: exp.Select) -> exp.Select:
    names = [node.alias_or_name for node in select.expressions]
    outer = exp.select(*[column(name) for name in names])
    having = select.args.get("having")
    if having is not None and _has_sets(select):
        # Not the whole test: of one that is an output Spark may ask only after it has computed windows.
        for node in list(_of_groups(having, list(_keys([select.args["group"]])))):
            node.replace(_asked(select, node))
    qualify = select.args.get("qualify")
    if qualify is not None:
        select.set("qualify", None)
        outer = outer.where(_asked(select, qualify.this), copy=False)
    for item in select.args["order"].expressions if select.args.get("order") is not None else []:
        if not (isinstance(item.this, exp.Column) and not item.this.table and item.this.name in names):
            item.set("this", _asked(select, item.this))
    for part in _LAST:
        outer.set(part, select.args.get(part))
        select.set(part, None)
    return outer.from_(exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(_INNER))), copy=False)


def _keys(nodes: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    for node in nodes:
        if isinstance(node, (*_SPECIAL, exp.Group, exp.Tuple)):
            yield from _keys(list(node.iter_expressions()))
        else:
            yield node.unnest()


def _of_groups(node: exp.Expr, keys: Sequence[exp.Expr]) -> Iterator[exp.Expr]:
    """The keys, and what is asked about their sets; aggregates speak of rows."""
    if isinstance(node, (exp.Grouping, exp.GroupingId)) or node in keys:
        yield node
    elif not isinstance(node, (exp.AggFunc, exp.Query)):
        for child in node.iter_expressions():
            yield from _of_groups(child, keys)


def _asked(select: exp.Select, value: exp.Expr) -> exp.Expr:
    """The name under which a value is an output of the SELECT."""
    for node in select.expressions:
        if node.unalias() == value:
            return column(node.alias_or_name)
    name = f"{_INNER}_{len(select.expressions)}"
    select.append("expressions", alias(value.copy(), name))
    return column(name)
