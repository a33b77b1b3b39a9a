"""Approval files: who lets which held batch through, and until when.

YAML or JSON, `approvals:` with a list of entries, or the list alone, or one entry alone. An entry names `dataset`,
`run_id`, `digest`, `approver` and `expires`; `note` is for people.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Any

import yaml

from lakelogic.contract.mistakes import suggest
from lakelogic.contract.yaml_tree import YamlList, YamlMap, parse_yaml
from lakelogic.core.errors import ContractError, Place, Problem

MISTAKE = "LL502"
KEYS = ("dataset", "run_id", "digest", "approver", "expires", "note")
_REQUIRED = KEYS[:-1]


@dataclass(frozen=True, slots=True)
class Approval:
    """One entry; it is for one batch of one run, and nothing else."""

    dataset: str
    run_id: str
    digest: str
    approver: str
    expires: datetime
    note: str | None = None

    def to_dict(self) -> dict[str, str]:
        """The entry as a file has it."""
        expires = self.expires.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        return {name: value for name, value in {**asdict(self), "expires": expires}.items() if value is not None}


def read_approvals(path: str | os.PathLike[str]) -> tuple[Approval, ...]:
    """The entries of a file, none where there is no file yet; raises with every mistake in it."""
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise ContractError(
            [Problem(MISTAKE, f"the approval file cannot be read: {why}", Place(name, 1, 1))]
        ) from error
    return parse_approvals(text, name)


def parse_approvals(text: str, name: str) -> tuple[Approval, ...]:
    """The entries of a text."""
    tree, problems = parse_yaml(text.removeprefix("\ufeff"), name)
    if problems:
        raise ContractError(problems)
    found = [_parse_entry(item, place) for item, place in _items(tree, Place(name, 1, 1))]
    mistakes = [problem for each in found if isinstance(each, list) for problem in each]
    if mistakes:
        raise ContractError(mistakes)
    return tuple(each for each in found if isinstance(each, Approval))


def add_approval(path: str | os.PathLike[str], approval: Approval) -> None:
    """Put an entry at the end of a file, which is made where it is missing; other entries and comments stay."""
    name = os.fspath(path)
    before = read_approvals(name)
    if approval in before:
        return
    text = ""
    if os.path.exists(name):
        with open(name, encoding="utf-8") as file:
            text = file.read()
    added = _appended(text, approval)
    if _entries(added) != (*before, approval):
        # Another form than ours (a list alone, JSON, other blanks): written anew, in ours.
        added = render_approvals((*before, approval))
    _replace_file(name, added)


def render_approvals(approvals: tuple[Approval, ...]) -> str:
    """A file with these entries."""
    return "approvals:\n" + "".join(_render(each) for each in approvals)


def _render(approval: Approval) -> str:
    lines = yaml.safe_dump(approval.to_dict(), sort_keys=False, allow_unicode=True, width=1000).splitlines()
    return "".join(f"  {'- ' if number == 0 else '  '}{line}\n" for number, line in enumerate(lines))


def _appended(text: str, approval: Approval) -> str:
    start = text if text.strip() else "approvals:\n"
    return (start if start.endswith("\n") else start + "\n") + _render(approval)


def _entries(text: str) -> tuple[Approval, ...] | None:
    try:
        return parse_approvals(text, "")
    except ContractError:
        return None


def _replace_file(name: str, text: str) -> None:
    """All of it or nothing: a pipeline may be reading it."""
    folder = os.path.dirname(os.path.abspath(name))
    os.makedirs(folder, exist_ok=True)
    scratch = os.path.join(folder, f".{os.path.basename(name)}.{os.getpid()}")
    with open(scratch, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(scratch, name)


def _items(tree: Any, start: Place) -> Iterator[tuple[Any, Place]]:
    if tree is None:
        return
    if isinstance(tree, YamlMap) and "approvals" in tree:
        others = [key for key in tree if key != "approvals"]
        if others:
            hint = "write `approvals:` with a list of entries below it, and nothing beside it"
            raise ContractError([_mistake(f"unknown key `{others[0]}`", tree.key_marks[others[0]].place(), hint)])
        tree = [] if tree["approvals"] is None else tree["approvals"]
    if isinstance(tree, YamlList):
        yield from ((item, mark.place()) for item, mark in zip(tree, tree.marks, strict=True))
    elif tree:
        yield tree, start


def _parse_entry(item: Any, place: Place) -> Approval | list[Problem]:
    if not isinstance(item, YamlMap):
        return [
            _mistake("an approval must be a mapping", place, f"write {', '.join(f'`{key}:`' for key in _REQUIRED)}")
        ]
    problems = [
        _mistake(f"an approval has no key `{key}`", item.key_marks[key].place(), suggest(key, KEYS))
        for key in item
        if key not in KEYS
    ]
    for key in _REQUIRED:
        value = item.get(key)
        if not isinstance(value, str) or not value.strip() or value.startswith("<"):
            where = item.value_marks[key].place() if key in item else place
            problems.append(
                _mistake(f"an approval must say its `{key}`", where, "`lakelogic approvals approve` writes it")
            )
    if problems:
        return problems
    expires = parse_expiry(item["expires"])
    if expires is None:
        hint = "write a moment such as 2026-02-07T12:00:00Z; a date means the end of that day, UTC"
        return [_mistake(f"`{item['expires']}` is not a moment", item.value_marks["expires"].place(), hint)]
    note = item.get("note")
    dataset, run_id, digest, approver = (item[key].strip() for key in ("dataset", "run_id", "digest", "approver"))
    return Approval(dataset, run_id, digest, approver, expires, str(note) if note is not None else None)


def parse_expiry(text: str) -> datetime | None:
    """A moment, UTC where no zone is named; a date means its end."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole_day = len(text.strip()) <= len("2026-02-07") and moment.time() == time()
    return (moment + timedelta(days=1) if whole_day else moment).astimezone(UTC)


def _mistake(message: str, place: Place, hint: str) -> Problem:
    return Problem(MISTAKE, message, place, hint)
