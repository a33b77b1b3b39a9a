"""Of where rows land."""

from __future__ import annotations

TARGET: dict[str, dict[str, str]] = {
    "Materialization": {
        "strategy": "How accepted rows change the target.",
        "target_path": "Folder, URL or catalog.schema.table.",
        "format": "Table format.",
        "primary_key": "Columns that identify a row.",
        "partition_by": "Columns that divide the table into folders.",
        "cluster_by": "Columns to keep close together in files.",
        "table_properties": "Properties of the table.",
        "merge": "How an upsert chooses and what it changes.",
        "scd2": "How a history of versions is kept.",
        "soft_delete": "Columns that mark deleted rows.",
        "reprocess": "What a window replaces.",
        "snapshot": "How strategy snapshot names its day.",
        "late_arrival": "When a row counts as late.",
        "dq_flags": "Keep the verdict on every row instead of only routing.",
        "maintenance": "How the table is kept in shape.",
        "unknown_member": "Values of the row that stands for a missing dimension.",
    },
    "Merge": {
        "order_by": "Order among rows of one key; the latest wins.",
        "on_duplicate_key": "What happens when a batch has a key twice.",
        "update_columns": "Columns that an update may change; all where this is left out.",
        "insert_only": "Leave rows that are there already as they are.",
        "delete_when": "SQL condition for rows that delete their key.",
        "delete_missing": "Delete rows whose key is not in the batch, which must be a full load.",
        "max_delete_ratio": "Above this share of deleted rows nothing is published.",
    },
    "Scd2": {
        "track_columns": "Columns whose change opens a version.",
        "timestamp_field": "Column with the time of the change.",
        "effective_from_field": "Column for the start of a version.",
        "effective_to_field": "Column for its end.",
        "current_flag_field": "Column that marks the open version.",
        "version_column": "Column for the version's number.",
        "effective_to_default": "End of the open version.",
        "surrogate_key": "Column for a key of each version.",
        "on_delete": "What a delete does to the open version.",
    },
    "SoftDelete": {
        "column": "Column that marks a deleted row.",
        "time_column": "Column for the time of the delete.",
        "reason_column": "Column for its reason.",
    },
    "Reprocess": {
        "date_column": "Column that the window is compared with.",
        "timezone": "Zone whose days are meant, such as Europe/Berlin; UTC where none is given.",
    },
    "Snapshot": {"date_column": "Column that the strategy adds, with the day that the snapshot is of."},
    "LateArrival": {
        "event_time": "Column with the time of the event.",
        "after": "From which delay on it is late, such as 1d.",
    },
    "Maintenance": {
        "optimize": "How often small files are put together, at most.",
        "zorder_by": "Columns to sort files by.",
        "vacuum_retain": "How long old files stay, such as 168h.",
    },
    "Lineage": {
        "enabled": "Add lineage columns.",
        "capture_run_id": "Add _lakelogic_run_id.",
        "capture_source_path": "Add _lakelogic_source.",
        "capture_processed_at": "Add _lakelogic_processed_at.",
        "preserve_upstream": "Lineage columns of the source to keep.",
        "columns": "Lineage column to the name you want for it.",
    },
}
