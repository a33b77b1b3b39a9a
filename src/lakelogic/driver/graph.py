"""The graph of an estate: who must have run before whom, and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from lakelogic.contract.contract import Contract
from lakelogic.contract.info import LAYERS
from lakelogic.core.errors import ContractError, LakeLogicError, Place, Problem
from lakelogic.core.settings import Settings
from lakelogic.driver.estate import Estate, Member
from lakelogic.run.places import Places, find_places, link_path


@dataclass(frozen=True, slots=True)
class Edge:
    """One dataset builds on another: by which key of its contract, and where that stands."""

    upstream: str
    downstream: str
    key: str
    place: Place

    def __str__(self) -> str:
        return f"{self.downstream} needs {self.upstream} ({self.place}, {self.key})"


@dataclass(frozen=True)
class Dag:
    """Datasets and what they build on."""

    members: Mapping[str, Member]
    edges: tuple[Edge, ...]
    tables: Mapping[str, Places] = field(default_factory=dict, repr=False)

    @cached_property
    def _above(self) -> Mapping[str, tuple[str, ...]]:
        return _neighbours(self.members, ((edge.downstream, edge.upstream) for edge in self.edges))

    @cached_property
    def _below(self) -> Mapping[str, tuple[str, ...]]:
        return _neighbours(self.members, ((edge.upstream, edge.downstream) for edge in self.edges))

    def upstream_of(self, dataset: str) -> tuple[str, ...]:
        """The datasets that this one builds on directly."""
        return self._above[dataset]

    def downstream_of(self, dataset: str) -> tuple[str, ...]:
        """The datasets that build on this one directly."""
        return self._below[dataset]

    def ancestors(self, dataset: str, depth: int | None = None) -> frozenset[str]:
        """All that a dataset builds on, up to so many steps away."""
        return _reach(self._above, dataset, depth)

    def descendants(self, dataset: str, depth: int | None = None) -> frozenset[str]:
        """All that builds on a dataset, up to so many steps away."""
        return _reach(self._below, dataset, depth)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Every dataset after those that it builds on; raises where they go in a circle."""
        cycles = find_cycles(self)
        if cycles:
            raise ContractError(cycles)
        return _sorted(self.members, self._above)

    def edges_between(self, upstream: str, downstream: str) -> tuple[Edge, ...]:
        return tuple(e for e in self.edges if (e.upstream, e.downstream) == (upstream, downstream))

    def part(self, names: Collection[str]) -> Dag:
        """The graph of some of its datasets."""
        kept = {name: member for name, member in self.members.items() if name in names}
        edges = tuple(edge for edge in self.edges if edge.upstream in kept and edge.downstream in kept)
        return Dag(kept, edges, {name: places for name, places in self.tables.items() if name in kept})


def topo_sort(dag: Dag) -> tuple[Contract, ...]:
    """The contracts of a graph, each after those that it builds on."""
    return tuple(dag.members[name].contract for name in dag.order if dag.members[name].own)


def draw_dag(estate: Estate) -> tuple[Dag, list[Problem]]:
    """The graph as far as it can be drawn, and what stands in the way."""
    problems: list[Problem] = []
    tables = _tables(estate, problems)
    written = _written(tables)
    edges: dict[tuple[str, str], Edge] = {}
    for name, member in estate.members.items():
        for edge in _edges(member.contract, tables.get(name), written, estate.settings):
            # Whoever says `upstream` may say so; a contract that looks at its own table waits for nobody.
            if edge.upstream == name and edge.key != "upstream":
                continue
            if edge.upstream in estate.members:
                edges.setdefault((edge.upstream, name), edge)
    return Dag(estate.members, tuple(edges.values()), tables), problems


def _edges(contract: Contract, places: Places | None, written: Mapping[str, str], settings: Settings) -> Iterator[Edge]:
    name = contract.dataset
    for index, upstream in enumerate(contract.upstream):
        yield Edge(upstream.dataset, name, "upstream", contract.at(f"upstream.{index}"))
    for index, link in enumerate(contract.links):
        key = f"links.{link.name}"
        found = link.dataset or (written.get(_plain(link_path(contract, settings, link.path))) if link.path else None)
        if found is not None:
            yield Edge(found, name, key, contract.at(f"links.{index}.{'dataset' if link.dataset else 'path'}"))
    source = places.source if places else None
    if source is not None and _plain(source) in written:
        yield Edge(written[_plain(source)], name, "source.path", contract.at("source.path"))


def _tables(estate: Estate, problems: list[Problem]) -> dict[str, Places]:
    found = {}
    for name, member in estate.members.items():
        try:
            found[name] = find_places(member.contract, estate.settings)
        except LakeLogicError as error:
            problems += error.problems
    return found


def _written(tables: Mapping[str, Places]) -> dict[str, str]:
    """Who writes a table: targets, and the quarantines that others may read."""
    written: dict[str, str] = {}
    for name, places in tables.items():
        for location in (places.target, places.quarantine):
            if location is not None:
                written.setdefault(_plain(location.path), name)
    return written


def _plain(path: str) -> str:
    return path.removeprefix("file://").rstrip("/")


def find_cycles(dag: Dag) -> list[Problem]:
    """Each circle once, drawn as a path with the places where it is written."""
    problems = []
    for group in _tangled(dag):
        path = _circle(dag, group)
        edges = [dag.edges_between(above, below)[0] for above, below in pairwise(path)]
        drawn = " -> ".join(path)
        hint = "take one of these away: " + "; ".join(str(edge) for edge in edges)
        problems.append(Problem("LL173", f"datasets go in a circle: {drawn}", edges[0].place, hint))
    return problems


def _tangled(dag: Dag) -> list[list[str]]:
    """Groups of datasets that each lead to all the others."""
    left = set(dag.members) - set(_sorted(dag.members, dag._above))
    groups: list[list[str]] = []
    for name in dag.members:
        if name in left and name in dag.descendants(name):
            group = sorted((dag.descendants(name) & dag.ancestors(name)) | {name}, key=list(dag.members).index)
            groups.append(group)
            left -= set(group)
    return groups


def _circle(dag: Dag, group: Sequence[str]) -> list[str]:
    """The shortest way from the first of a group back to it."""
    start = group[0]
    came: dict[str, str] = {}
    waiting = [start]
    while waiting:
        here = waiting.pop(0)
        for below in dag.downstream_of(here):
            if below == start:
                path = [here]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return [*reversed(path), start]
            if below in group and below not in came:
                came[below] = here
                waiting.append(below)
    raise AssertionError("the group has a circle")


def _neighbours(names: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {name: {} for name in names}
    for one, other in pairs:
        found[one][other] = None
    return {name: tuple(others) for name, others in found.items()}


def _reach(neighbours: Mapping[str, tuple[str, ...]], start: str, depth: int | None) -> frozenset[str]:
    reached: set[str] = set()
    edge = [start]
    while edge and (depth is None or depth > 0):
        edge = [name for here in edge for name in neighbours[here] if name not in reached]
        reached.update(edge)
        edge = list(dict.fromkeys(edge))
        depth = None if depth is None else depth - 1
    return frozenset(reached)


def _sorted(members: Mapping[str, Member], above: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Kahn's order, earlier layers first among those that may run; what is in a circle is left out."""
    rank = {name: (layer_rank(member), number) for number, (name, member) in enumerate(members.items())}
    missing = {name: len(set(above[name])) for name in members}
    below = _neighbours(members, ((up, name) for name in members for up in above[name]))
    ready = sorted((name for name, count in missing.items() if count == 0), key=rank.__getitem__)
    order: list[str] = []
    while ready:
        order += ready
        released = []
        for name in ready:
            for other in below[name]:
                missing[other] -= 1
                if missing[other] == 0:
                    released.append(other)
        ready = sorted(released, key=rank.__getitem__)
    return tuple(order)


def layer_rank(member: Member) -> int:
    """The layers in their order; who has none comes last."""
    return LAYERS.index(member.layer) if member.layer else len(LAYERS)
