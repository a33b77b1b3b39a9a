"""Of what readers may rely on, and what the law asks."""

from __future__ import annotations

PROMISES: dict[str, dict[str, str]] = {
    "ServiceLevels": {
        "freshness_hours": "How old the newest row may be, in hours.",
        "freshness": "The same with a column to look at.",
        "row_count": "How many rows a run should bring.",
        "completeness": "Column to its smallest share of rows with a value.",
        "availability": "Share of runs that succeed.",
        "schedule": "When the dataset is updated, as a cron expression.",
        "anomaly": "Which numbers are compared with their history.",
        "max_delay_seconds": "Longest delay from event to table.",
        "min_daily_volume": "Fewest rows per day.",
        "max_null_rate_pct": "Largest percentage of missing values.",
    },
    "Freshness": {"threshold": "How old, such as 24h.", "field": "Column with the time of a row."},
    "RowCountLimits": {"min": "Fewest rows.", "max": "Most rows."},
    "Anomaly": {
        "metrics": "Numbers to watch.",
        "method": "How they are compared.",
        "sensitivity": "How far off is too far.",
        "history": "How many runs they are compared with.",
    },
    "BreakingChangePolicy": {
        "notice_days": "Days between announcement and change.",
        "approval_required_from": "Who must agree.",
        "migration_support": "Whether readers get help.",
    },
    "Notification": {
        "on": "Events to tell about.",
        "to": "Where to send it.",
        "template": "Text of the message.",
    },
    "Compliance": {
        "regulations": "Laws that apply.",
        "legal_basis": "Why the data may be processed.",
        "retention": "How long it may be kept, such as 400d.",
        "subject_key": "Column that identifies a person.",
        "ai_act": "What the EU AI Act asks to be declared.",
    },
    "Cost": {"budget_monthly": "Budget per month.", "currency": "Currency of the budget."},
    "Resilience": {
        "retries": "How often a failed run is tried again.",
        "backoff": "First pause between tries, such as 2s.",
        "timeout": "Time limit of a run, such as 30m.",
        "max_consecutive_failures": "After this many the contract is paused.",
    },
    "View": {
        "name": "Name of the view.",
        "columns": "Column to the SQL that hides it.",
        "grant_select": "Who may read it.",
    },
    "ContractTest": {
        "name": "What the test shows.",
        "given": "Rows to check.",
        "expect": "What should become of them.",
    },
    "Expectation": {
        "accepted": "Number of accepted rows.",
        "quarantined": "Number of rejected rows.",
        "rules": "Rules that should reject.",
    },
}
