"""What will happen: the frozen plan that the executor carries out and the explainer prints.

A plan knows no run id, no clock and no secret. Where a query needs one it holds a named placeholder
(``BINDINGS``) that the executor replaces when the run starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from lakelogic.core.events import Event
from lakelogic.plan.writes import Write

Severity = Literal["error", "warning", "info", "flag"]
FLAG_SEVERITY: Severity = "flag"  # of an error whose row is kept, with the failure in a column (dq_flags)
CheckKind = Literal["malformed", "cast", "required", "rule", "rule_error", "step_error", "schema", "key"]
Phase = Literal["pre", "post"]  # before or after the post transformations
Effect = Literal["same", "removes", "adds", "changes"]

# Columns that the engine adds to every relation it reads; authors never see them.
HIDDEN_PREFIX = "_lakelogic_"
SOURCE_COLUMN = "_lakelogic_source"  # path or table the row came from (STRING)
RECORD_COLUMN = "_lakelogic_record"  # text sources: the line as read, only where it is malformed or kept (STRING)
MALFORMED_COLUMN = "_lakelogic_malformed"  # text sources: why the line could not be split, else NULL (STRING)
RAW_COLUMN = "_lakelogic_raw_"  # + number: the source columns as read, carried through the steps
KEPT_COLUMN = "_lakelogic_kept_"  # + part: what is kept of a rejected row beside its values; see plan/fold.py
FLAG_COLUMN = "_lakelogic_flags"  # why a kept row failed rules of the stages before (STRING)
FAILED_COLUMN = "_lakelogic_failed_"  # + number: bit masks of failed checks, 62 checks each (BIGINT)

# Columns of the last relation of a stage, beside the output columns.
VERDICT_COLUMN = "lakelogic_verdict"  # STRING, 'accepted' | 'rejected'; the engine splits the files by it
REJECTED_COLUMN = "_lakelogic_rejected"  # NULL for accepted rows; see plan/fold.py
ACCEPTED, REJECTED = "accepted", "rejected"
CHECKS_PER_MASK = 62

# Columns of accepted files that tell the table what to do with a row; the table itself does not have them.
DELETE_COLUMN = "_lakelogic_delete"  # BOOLEAN, never NULL: the row of this key is to go; without a key: all rows
EVENT_TIME_COLUMN = "_lakelogic_event_time"  # TIMESTAMP: when a change happened at its source
UNCHANGED_COLUMN = "_lakelogic_unchanged"  # STRING: `,a,b,`: columns whose value the event does not tell, else NULL
HELPER_COLUMNS = {DELETE_COLUMN: "boolean", EVENT_TIME_COLUMN: "timestamp", UNCHANGED_COLUMN: "string"}
# Columns that the target of change events keeps, sortable text: the event that a row's values are from, and the
# newest delete of its key (with soft deletes).
POSITION_COLUMN = "_lakelogic_position"
DELETED_POSITION_COLUMN = "_lakelogic_deleted_position"
OPERATION_COLUMN = "_lakelogic_operation"  # while a plan runs: 'upsert' | 'delete' | 'truncate', NULL where unknown

# Functions that an engine supplies, because only it may hold the key. All take and give STRING; NULL stays NULL.
SURE_FUNCTION = "LAKELOGIC_SURE"  # (failed, value): the value; ends the run where `failed` is true
HMAC_FUNCTION = "LAKELOGIC_HMAC"  # 64 hex digits: HMAC-SHA-256 of the UTF-8 text under the hash key
ENCRYPT_FUNCTION = "LAKELOGIC_ENCRYPT"  # 'enc:' + base64(iv 12 bytes, ciphertext, tag 16 bytes), AES-256-GCM, random iv
ENCRYPT_SAME_FUNCTION = "LAKELOGIC_ENCRYPT_SAME"  # the same form; iv = first 12 bytes of the HMAC under the iv key
DECRYPT_FUNCTION = "LAKELOGIC_DECRYPT"  # the inverse of both; NULL where the text is not ours

# Placeholders that stand in queries until the run starts: exp.Placeholder(this=name).
BINDINGS = ("run_id", "processed_at", "now", "today")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a relation or table, with its type in sqlglot's terms."""

    name: str
    type: exp.DataType
    nullable: bool = True
    comment: str | None = None
    masking: str | None = None  # strategy its values went through already; kept as metadata of table columns


def table_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """The columns that a table has, out of those that accepted files have."""
    return tuple(column for column in columns if column.name not in HELPER_COLUMNS)


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What a source looks like before it is read."""

    columns: tuple[Column, ...]  # text formats: every column STRING
    text: bool  # rows come from text: RECORD_COLUMN and MALFORMED_COLUMN are there
    records: bool = False  # RECORD_COLUMN holds every record, not only malformed ones (ReadSpec.raw)
    in_path: tuple[str, ...] = ()  # columns of the files' folders: `day` of `day=2026-11-01/a.csv`


@dataclass(frozen=True, slots=True)
class Check:
    """One way in which a row can fail; owns one bit of the failure masks."""

    bit: int
    name: str
    message: str
    category: str
    kind: CheckKind
    severity: Severity = "error"
    column: str | None = None  # the column it speaks of, where there is one
    wanted_type: str | None = None  # for casts
    shows_value: bool = False  # append the value as read to the message (never for personal data)
    phase: Phase = "pre"


@dataclass(frozen=True, slots=True)
class Segment:
    """A query over the relations named before it; `counted` ones are points of the ledger."""

    name: str  # the relation name that later segments select from
    query: exp.Query
    columns: tuple[Column, ...]
    label: str  # for explain and the ledger: "filter status <> 'test'"
    effect: Effect = "same"
    counted: bool = False
    checked: exp.Query | None = None  # for engines whose operators give NULL where Spark's raise

    @property
    def local_query(self) -> exp.Query:
        """The query as engines other than Spark run it."""
        return self.checked if self.checked is not None else self.query


@dataclass(frozen=True, slots=True)
class Observation:
    """A number taken from rows while they pass by on their way to the files."""

    name: str  # "failed:<check name>"
    aggregate: exp.Expr  # e.g. SUM(CASE WHEN ... THEN 1 ELSE 0 END)


@dataclass(frozen=True, slots=True)
class Stage:
    """One distributed job: its input relation, the segments over it, and files split by verdict.

    The last segment yields: output columns, VERDICT_COLUMN, REJECTED_COLUMN.
    """

    input: str  # "source" for the first stage, "accepted" for the second
    segments: tuple[Segment, ...]
    output: tuple[Column, ...]  # columns of the accepted files, without verdict and rejected
    partition_by: tuple[str, ...] = ()
    observations: tuple[Observation, ...] = ()  # failures of warning and info checks, over segment `observed_at`
    observed_at: str | None = None
    unfold: exp.Query | None = None  # over relation "rejected" (the rejected files): gives relation "unfolded"
    rejected_counts: tuple[Observation, ...] = ()  # over relation "unfolded": failures of error checks
    quarantine: exp.Query | None = None  # over relation "unfolded": the quarantine's rows
    quarantine_columns: tuple[Column, ...] = ()
    checks: tuple[Check, ...] = ()
    mask_count: int = 1


@dataclass(frozen=True, slots=True)
class LinkRead:
    """A further relation, registered under its name before the first segment runs."""

    name: str
    path: str
    format: str | None
    columns: tuple[str, ...] = ()  # empty: all
    filter: exp.Expr | None = None
    broadcast: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    version: int | None = None  # of a Delta table; None: the newest


@dataclass(frozen=True, slots=True)
class DatasetCheck:
    """A number over the accepted rows, and the bounds (inclusive) it must keep."""

    name: str
    value: exp.Expr  # scalar expression or scalar subquery over relation "accepted"
    message: str
    severity: Severity = "error"
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run of one contract will do, before any row moves."""

    dataset: str
    fingerprint: str
    links: tuple[LinkRead, ...]
    stages: tuple[Stage, ...]  # one, or two where a post step needs all accepted rows first
    dataset_checks: tuple[DatasetCheck, ...]
    write: Write | None  # None: check only
    output: tuple[Column, ...]  # the target's columns
    judged_stage: int = -1  # whose accepted rows the dataset checks are about
    read: tuple[Column, ...] = ()  # the source columns that a run reads
    personal: tuple[str, ...] = ()  # quarantine columns that are encrypted when there is a key
    hashes: bool = False  # masking that is weak without a key
    needs_key: bool = False  # masking that cannot work without LAKELOGIC_PII_KEY
    drift: tuple[Event, ...] = ()  # how the source differs from what is declared
    notes: tuple[str, ...] = ()  # what explain should say: where casts stand, fallbacks chosen
