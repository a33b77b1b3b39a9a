"""Explaining: what a run would do, step by step, with the SQL and the origin of every value."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, assert_never

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.loader import load_contract
from lakelogic.contract.mesh import shown_path
from lakelogic.contract.policy_pack import AppliedPack, PackChoice
from lakelogic.core.errors import CapabilityError
from lakelogic.engine.duckdb.render import rewrite
from lakelogic.plan.build import explain_plan
from lakelogic.plan.model import Plan
from lakelogic.plan.types import type_name
from lakelogic.plan.writes import (
    WriteAppend,
    WriteCdc,
    WriteMerge,
    WriteOverwrite,
    WriteOverwritePartitions,
    WriteReplace,
    WriteScd2,
)

# How an engine writes a query; no engine library is needed to say it. Polars has no SQL of its own here: its
# frames are compiled from the tree itself.
_RENDERERS: Mapping[str, Callable[[exp.Expr], exp.Expr]] = {
    "spark": lambda tree: tree,
    "duckdb": rewrite,
    "polars": lambda tree: tree,
}
_DIALECTS = {"polars": "spark"}


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """One segment of the plan."""

    stage: int
    name: str
    label: str
    effect: str
    sql: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan in words and SQL."""

    dataset: str
    engine: str
    fingerprint: str
    steps: tuple[ExplainedStep, ...]
    checks: tuple[tuple[str, str, str], ...]  # name, category, severity
    dataset_checks: tuple[tuple[str, str], ...]  # name, SQL
    columns: tuple[tuple[str, str, str], ...]  # name, type, masking
    write: str
    notes: tuple[str, ...]
    origins: tuple[tuple[str, str], ...]  # path in the contract, who said so
    packs: tuple[AppliedPack, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "engine": self.engine,
            "fingerprint": self.fingerprint,
            "steps": [
                {"stage": s.stage, "name": s.name, "label": s.label, "effect": s.effect, "sql": s.sql}
                for s in self.steps
            ],
            "checks": [{"name": n, "category": c, "severity": s} for n, c, s in self.checks],
            "dataset_checks": [{"name": n, "sql": s} for n, s in self.dataset_checks],
            "columns": [{"name": n, "type": t, "masking": m or None} for n, t, m in self.columns],
            "write": self.write,
            "notes": list(self.notes),
            "origins": [{"path": p, "origin": o} for p, o in self.origins],
            "policy_packs": [asdict(pack) for pack in self.packs],
        }

    def to_text(self) -> str:
        lines = [f"{self.dataset} on {self.engine} (plan {self.fingerprint})", ""]
        for step in self.steps:
            lines += [f"[stage {step.stage}] {step.name}: {step.label} ({step.effect})", _indented(step.sql), ""]
        lines += ["checks", *[f"  {severity:<8} {category:<14} {name}" for name, category, severity in self.checks], ""]
        if self.dataset_checks:
            lines += ["dataset checks", *[f"  {name}: {sql}" for name, sql in self.dataset_checks], ""]
        lines += ["columns", *[f"  {n}: {t}{f' (masked: {m})' if m else ''}" for n, t, m in self.columns], ""]
        lines += [f"write: {self.write}", *[f"note: {note}" for note in self.notes], ""]
        if self.packs:
            packs = [f"  {each.name}: {shown_path(each.file)} ({each.digest})" for each in self.packs]
            lines += ["policy packs", *packs, ""]
        lines += ["where values came from", *[f"  {path}: {origin}" for path, origin in self.origins]]
        return "\n".join(lines)


def explain_contract(
    path: str | os.PathLike[str],
    *,
    engine: str | None = None,
    env: str | None = None,
    stage: str | None = None,
    overrides: Sequence[str] = (),
    packs: PackChoice | None = None,
) -> Explanation:
    """Explain what a run would do to a source that looks as declared; nothing is read but the contract."""
    contract = load_contract(path, env=env, stage=stage, overrides=overrides, packs=packs)
    plan = explain_plan(contract)
    return explain(contract, plan, engine or contract.engine or "spark")


def explain(contract: Contract, plan: Plan, engine: str) -> Explanation:
    if engine not in _RENDERERS:
        known = ", ".join(_RENDERERS)
        raise CapabilityError(f"engine `{engine}` is not supported yet", hint=f"one of: {known}")
    steps = [
        ExplainedStep(number, segment.name, segment.label, segment.effect, _sql(segment.query, engine))
        for number, stage in enumerate(plan.stages, start=1)
        for segment in stage.segments
    ]
    return Explanation(
        dataset=contract.dataset,
        engine=engine,
        fingerprint=plan.fingerprint,
        steps=tuple(steps),
        checks=tuple((check.name, check.category, check.severity) for s in plan.stages for check in s.checks),
        dataset_checks=tuple((check.name, _sql(check.value, engine, pretty=False)) for check in plan.dataset_checks),
        columns=tuple((c.name, type_name(c.type), c.masking or "") for c in plan.output),
        write=_write_words(plan),
        notes=plan.notes,
        origins=_origins(contract),
        packs=contract.policy_packs,
    )


def _sql(query: exp.Expr, engine: str, *, pretty: bool = True) -> str:
    return _RENDERERS[engine](query.copy()).sql(_DIALECTS.get(engine, engine), pretty=pretty)


def _write_words(plan: Plan) -> str:
    match plan.write:
        case None:
            return "nothing, the contract has no target"
        case WriteAppend():
            return "append: the accepted files are added to the target"
        case WriteOverwrite():
            return "overwrite: the accepted files replace the target's"
        case WriteOverwritePartitions():
            return "overwrite_partitions: the accepted files replace the partitions that they belong to"
        case WriteReplace(date_column=date_column, start=start):
            days = "the run's window" if start else "the day of the run"
            return f"replace: the accepted rows replace those whose `{date_column}` is in {days}"
        case WriteCdc(keys=keys, soft_column=soft):
            deletes = f"deleted rows are marked in `{soft}`" if soft else "deleted rows go"
            return f"cdc: change events are applied by {', '.join(keys)}, each key up to its newest; {deletes}"
        case WriteMerge():
            return _merge_words(plan.write)
        case WriteScd2(keys=keys, timestamp=timestamp, tracked=tracked):
            return f"scd2: versions by {', '.join(keys)} from {timestamp}; a change of {', '.join(tracked)} opens one"
        case _:
            assert_never(plan.write)


def _merge_words(write: WriteMerge) -> str:
    order = f", latest by {', '.join(write.order_by)}" if write.order_by else ""
    words = [f"merge by {', '.join(write.keys)}{order}; two rows of one key in a batch: {write.on_duplicate_key}"]
    words += ["rows that are there stay as they are"] if write.insert_only else []
    words += [f"an update changes {', '.join(write.update_columns)}"] if write.update_columns else []
    words += ["rows for which delete_when holds go"] if write.deletes else []
    return "; ".join(words)


def _origins(contract: Contract) -> tuple[tuple[str, str], ...]:
    paths = (
        "dataset", "engine", "source.path", "source.format", "source.load_mode", "schema_policy",
        "quality.on_null", "quality.on_dataset_failure", "materialization.strategy", "materialization.target_path",
        "primary_key", "quarantine.target_path", "lineage.enabled",
    )  # fmt: skip
    named = {path: contract.origin(path) for path in paths}
    inherited = {path: origin for path, origin in contract.inherited() if path not in named}
    return tuple({**named, **inherited}.items())


def _indented(sql: str) -> str:
    return "\n".join(f"    {line}" for line in sql.splitlines())
