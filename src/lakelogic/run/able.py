"""What stands in the way of a plan, found before any row moves."""

from __future__ import annotations

from loguru import logger

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.engine.protocol import Engine
from lakelogic.plan.model import Plan


def check_plan(plan: Plan, engine: Engine, *, has_key: bool) -> None:
    """Refuse before any row moves what the engine or the environment cannot do."""
    missing = engine.refuse(plan)
    if missing:
        raise CapabilityError(
            f"engine `{engine.name}` cannot do this: {'; '.join(missing)}", hint="run it with --engine spark"
        )
    if plan.needs_key and not has_key:
        raise RunError(
            "masking by encryption needs a key, and LAKELOGIC_PII_KEY is not set",
            hint="set LAKELOGIC_PII_KEY to a long random secret, and keep it: without it nothing can be decrypted",
            code="LL470",
        )
    if plan.hashes and not has_key:
        logger.warning(
            "LAKELOGIC_PII_KEY is not set: hashes are salted with a public value and can be guessed. Set a key."
        )
    for note in plan.notes:
        logger.debug(note)
