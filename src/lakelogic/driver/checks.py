"""Mistakes that show only when the contracts of an estate are seen together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakelogic.contract.contract import Contract
from lakelogic.contract.mistakes import suggest
from lakelogic.core.errors import ContractError, Place, Problem
from lakelogic.driver.estate import Estate, Member
from lakelogic.driver.graph import Dag, draw_dag, find_cycles
from lakelogic.run.validate import position_of


def build_dag(estate: Estate) -> Dag:
    """The graph of an estate; raises with every dataset that is unknown, every circle, every table with two writers."""
    checked, dag = check_estate(estate)
    refuse_mistakes(checked)
    return dag


def refuse_mistakes(estate: Estate) -> None:
    """Raise with all mistakes of an estate; warnings stop nobody."""
    mistakes = [problem for problem in estate.problems if problem.severity == "error"]
    if mistakes:
        raise ContractError(mistakes)


def check_estate(estate: Estate) -> tuple[Estate, Dag]:
    """Add what is wrong between contracts to an estate, and draw its graph."""
    dag, problems = draw_dag(estate)
    problems += [
        *_unknown_datasets(estate),
        *_ages_of_others(estate),
        *_disabled_upstreams(dag),
        *_shared_targets(dag),
        *find_cycles(dag),
    ]
    found = sorted(dict.fromkeys([*estate.problems, *problems]), key=position_of)
    return replace(estate, problems=tuple(found)), dag


def _named(contract: Contract) -> Iterator[tuple[str, str]]:
    for index, upstream in enumerate(contract.upstream):
        yield f"upstream.{index}", upstream.dataset
    for index, link in enumerate(contract.links):
        if link.dataset is not None:
            yield f"links.{index}.dataset", link.dataset


def _unknown_datasets(estate: Estate) -> Iterator[Problem]:
    for member in _own(estate):
        for path, name in _named(member.contract):
            external = name in estate.external and path.startswith("upstream")
            if name not in estate.members and not external:
                place = member.contract.at(path)
                message = f"no contract of the estate is of dataset `{name}`"
                yield Problem("LL172", message, place, _likely(name, estate))


def _ages_of_others(estate: Estate) -> Iterator[Problem]:
    for member in _own(estate):
        for index, upstream in enumerate(member.contract.upstream):
            external = upstream.dataset in estate.external and upstream.dataset not in estate.members
            if external and upstream.freshness is not None:
                place = member.contract.at(f"upstream.{index}.freshness")
                message = f"the age of `{upstream.dataset}` is not known: something else writes it (`external`)"
                yield Problem("LL188", message, place, "take `freshness` away, or give the dataset a contract")


def _likely(name: str, estate: Estate) -> str:
    hint = suggest(name, estate.members)
    if hint.startswith("did you mean"):
        return hint
    # Not a list of all names: an estate has hundreds.
    return "add its registry here or under `uses`, or name it under `external` of the registry if others write it"


def _disabled_upstreams(dag: Dag) -> Iterator[Problem]:
    for edge in dag.edges:
        above, below = dag.members[edge.upstream], dag.members[edge.downstream]
        if below.own and below.enabled and not above.enabled:
            message = f"`{edge.downstream}` builds on `{edge.upstream}`, which is switched off"
            hint = f"{_listed(above)} says `enabled: false`; while it does, `{edge.downstream}` is held back"
            yield Problem("LL177", message, edge.place, hint, severity="warning")


def _listed(member: Member) -> Place:
    return member.listed_at or member.place


def _shared_targets(dag: Dag) -> Iterator[Problem]:
    writers: dict[str, str] = {}
    for name, places in dag.tables.items():
        if places.target is not None:
            first = writers.setdefault(places.target.path.rstrip("/"), name)
            if first != name:
                yield _shared(dag, name, first, "materialization.target_path")
    for name, places in dag.tables.items():
        first = writers.get(places.quarantine.path.rstrip("/"), name) if places.quarantine else name
        if first != name:
            yield _shared(dag, name, first, "quarantine.target_path")


def _shared(dag: Dag, name: str, first: str, key: str) -> Problem:
    other = dag.members[first].contract.at("materialization.target_path")
    hint = f"`{first}` writes it too ({other}); give each its own"
    return Problem("LL174", f"`{name}` and `{first}` write one table", dag.members[name].contract.at(key), hint)


def _own(estate: Estate) -> Iterator[Member]:
    return (member for member in estate.members.values() if member.own)
