"""From a contract to a plan. `compile_contract` reads like the life of a row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.materialization import Materialization
from lakelogic.core.errors import ContractError, PlanError, Problem
from lakelogic.core.watermark import Watermark
from lakelogic.core.window import Window
from lakelogic.plan.casting import CastRequest
from lakelogic.plan.database_sql import find_query_mistakes
from lakelogic.plan.dataset_rules import columns_of, compile_dataset_rule, unique_check
from lakelogic.plan.envelopes import envelope_gate
from lakelogic.plan.events import reads_envelopes, soft_columns
from lakelogic.plan.finish import Finish, finish_stages
from lakelogic.plan.history import date_deletes, history_columns, plan_history
from lakelogic.plan.history_checks import check_history
from lakelogic.plan.intake import start_stage
from lakelogic.plan.judge import judge_rows
from lakelogic.plan.layout import find_layout_mistakes
from lakelogic.plan.lineage import lineage_outputs
from lakelogic.plan.merging import merge_write, prepare_merge
from lakelogic.plan.model import Column, DatasetCheck, LinkRead, Plan, SourceFacts, table_columns
from lakelogic.plan.narrow import BY_DAY, check_window, keep_newer, last_maker, narrow_rows, window_column, window_texts
from lakelogic.plan.raw import check_raw_step, raw_gate
from lakelogic.plan.relation import Relation
from lakelogic.plan.schema_gate import Gate, assumed_columns, pass_gate
from lakelogic.plan.sql import SqlProblem, parse_expression
from lakelogic.plan.steps import compile_step
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import family, named, parse_type, type_name
from lakelogic.plan.views import find_view_mistakes
from lakelogic.plan.workbench import Workbench
from lakelogic.plan.writes import (
    Write,
    WriteAppend,
    WriteCdc,
    WriteOverwrite,
    WriteOverwritePartitions,
    WriteReplace,
)


def build_plan(
    contract: Contract,
    facts: SourceFacts,
    links: Mapping[str, tuple[Column, ...]],
    *,
    window: Window | None = None,
    watermark: Watermark | None = None,
    has_key: bool = False,
) -> Plan:
    """Choose the steps that carry out a contract on this source; raises with every mistake at once."""
    if window is not None:
        check_window(contract, window)
    gate = _gate(contract, facts)
    _require_partitions(contract, gate)
    bench, checks = _compile(contract, gate, links, text=facts.text, facts=facts, window=window, watermark=watermark)
    return _finish(bench, gate, checks, has_key=has_key, facts=facts)


def _gate(contract: Contract, facts: SourceFacts) -> Gate:
    if contract.is_raw:
        return raw_gate(contract, facts)
    return envelope_gate(facts) if reads_envelopes(contract) else pass_gate(contract, facts)


def check_contract(contract: Contract) -> tuple[Problem, ...]:
    """All mistakes that can be found without a look at the source."""
    bench, _ = _compile(contract, _assumed(contract), {}, text=True, facts=None, checking=True)
    known = _declared_names(bench)
    return (
        *find_query_mistakes(contract),
        *bench.problems,
        *find_view_mistakes(contract, known),
        *find_layout_mistakes(contract, known),
    )


def _assumed(contract: Contract) -> Gate:
    return envelope_gate(None) if reads_envelopes(contract) else assumed_columns(contract)


def _declared_names(bench: Workbench) -> tuple[str, ...] | None:
    """The author's columns of the target; None where the source or the strategy adds some of its own."""
    contract = bench.contract
    strategy = contract.materialization.strategy if contract.materialization else "append"
    everything = contract.source is not None and contract.source.columns == "all"
    if not contract.fields or everything or strategy not in ("append", "merge", "overwrite", "overwrite_partitions"):
        return None
    return bench.relation.names


def explain_plan(
    contract: Contract, *, links: Mapping[str, tuple[Column, ...]] | None = None, has_key: bool = True
) -> Plan:
    """The plan for a source that looks as declared."""
    gate = _assumed(contract)
    bench, checks = _compile(contract, gate, links or {}, text=True, facts=None)
    return _finish(bench, gate, checks, has_key=has_key, facts=None)


def _compile(
    contract: Contract,
    gate: Gate,
    links: Mapping[str, tuple[Column, ...]],
    *,
    text: bool,
    facts: SourceFacts | None,
    window: Window | None = None,
    watermark: Watermark | None = None,
    checking: bool = False,
) -> tuple[Workbench, tuple[DatasetCheck, ...]]:
    """The life of a row up to its verdict."""
    relations = {link.name: _link_relation(link.name, links, link.columns) for link in contract.links}
    bench = start_stage(contract, gate, relations, text=text, facts=facts, checking=checking)
    bench.window, bench.watermark = window, watermark
    _narrow_after(bench, None)
    _run_steps(bench, "pre")
    judge_rows(bench, "pre", text=text)
    bench.builder.book.phase = "post"
    _run_steps(bench, "post")
    judge_rows(bench, "post", text=False)
    prepare_merge(bench)
    date_deletes(bench)
    check_history(bench)
    return bench, _dataset_checks(bench, bench.relation)


def _finish(
    bench: Workbench,
    gate: Gate,
    checks: tuple[DatasetCheck, ...],
    *,
    has_key: bool,
    facts: SourceFacts | None,
) -> Plan:
    contract = bench.contract
    masked = {field.name for field in contract.fields if field.masking is not None}
    needs_clear = any(columns_of(check) & masked for check in checks)
    finish = finish_stages(bench, gate, has_key=has_key, barrier=needs_clear)
    write = _write(bench, finish)
    plan = Plan(
        dataset=contract.dataset,
        fingerprint="",
        links=tuple(_link_read(bench, index) for index in range(len(contract.links))),
        stages=finish.stages,
        dataset_checks=checks,
        write=write,
        output=history_columns(write, table_columns(finish.stages[-1].output)),
        judged_stage=len(finish.stages) - (2 if needs_clear else 1),
        read=_read_columns(contract, gate, facts),
        personal=finish.personal,
        hashes=finish.hashes,
        needs_key=finish.needs_key,
        drift=gate.drift,
        notes=tuple(bench.notes),
    )
    if bench.problems:
        raise ContractError(bench.problems)
    return _with_fingerprint(plan)


def _read_columns(contract: Contract, gate: Gate, facts: SourceFacts | None) -> tuple[Column, ...]:
    """What leaves the source: the columns behind the gate, and upstream lineage that the contract keeps."""
    kept = contract.lineage.preserve_upstream if contract.lineage.enabled else ()
    there = facts.columns if facts else ()
    in_files = [c for c in gate.columns if c.name not in gate.in_path]
    return (*in_files, *[c for c in there if c.name in kept])


def _run_steps(bench: Workbench, phase: str) -> None:
    """The steps of a phase in order; a declared column is cast after the last step that makes it."""
    contract = bench.contract
    steps = [(at, step) for at, step in enumerate(contract.transformations) if step.phase == phase]
    made = [made_columns(step, contract.dialect) for _, step in steps]
    for index, (at, step) in enumerate(steps):
        before = len(bench.builder.segments), len(bench.done)
        compile_step(step, bench)
        check_raw_step(bench, step, *before)
        later = frozenset().union(*made[index + 1 :])
        _cast_made(bench, made[index] - later)
        _narrow_after(bench, at)


def _narrow_after(bench: Workbench, position: int | None) -> None:
    """A run for a window drops the other rows once their date is made; None: as soon as they are read."""
    name = window_column(bench.contract, bench.window)
    if name is not None and bench.window is not None and last_maker(bench.contract, name) == position:
        with bench.reporting("materialization.reprocess.date_column"):
            narrow_rows(bench, name, bench.window)
    watermark = bench.watermark
    if watermark is not None and last_maker(bench.contract, watermark.field) == position:
        with bench.reporting("source.watermark_field"):
            keep_newer(bench, watermark)


def _cast_made(bench: Workbench, names: frozenset[str]) -> None:
    requests = []
    enforced = bench.contract.enforces_required
    for field in bench.contract.fields:
        if field.name not in names:
            continue
        found = bench.relation.find(field.name)
        wanted = parse_type(field.type)
        if found is None or wanted is None:
            continue
        requests.append(
            CastRequest(
                found, wanted, pattern=field.format, personal=field.pii, required=field.required and enforced,
                comment=field.description,
            )
        )  # fmt: skip
    if requests:
        bench.cast_columns("cast " + ", ".join(request.source.name for request in requests), requests)


def _dataset_checks(bench: Workbench, relation: Relation) -> tuple[DatasetCheck, ...]:
    checks: list[DatasetCheck] = []
    for index, field in enumerate(bench.contract.fields):
        if field.unique:
            with bench.reporting(f"model.fields.{index}.unique"):
                checks.append(unique_check((field.name,), relation))
    for rule in bench.contract.quality.dataset_rules:
        with bench.reporting(f"{rule.path}.{rule.kind}"):
            checks.append(compile_dataset_rule(rule, relation, bench.contract.dialect))
    return tuple(checks)


def _write(bench: Workbench, finish: Finish) -> Write | None:
    materialization = bench.contract.materialization
    if materialization is None or materialization.target_path is None:
        return None
    write = _chosen(bench, materialization, finish.stages[-1].output)
    names = {c.name for c in history_columns(write, finish.stages[-1].output)}
    for index, name in enumerate(materialization.partition_by):
        if name not in names and bench.relation.closed:
            problem = SqlProblem("LL238", f"the partition column `{name}` is not in the output")
            bench.problems.append(problem.at(bench.contract.at(f"materialization.partition_by.{index}")))
    _check_date_column(bench, finish)
    return write


def _chosen(bench: Workbench, materialization: Materialization, staged: tuple[Column, ...]) -> Write:
    reprocess, window = materialization.reprocess, bench.window
    if window is not None and reprocess is not None and materialization.strategy in BY_DAY:
        found = next((c.type for c in staged if c.name == reprocess.date_column), named("date"))
        return WriteReplace(reprocess.date_column, *window_texts(window, found))
    match materialization.strategy:
        case "overwrite":
            return WriteOverwrite()
        case "overwrite_partitions":
            return WriteOverwritePartitions()
        case "snapshot":
            days = (window.first_day.isoformat(), window.day_after.isoformat()) if window else ("", "")
            return WriteReplace(materialization.snapshot.date_column, *days)
        case "cdc":
            return WriteCdc(bench.contract.primary_key, *soft_columns(bench.contract), personal=bench.contract.personal)
        case "merge":
            return merge_write(bench, staged)
        case "scd2":
            contract = bench.contract
            lineage = lineage_outputs(contract.lineage, contract.version, bench.relation.hidden)
            return plan_history(contract, staged, [output.column.name for output in lineage])
        case _:
            return WriteAppend()


def _check_date_column(bench: Workbench, finish: Finish) -> None:
    """What a window replaces is looked for in the target, so its column must get there as a date."""
    assert bench.contract.materialization is not None
    reprocess = bench.contract.materialization.reprocess
    if reprocess is None or bench.window is not None:
        return  # a run for a window looked at the column when it narrowed the rows
    found = next((c for c in finish.stages[-1].output if c.name == reprocess.date_column), None)
    where = bench.contract.at("materialization.reprocess.date_column")
    if found is None and bench.relation.closed:
        problem = SqlProblem("LL239", f"the date column `{reprocess.date_column}` is not in the output")
        bench.problems.append(problem.at(where))
    elif found is not None and family(found.type) not in {"date", "timestamp", "unknown"} and bench.relation.closed:
        problem = SqlProblem("LL239", f"`{found.name}` is {type_name(found.type)}, and a window is of dates")
        bench.problems.append(problem.at(where))


def _require_partitions(contract: Contract, gate: Gate) -> None:
    """A partition column that the source lost would put every row into one partition, and replace that."""
    wanted = contract.materialization.partition_by if contract.materialization else ()
    lost = [field.name for field in gate.missing if field.name in wanted and field.default is None]
    if lost:
        raise PlanError(
            f"the partition column `{lost[0]}` is not in the source",
            where=contract.at(f"materialization.partition_by.{wanted.index(lost[0])}"),
            hint="make it in a step, give the field a default, or take it out of partition_by",
            code="LL320",
        )


def _link_relation(name: str, facts: Mapping[str, tuple[Column, ...]], columns: Sequence[str]) -> Relation:
    if name in facts:
        return Relation(name, facts[name])
    return Relation(name, tuple(Column(c, named("unknown")) for c in columns), closed=False)


def _link_read(bench: Workbench, index: int) -> LinkRead:
    link = bench.contract.links[index]
    condition: exp.Expr | None = None
    if link.filter is not None:
        with bench.reporting(f"links.{index}.filter"):
            condition = parse_expression(link.filter, bench.contract.dialect)
    options = {key: str(value) for key, value in link.options.items()}
    return LinkRead(link.name, link.path or "", link.format, link.columns, condition, link.broadcast, options)


def _with_fingerprint(plan: Plan) -> Plan:
    """A digest of what will happen: two plans with the same one do the same to the same rows."""
    parts = [plan.dataset, repr(plan.write)]
    for stage in plan.stages:
        parts += [segment.query.sql("spark") for segment in stage.segments]
        parts += [f"{c.bit}|{c.name}|{c.message}|{c.severity}" for c in stage.checks]
    parts += [
        f"{check.name}|{check.value.sql('spark')}|{check.minimum}|{check.maximum}" for check in plan.dataset_checks
    ]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
    return Plan(**{**{f: getattr(plan, f) for f in plan.__slots__}, "fingerprint": digest})
