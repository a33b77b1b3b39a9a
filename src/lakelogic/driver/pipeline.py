"""A pipeline run: the chosen contracts of an estate, each after those that it builds on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import ContractError, PlanError, Problem
from lakelogic.driver.breaker import find_break
from lakelogic.driver.checks import check_estate, refuse_mistakes
from lakelogic.driver.engines import SharedEngines, common_settings
from lakelogic.driver.estate import Estate
from lakelogic.driver.graph import Dag, layer_rank
from lakelogic.driver.held import left_no_record, record_outcomes
from lakelogic.driver.load_many import Wanted, load_many
from lakelogic.driver.outcome import Outcome, PipelineResult
from lakelogic.driver.overrides import concerned
from lakelogic.driver.resume import DONE_BEFORE, Resumed
from lakelogic.driver.schedule import Rules, run_jobs
from lakelogic.driver.select import Selection, choose
from lakelogic.driver.watch import Beginning, Job, Watcher, telling
from lakelogic.driver.windows import check_request, request_for
from lakelogic.driver.worker import Part, Request, hold_back, run_member
from lakelogic.run.links import resolve_links
from lakelogic.run.pipeline import new_run_id
from lakelogic.run.references import ReferenceCache, find_shared


@dataclass(frozen=True, slots=True)
class Order:
    """How the scheduler goes about it."""

    max_workers: int = 4
    strict_layers: bool = False  # no layer begins before the one before it has ended
    continue_on_error: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """What will run, in its order; all that could be refused has been."""

    dag: Dag
    contracts: Mapping[str, Contract]
    held: Mapping[str, str]  # by name: why it cannot run

    def names(self, order: Order) -> tuple[str, ...]:
        """The order in which they are looked at: that of the graph, or layer by layer."""
        if not order.strict_layers:
            return tuple(self.contracts)
        return tuple(sorted(self.contracts, key=lambda name: layer_rank(self.dag.members[name])))

    def request_for(self, name: str, request: Request) -> Request:
        """What a request for a window means for one of them."""
        return request_for(self.contracts[name], self.dag.members[name].layer, request)

    def rules(self, order: Order) -> Rules:
        names = self.names(order)
        ranks = {name: layer_rank(self.dag.members[name]) for name in names}
        after = {name: [other for other in names if ranks[other] < ranks[name]] for name in names}
        needs = {name: nearest_above(self.dag, name, names) for name in names}
        judged = {name: _judged_by_age(self.contracts[name]) & set(needs[name]) for name in names}
        return Rules(
            needs={name: tuple(each for each in needs[name] if each not in judged[name]) for name in names},
            after={name: [*(after[name] if order.strict_layers else ()), *sorted(judged[name])] for name in names},
            held=self.held,
            max_workers=order.max_workers,
            continue_on_error=order.continue_on_error,
        )

    def find(self, dataset: str) -> Contract | None:
        """A contract of the estate, also one that does not run this time."""
        member = self.dag.members.get(dataset)
        return self.contracts.get(dataset) or (member.contract if member else None)

    def jobs(self, order: Order, request: Request) -> dict[str, Job]:
        """What whoever watches is told about each contract."""
        rules, jobs = self.rules(order), {}
        for name in self.names(order):
            member, contract = self.dag.members[name], self.contracts[name]
            waits = tuple(rules.needs[name]), tuple(rules.after.get(name, ()))
            jobs[name] = Job(contract, request.engine_of(contract), member.layer, member.entity, *waits)
        return jobs


def prepare(estate: Estate, wanted: Selection, request: Request, order: Order, loading: Wanted) -> Prepared:
    """Choose what runs, and refuse before any row moves whatever can be refused by then."""
    checked, dag = check_estate(estate)
    refuse_mistakes(checked)
    if order.strict_layers:
        _refuse_uphill(dag)
    chosen = [name for name in choose(dag, wanted) if dag.members[name].own and dag.members[name].enabled]
    if not chosen:
        hint = "look at --select, --layers, --entities, and at `enabled` in the registries"
        raise ContractError([Problem("LL182", "no contract is chosen", hint=hint)])
    changed = loading.overrides or loading.packs.names
    contracts = _load_again(dag, chosen, loading) if changed else _contracts(dag, chosen)
    resolved = {name: resolve_links(each, estate.settings, estate.find) for name, each in contracts.items()}
    _refuse_windows(resolved, dag, request)
    return Prepared(dag, resolved, _switched_off(dag, chosen))


def run_pipeline(
    prepared: Prepared,
    request: Request,
    order: Order,
    *,
    master: str | None = None,
    remote: str | None = None,
    session: Any = None,
    watchers: Iterable[Watcher] = (),
    resumed: Resumed | None = None,
) -> PipelineResult:
    """Run what was prepared; failures are outcomes, and only an interruption is raised."""
    contracts = prepared.contracts
    on_spark = [each for each in contracts.values() if request.engine_of(each) == "spark"]
    engines = SharedEngines(request.settings, master, remote, common_settings(on_spark), session)
    references = ReferenceCache(find_shared(contracts.values(), request.settings) if request.cache_references else {})
    request = replace(request, references=references)
    # One clock for all: `yesterday` means the same day for the first contract and for the last.
    now = request.clock.now()
    run_id, day = (resumed.run_id, resumed.started_at) if resumed else (new_run_id(now), now)
    beginning = Beginning(run_id, now, prepared.jobs(order, request), order.max_workers)
    with telling(watchers, beginning, request.clock) as told:

        def work(name: str) -> Outcome:
            part = Part(run_id, resumed.windows.get(name, ()) if resumed else (), prepared.find)
            asked = prepared.request_for(name, request)
            broken = None if request.ignore_breaker else find_break(contracts[name], request.settings)
            if broken is not None:
                outcome = told.hold(hold_back(contracts[name], broken.message, broken))
            else:
                outcome = told.run(name, lambda: run_member(contracts[name], asked, engines.open, day, part))
            if broken is not None or left_no_record(outcome):
                record([outcome])
            return outcome

        def skip(name: str, reason: str) -> Outcome:
            return told.hold(hold_back(contracts[name], reason))

        def record(outcomes: Sequence[Outcome]) -> None:
            record_outcomes(outcomes, contracts, request, run_id)

        def stopped() -> str | None:
            return f"not started: {request.stop.requested.message}" if request.stop.requested else None

        done = resumed.done if resumed else {}
        for name, status in done.items():
            told.hold(Outcome(name, status, DONE_BEFORE))
        try:
            left = [each for each in prepared.names(order) if each not in done]
            run_jobs(left, prepared.rules(order), work, skip, stopped=stopped, after_holding=record)
        finally:
            references.close()
            engines.close()
    return told.result


def _judged_by_age(contract: Contract) -> frozenset[str]:
    """Upstreams that need only have ended: the contract says how old they may be, also where one of them failed."""
    return frozenset(upstream.dataset for upstream in contract.upstream if upstream.freshness is not None)


def nearest_above(dag: Dag, name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the names that a dataset builds on, directly or through others that do not run."""
    found: dict[str, None] = {}
    seen, waiting = {name}, [name]
    while waiting:
        for above in dag.upstream_of(waiting.pop(0)):
            if above in names:
                found[above] = None
            elif above not in seen:
                seen.add(above)
                waiting.append(above)
    return tuple(found)


def _refuse_uphill(dag: Dag) -> None:
    """Layer by layer is possible only where no layer builds on a later one."""
    problems = []
    for edge in dag.edges:
        above, below = dag.members[edge.upstream], dag.members[edge.downstream]
        if layer_rank(above) > layer_rank(below):
            message = f"`{edge.downstream}` ({below.layer}) builds on `{edge.upstream}` ({above.layer}), a later layer"
            problems.append(Problem("LL183", message, edge.place, "run it without --strict-layer-order"))
    if problems:
        raise ContractError(problems)


def _contracts(dag: Dag, chosen: Sequence[str]) -> dict[str, Contract]:
    return {name: dag.members[name].contract for name in chosen}


def _load_again(dag: Dag, chosen: Sequence[str], loading: Wanted) -> dict[str, Contract]:
    """The chosen contracts with what `--set` and `--policy-pack` say, which is meant for them only."""
    loaded = load_many([dag.members[name].contract.file for name in chosen], loading)
    mistakes = [problem for each in loaded for problem in each.problems if problem.severity == "error"]
    if mistakes:
        raise ContractError(dict.fromkeys(mistakes))
    found = {name: each.contract for name, each in zip(chosen, loaded, strict=True) if each.contract is not None}
    return concerned(_contracts(dag, chosen), found)


def _switched_off(dag: Dag, chosen: Sequence[str]) -> dict[str, str]:
    held = {}
    for name in chosen:
        off = [above for above in dag.upstream_of(name) if not dag.members[above].enabled]
        if off:
            held[name] = f"upstream `{off[0]}` is switched off ({dag.members[off[0]].listed_at})"
    return held


def _refuse_windows(contracts: Mapping[str, Contract], dag: Dag, request: Request) -> None:
    problems: list[Problem] = []
    for name, contract in contracts.items():
        try:
            check_request(contract, dag.members[name].layer, request)
        except PlanError as error:
            place = contract.at("materialization")
            problems.append(replace(error.problem, message=f"`{name}`: {error.problem.message}", place=place))
    if problems:
        raise ContractError(problems)
