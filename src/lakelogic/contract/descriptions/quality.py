"""Of rules, and of the rows that fail them."""

from __future__ import annotations

QUALITY: dict[str, dict[str, str]] = {
    "Quality": {
        "enforce_required": "Reject rows without a required value.",
        "on_null": "What a rule that evaluates to NULL means.",
        "on_dataset_failure": "What a failed dataset rule does to the publish.",
        "max_quarantine_ratio": "Above this share of rejected rows nothing is published.",
        "row_rules": "Rules for single rows.",
        "dataset_rules": "Rules for all accepted rows together.",
    },
    "_RowRule": {
        "name": "Name in reports and in the quarantine.",
        "category": "Kind of quality it guards.",
        "severity": "error rejects the row, warning keeps and counts it, info only counts.",
        "description": "Message for people instead of the SQL.",
        "phase": "pre: before post transformations; post: after them.",
        "on_null": "What NULL means for this rule.",
    },
    "SqlRule": {"sql": "Condition that a row must fulfil.", "dialect": "SQL dialect of this rule."},
    "NotNull": {"fields": "Columns that need a value.", "category": "Kind of quality it guards."},
    "AcceptedValues": {"field": "Column to check.", "values": "The only values allowed."},
    "RegexMatch": {"field": "Column to check.", "pattern": "Regular expression that it must match."},
    "Range": {
        "field": "Column to check.",
        "min": "Lower limit.",
        "max": "Upper limit.",
        "inclusive": "Whether the limits themselves are allowed.",
    },
    "ReferentialIntegrity": {
        "field": "Column to check.",
        "reference": "Name of the link.",
        "key": "Column of the link.",
    },
    "LifecycleWindow": {
        "event_ts": "Column with the time of the event.",
        "event_key": "Column with the subject of the event.",
        "reference": "Name of the link that knows the subjects.",
        "reference_key": "Its column with the subject.",
        "start_field": "Its column with the start of life.",
        "end_field": "Its column with the end of life.",
        "end_default": "End for subjects that have none.",
    },
    "_DatasetRule": {
        "name": "Name in reports.",
        "severity": "error blocks the publish, warning and info only report.",
        "description": "Message for people.",
    },
    "Unique": {"fields": "Columns whose values may not repeat together."},
    "NullRatio": {"field": "Column to check.", "max": "Largest share of rows without a value, from 0 to 1."},
    "RowCountBetween": {"min": "Fewest rows.", "max": "Most rows."},
    "SqlDatasetRule": {
        "sql": "Query over source that gives one number.",
        "dialect": "SQL dialect of this rule.",
        "must_be": "The number must be exactly this.",
        "must_be_greater_than": "The number must be above this.",
        "must_be_less_than": "The number must be below this.",
        "must_be_between": "Lowest and highest number, both allowed.",
    },
    "Quarantine": {
        "target_path": "Where rejected rows go; by default beside the target.",
        "retention": "How long they are kept, such as 90d.",
        "fail_on_quarantine": "A single rejected row fails the run.",
    },
}
