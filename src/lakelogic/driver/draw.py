"""A graph as text, Mermaid, DOT and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lakelogic.contract.info import LAYERS
from lakelogic.driver.graph import Dag


def draw_text(dag: Dag) -> str:
    """A tree from what builds on nothing to what nothing builds on; whoever has been drawn before is only named."""
    lines: list[str] = []
    drawn: set[str] = set()
    for name in dag.order:
        if not dag.upstream_of(name):
            lines += _branch(dag, name, "", "", drawn)
    return "\n".join(lines)


def _branch(dag: Dag, name: str, first: str, rest: str, drawn: set[str]) -> Iterator[str]:
    below = dag.downstream_of(name)
    if name in drawn and below:
        yield f"{first}{label(dag, name)} (drawn above)"
        return
    drawn.add(name)
    yield f"{first}{label(dag, name)}"
    for number, other in enumerate(below):
        last = number == len(below) - 1
        yield from _branch(dag, other, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), drawn)


def label(dag: Dag, name: str) -> str:
    """A dataset with its layer, and whether it is switched off or of another registry."""
    member = dag.members[name]
    notes: list[str] = [member.layer] if member.layer else []
    notes += [] if member.enabled else ["switched off"]
    notes += [] if member.own else ["other registry"]
    return f"{name} [{', '.join(notes)}]" if notes else name


def draw_mermaid(dag: Dag) -> str:
    """A flowchart that GitHub, GitLab and many wikis show; layers are boxes."""
    numbers = {name: f"n{number}" for number, name in enumerate(dag.order)}
    lines = ["flowchart LR"]
    for layer in (*LAYERS, None):
        names = [name for name in dag.order if dag.members[name].layer == layer]
        nodes = [f'{numbers[name]}["{_mermaid_text(name)}"]' for name in names]
        if names and layer is not None:
            lines += [f"  subgraph {layer}", *[f"    {node}" for node in nodes], "  end"]
        else:
            lines += [f"  {node}" for node in nodes]
    lines += [f"  {numbers[edge.upstream]} --> {numbers[edge.downstream]}" for edge in dag.edges]
    lines += [f"  style {numbers[name]} stroke-dasharray: 4" for name in dag.order if not dag.members[name].enabled]
    return "\n".join(lines)


def _mermaid_text(text: str) -> str:
    return re.sub(r"[^\w .:/-]", lambda match: f"#{ord(match[0])};", text)


def draw_dot(dag: Dag) -> str:
    """Graphviz."""
    lines = ["digraph lakelogic {", "  rankdir=LR;", '  node [shape=box, fontname="sans-serif"];']
    for name in dag.order:
        member = dag.members[name]
        style = "" if member.enabled else ", style=dashed"
        lines.append(f"  {_dot_text(name)} [group={_dot_text(member.layer or 'none')}{style}];")
    lines += [f"  {_dot_text(edge.upstream)} -> {_dot_text(edge.downstream)};" for edge in dag.edges]
    return "\n".join([*lines, "}"])


def _dot_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def describe_dag(dag: Dag) -> dict[str, Any]:
    """The graph as data; the datasets in an order in which they could run."""
    return {
        "datasets": [_describe(dag, name) for name in dag.order],
        "edges": [
            {"upstream": e.upstream, "downstream": e.downstream, "key": e.key, "place": str(e.place)} for e in dag.edges
        ],
    }


def _describe(dag: Dag, name: str) -> dict[str, Any]:
    member, places = dag.members[name], dag.tables.get(name)
    return {
        "dataset": name,
        "layer": member.layer,
        "entity": member.entity,
        "enabled": member.enabled,
        "own": member.own,
        "contract": str(member.contract.file),
        "owner": member.contract.info.owner,
        "domain": member.contract.info.domain,
        "tags": list(member.contract.info.tags),
        "source": places.source if places else None,
        "target": places.target.path if places and places.target else None,
        "upstream": list(dag.upstream_of(name)),
    }
