"""The end of the path: what lands in the target, masked and stamped, and the stages closed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from lakelogic.contract.contract import Contract
from lakelogic.contract.raw import PAYLOAD as RAW_PAYLOAD
from lakelogic.contract.raw import RAW_COLUMNS
from lakelogic.plan.envelopes import PAYLOAD
from lakelogic.plan.events import event_outputs, reads_envelopes
from lakelogic.plan.expressions import alias, null_of
from lakelogic.plan.fact_columns import fact_columns
from lakelogic.plan.lineage import lineage_outputs
from lakelogic.plan.masking import HASHES, NEEDS_KEY, mask_output
from lakelogic.plan.model import HELPER_COLUMNS, HIDDEN_PREFIX, RAW_COLUMN, Column, Stage
from lakelogic.plan.placement import place_output
from lakelogic.plan.relation import Relation
from lakelogic.plan.schema_gate import Gate, rename_aliases
from lakelogic.plan.stage_builder import Output, StageBuilder, keep
from lakelogic.plan.steps.effects import made_columns
from lakelogic.plan.types import named, string_type
from lakelogic.plan.verdict import Owner, Secrecy, close_stage
from lakelogic.plan.workbench import Workbench, is_carried


@dataclass(frozen=True, slots=True)
class Finish:
    """The closed stages."""

    stages: tuple[Stage, ...]
    needs_key: bool
    hashes: bool
    personal: tuple[str, ...]


def finish_stages(bench: Workbench, gate: Gate, *, has_key: bool, barrier: bool) -> Finish:
    """Close every stage; `barrier` adds one, so that dataset rules see values before they are masked."""
    if barrier:
        bench.barrier()
    contract = bench.contract
    outputs = _target_columns(bench, gate)
    secrecy = Secrecy(_personal(bench, gate), has_key)
    owner = Owner(contract.dataset, contract.version)
    stages = [close_stage(b, _carried(b, gate), gate.columns, secrecy, owner) for b in bench.done]
    partition_by = _partition_by(contract)
    stages.append(close_stage(bench.builder, outputs, gate.columns, secrecy, owner, partition_by=partition_by))
    strategies = {field.masking.strategy for field in contract.fields if field.masking is not None}
    personal = tuple(c.name for c in gate.columns if c.name in secrecy.personal and c.masking is None)
    return Finish(_same_quarantine(stages), bool(strategies & NEEDS_KEY), bool(strategies & HASHES), personal)


def _same_quarantine(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Rows that a later step made have columns of their own; all stages write files of one shape."""
    found: dict[str, Column] = {}
    for stage in stages:
        for c in stage.quarantine_columns:
            found.setdefault(c.name, c)
    ordered = sorted(found.values(), key=lambda c: c.name.startswith(HIDDEN_PREFIX))
    return tuple(_with_columns(stage, ordered) for stage in stages)


def _with_columns(stage: Stage, wanted: Sequence[Column]) -> Stage:
    assert isinstance(stage.quarantine, exp.Select)
    given = {node.alias: node for node in stage.quarantine.selects}
    values = [given.get(c.name) or alias(null_of(c.type), c.name) for c in wanted]
    return replace(stage, quarantine=stage.quarantine.select(*values, append=False), quarantine_columns=tuple(wanted))


def _carried(builder: StageBuilder, gate: Gate) -> list[Output]:
    """Between stages nothing is masked or stamped yet; what was read comes along."""
    types = {f"{RAW_COLUMN}{number}": c.type for number, c in enumerate(gate.columns)}
    types |= {name: named(type_) for name, type_ in HELPER_COLUMNS.items()}
    hidden = [Column(n, types.get(n, string_type())) for n in builder.relation.hidden if is_carried(n)]
    return [keep(c) for c in (*builder.relation.columns, *hidden)]


def _target_columns(bench: Workbench, gate: Gate) -> list[Output]:
    contract, relation = bench.contract, bench.relation
    outputs = []
    for found in _ordered(relation, contract):
        if _only_read(found.name, bench, gate):
            continue
        field = contract.model.field(found.name)
        if field is not None and field.masking is not None and found.masking is None:
            outputs.append(mask_output(found, field.masking))
        else:
            outputs.append(place_output(found, contract))
    helpers = [keep(Column(name, named(type_))) for name, type_ in HELPER_COLUMNS.items() if name in relation.hidden]
    lineage = lineage_outputs(contract.lineage, contract.version, relation.hidden)
    return [*outputs, *fact_columns(bench), *lineage, *event_outputs(bench), *helpers]


def _partition_by(contract: Contract) -> tuple[str, ...]:
    """The folders of the staged files: those of the table, where the files become the table's own."""
    target = contract.materialization
    # The versions of a history are made of staged rows; these are not adopted.
    return () if target is None or target.strategy == "scd2" else target.partition_by


def _ordered(relation: Relation, contract: Contract) -> list[Column]:
    """Declared columns first, in the model's order, then the others as they come."""
    declared = [found for field in contract.fields if (found := relation.find(field.name)) is not None]
    names = {c.name for c in declared}
    return [*declared, *[c for c in relation.columns if c.name not in names]]


def _only_read(name: str, bench: Workbench, gate: Gate) -> bool:
    """A source column that nobody declared and that was read only because a step or rule needs it."""
    contract = bench.contract
    if contract.model.field(name) is not None or not (contract.fields or contract.is_raw):
        return False
    if contract.is_raw and name in RAW_COLUMNS:
        return False
    if contract.source is not None and contract.source.columns == "all":
        return False
    made: frozenset[str] = frozenset()
    for step in contract.transformations:
        made |= made_columns(step, contract.dialect)
    return (reads_envelopes(contract) or name in {c.name for c in gate.columns}) and name not in made


def _personal(bench: Workbench, gate: Gate) -> frozenset[str]:
    """Source columns that personal fields are made of, through renames and expressions."""
    aliases = {declared: source for source, declared in rename_aliases(gate, bench.contract).items()}
    found: set[str] = set()
    for field in bench.contract.fields:
        if not (field.pii or field.masking is not None):
            continue
        found |= {field.name, *field.aliases, aliases.get(field.name, field.name)}
        found |= {"before", "after", PAYLOAD, RAW_PAYLOAD} if reads_envelopes(bench.contract) else set()
        for builder in [*bench.done, bench.builder]:
            if builder.relation.find(field.name) is not None:
                found |= builder.relation.origin(field.name)
    return frozenset(found)
