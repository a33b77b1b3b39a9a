"""What must hold where a contract says how a run knows what is new."""

from __future__ import annotations

from collections.abc import Iterator

from lakelogic.contract.contract import Contract
from lakelogic.contract.source import Source
from lakelogic.core.errors import Problem

# Strategies for which a row that is read a second time changes nothing.
KEYED = ("merge", "scd2")
OURS = "_lakelogic_"


def reads_by_target(source: Source | None) -> bool:
    """Whether rows are chosen by what the target holds.

    A stamp of ours is the time of a run of the target itself, which cannot say what was read of the source; versions
    of the source can, and are used instead.
    """
    if source is None or source.load_mode != "incremental" or source.watermark_strategy != "max_target":
        return False
    return source.watermark_field is not None and not source.watermark_field.startswith(OURS)


def check_watermark(contract: Contract) -> Iterator[Problem]:
    """Mistakes between load mode, watermark and strategy."""
    source = contract.source
    if source is None:
        return
    personal = [field.name for field in contract.fields if field.pii and field.name == source.watermark_field]
    if personal:
        message = f"`{personal[0]}` is marked `pii`, and the bounds of a watermark stand in journal, run log and errors"
        hint = "go by a column that says nothing about a person"
        yield Problem("LL157", message, contract.at("source.watermark_field"), hint)
    by_target = source.watermark_strategy == "max_target" and source.load_mode == "incremental"
    if by_target:
        yield from _check_target(contract, source)
    elif source.watermark_field is not None and source.type in ("file", "table"):
        message = "`watermark_field` is read by `watermark_strategy: max_target` only, and by databases"
        hint = "take it away: files are known by their identity, tables by their version"
        yield Problem("LL157", message, contract.at("source.watermark_field"), hint)
    if source.lookback is not None:
        yield from _check_lookback(contract, source)


def _check_target(contract: Contract, source: Source) -> Iterator[Problem]:
    place = contract.at("source.watermark_strategy")
    if source.watermark_field is None:
        hint = "name a column that grows with time under source.watermark_field"
        yield Problem("LL157", "`max_target` needs a column to look at", place, hint)
        return
    if source.type not in ("file", "table"):
        message = f"`max_target` works on files and tables, and the source is a {source.type}"
        yield Problem("LL157", message, place, "use `pipeline_log`")
    if not reads_by_target(source):
        if source.type != "table" and source.format != "delta":
            message = f"`{source.watermark_field}` is a stamp of LakeLogic's own tables, and the source is none"
            yield Problem("LL157", message, contract.at("source.watermark_field"), "use `pipeline_log`")
        return
    yield from _check_keyed(contract, "max_target", "source.watermark_strategy")
    masked = [field.name for field in contract.fields if field.masking and field.name == source.watermark_field]
    if masked:
        message = f"`{masked[0]}` is masked in the target, so its newest value cannot be told"
        yield Problem("LL157", message, contract.at("source.watermark_field"), "use `pipeline_log`")


def _check_lookback(contract: Contract, source: Source) -> Iterator[Problem]:
    place = contract.at("source.lookback")
    if source.load_mode != "incremental":
        yield Problem("LL157", "`lookback` is for incremental loads", place, "set `load_mode: incremental`")
    elif source.type == "kafka":
        yield Problem("LL157", "a topic has no `lookback`", place, "take it away; offsets miss nothing")
    elif source.type != "database":  # whose rows are remembered as far back as they are read again
        yield from _check_keyed(contract, "lookback", "source.lookback")


def _check_keyed(contract: Contract, what: str, path: str) -> Iterator[Problem]:
    strategy = contract.materialization.strategy if contract.materialization else "append"
    if strategy not in KEYED:
        message = f"`{what}` reads rows again, and strategy `{strategy}` does not know them by a key"
        hint = "use strategy merge, or `pipeline_log` without lookback, which reads every row once"
        yield Problem("LL157", message, contract.at(path), hint)
