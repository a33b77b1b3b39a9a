"""Of transformations."""

from __future__ import annotations

STEPS: dict[str, dict[str, str]] = {
    "_Cleaning": {"phase": "pre: before the rules; post: on accepted rows, after the rules."},
    "_Enriching": {"phase": "pre: before the rules; post: on accepted rows, after the rules."},
    "SqlStep": {
        "sql": "A SELECT over source, or expressions that add or replace columns.",
        "dialect": "SQL dialect of this step.",
    },
    "Deduplicate": {
        "on": "Columns that make two rows the same.",
        "order_by": "Order in which keep chooses, such as updated_at desc.",
        "keep": "Which row of a key stays.",
    },
    "Rename": {"mapping": "Old name to new name."},
    "Select": {"columns": "Columns that stay."},
    "Drop": {"columns": "Columns that go."},
    "Cast": {"types": "Column to its new type."},
    "Trim": {"fields": "Columns to trim.", "side": "Side that is trimmed."},
    "Lower": {"fields": "Columns to write in lower case."},
    "Upper": {"fields": "Columns to write in upper case."},
    "Derive": {"columns": "New column to its SQL expression."},
    "CoalesceStep": {
        "field": "Column that takes the value.",
        "sources": "Columns to look into, in order.",
        "default": "Value where none has one.",
    },
    "MapValues": {
        "field": "Column to read.",
        "mapping": "Old value to new value.",
        "default": "Value for all that are not listed; without it they stay.",
        "output": "Column to write; the same where it is not given.",
    },
    "Filter": {"sql": "Condition for rows that stay."},
    "Split": {
        "field": "Column to cut.",
        "delimiter": "Text to cut at.",
        "output": "Column for the array; the same where it is not given.",
    },
    "Explode": {
        "field": "Array to unfold.",
        "output": "Column for the element; the same where it is not given.",
    },
    "JsonExtract": {
        "field": "Column to write.",
        "source": "Column with the JSON text.",
        "json_path": "Path of the value, such as $.lat.",
        "cast": "Type of the value.",
    },
    "Bin": {
        "lt": "Less than this.",
        "lte": "This or less.",
        "gt": "More than this.",
        "gte": "This or more.",
        "label": "Name of the band.",
    },
    "Bucket": {
        "field": "Column for the label.",
        "source": "Column to sort into bands.",
        "bins": "The bands; the first that fits wins.",
        "default": "Label where no band fits.",
    },
    "DateDiff": {
        "field": "Column for the difference.",
        "from_": "Column with the start.",
        "to": "Column with the end.",
        "unit": "Unit to count in.",
    },
    "DateRangeExplode": {
        "start": "Column with the first day.",
        "end": "Column with the last day, included.",
        "interval": "Step from one row to the next, such as 1d.",
        "output": "Column for the day.",
    },
    "Lookup": {
        "field": "Column for the value.",
        "reference": "Name of the link.",
        "on": "Column of the rows.",
        "key": "Column of the link to compare it with.",
        "value": "Column of the link to fetch.",
        "default": "Value where the link has no such key.",
    },
    "Join": {
        "reference": "Name of the link.",
        "on": "Column, list of columns, or SQL condition.",
        "key": "Columns of the link where they are called differently.",
        "fields": "Columns of the link to take; all where none are given.",
        "type": "left keeps rows without a match, inner removes them.",
        "prefix": "Text in front of the names of the taken columns.",
        "defaults": "Column to its value where there is no match.",
    },
    "Pivot": {
        "on": "Column whose values become columns.",
        "values": "Those values.",
        "aggregate": "SQL aggregate for the cells, such as SUM(v).",
        "group_by": "Columns that make a row.",
    },
    "Unpivot": {
        "columns": "Columns that become rows.",
        "name": "Column for their names.",
        "value": "Column for their values.",
    },
    "WindowStep": {
        "partition_by": "Columns that divide the rows.",
        "order_by": "Order within each part.",
        "columns": "New column to its window function.",
    },
    "Rollup": {
        "group_by": "Columns that make a group.",
        "aggregations": "New column to its aggregate.",
        "keys": "Source keys to keep with each group, for drill-down.",
    },
    "Union": {"links": "Links whose rows are added."},
    "ExternalLogic": {
        "type": "What kind of code it is.",
        "path": "Where it is.",
        "entrypoint": "Function to call.",
        "args": "Arguments for it.",
    },
}
