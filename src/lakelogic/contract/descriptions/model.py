"""Of columns."""

from __future__ import annotations

MODEL: dict[str, dict[str, str]] = {
    "Model": {
        "fields": "The columns, in order.",
        "primary_key": "Columns that identify a row.",
    },
    "ModelField": {
        "name": "Name of the column, exactly as in the source.",
        "type": "Type, such as string, int, decimal(12,2), timestamp, array<string>.",
        "required": "A row without a value is rejected.",
        "primary_key": "The column belongs to the primary key.",
        "description": "What the column means; becomes its comment.",
        "default": "Value where the source has none, before `required` is checked.",
        "accepted_values": "The only values allowed.",
        "min": "Smallest value allowed.",
        "max": "Largest value allowed.",
        "pattern": "Regular expression that the text must match.",
        "min_length": "Fewest characters allowed.",
        "max_length": "Most characters allowed.",
        "unique": "No value may occur twice.",
        "foreign_key": "The value must stand in a column of a link.",
        "format": "How text becomes a date or timestamp, such as yyyy-MM-dd.",
        "pii": "The column holds personal data.",
        "masking": "How its values are made unreadable.",
        "aliases": "Other names that a source may use for it.",
        "allowed_values": "Another word for accepted_values.",
        "nullable": "The opposite of required.",
    },
    "Masking": {
        "strategy": "How values are made unreadable.",
        "keep": "Characters that stay readable with partial.",
        "side": "Side on which they stay readable.",
    },
    "ForeignKey": {
        "reference": "Name of the link.",
        "key": "Its column.",
    },
    "SchemaPolicy": {
        "evolution": "How the target's schema may change.",
        "unknown_fields": "What becomes of columns that the model does not know.",
    },
}
