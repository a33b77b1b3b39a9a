"""What a run came to, as an exit code."""

from __future__ import annotations

EXIT_CODES = {"succeeded": 0, "no_new_data": 0, "failed": 4, "gate_failed": 5, "held": 5, "skipped": 0}
