"""A graph as one HTML page that needs nothing from elsewhere: an SVG in columns, and a table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from lakelogic.driver.graph import Dag

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 220, 34, 90, 18, 24
_COLOURS = {"reference": "#64748b", "bronze": "#b45309", "silver": "#475569", "gold": "#a16207"}
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #1e293b; background: #fff; }
svg { display: block; max-width: 100%; height: auto; }
svg text { font: 13px system-ui, sans-serif; fill: #1e293b; }
svg path { fill: none; stroke: #94a3b8; stroke-width: 1.4; }
svg rect { fill: #f8fafc; stroke-width: 1.6; }
.off rect { stroke-dasharray: 5 4; }
.off text { fill: #94a3b8; }
table { border-collapse: collapse; margin-top: 2rem; }
td, th { text-align: left; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #e2e8f0; vertical-align: top; }
"""


def draw_html(dag: Dag) -> str:
    """The page; every name in it is escaped, whatever somebody called a dataset."""
    places = _places(dag)
    width = _MARGIN * 2 + max((x for x, _ in places.values()), default=0) + _WIDTH
    height = _MARGIN * 2 + max((y for _, y in places.values()), default=0) + _HEIGHT
    lines = [_line(places[edge.upstream], places[edge.downstream]) for edge in dag.edges]
    boxes = [_box(dag, name, *places[name]) for name in dag.order]
    return "\n".join(
        [
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Datasets</title>',
            f"<style>{_STYLE}</style>",
            f"<h1>{len(dag.members)} datasets</h1>",
            f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="Graph of the datasets">',
            *lines,
            *boxes,
            "</svg>",
            _table(dag),
            "</html>",
        ]
    )


def _places(dag: Dag) -> Mapping[str, tuple[int, int]]:
    """A column per distance from the sources, the rows in the order of the graph."""
    column: dict[str, int] = {}
    for name in dag.order:
        column[name] = max((column[above] + 1 for above in dag.upstream_of(name)), default=0)
    rows: dict[int, int] = {}
    places = {}
    for name in dag.order:
        row = rows.get(column[name], 0)
        rows[column[name]] = row + 1
        places[name] = (_MARGIN + column[name] * (_WIDTH + _GAP_X), _MARGIN + row * (_HEIGHT + _GAP_Y))
    return places


def _line(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = start[0] + _WIDTH, start[1] + _HEIGHT // 2
    x2, y2 = end[0], end[1] + _HEIGHT // 2
    middle = (x1 + x2) // 2
    return f'<path d="M{x1},{y1} C{middle},{y1} {middle},{y2} {x2},{y2}"/>'


def _box(dag: Dag, name: str, x: int, y: int) -> str:
    member = dag.members[name]
    colour = _COLOURS.get(member.layer or "", "#94a3b8")
    shown = name if len(name) <= 28 else f"{name[:27]}…"
    title = f"{name}\n{member.layer or 'no layer'}\n{member.contract.file}"
    state = "" if member.enabled else ' class="off"'
    return (
        f"<g{state}><title>{escape(title)}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" stroke="{colour}"/>'
        f'<text x="{x + 12}" y="{y + 22}">{escape(shown)}</text></g>'
    )


def _table(dag: Dag) -> str:
    head = "".join(f"<th>{word}</th>" for word in ("dataset", "layer", "entity", "owner", "builds on", "target"))
    rows = []
    for name in dag.order:
        member, places = dag.members[name], dag.tables.get(name)
        target = places.target.name if places and places.target else ""
        cells = (
            name,
            member.layer,
            member.entity,
            member.contract.info.owner,
            ", ".join(dag.upstream_of(name)),
            target,
        )
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell or ''))}</td>" for cell in cells) + "</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
