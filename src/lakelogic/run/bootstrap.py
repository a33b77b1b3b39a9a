"""Contracts and a registry from the files of a landing zone; what is written validates and runs as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path
from typing import Any

from lakelogic.contract.loader import load_draft
from lakelogic.core.errors import CapabilityError, LakeLogicError, RunError
from lakelogic.core.slices import FileSlice, SourceFile
from lakelogic.engine.protocol import Engine, ReadSpec, SamplesRows
from lakelogic.onboard.bootstrap.heads import CsvHead, read_csv_head
from lakelogic.onboard.bootstrap.landing import Group, LandedFile, group_files
from lakelogic.onboard.bootstrap.names import column_names
from lakelogic.onboard.bootstrap.profiles import Profile, find_key, profile_columns
from lakelogic.onboard.bootstrap.rules import suggest_rules
from lakelogic.onboard.bootstrap.write import Draft, contract_text, registry_text
from lakelogic.plan.model import HIDDEN_PREFIX, MALFORMED_COLUMN
from lakelogic.plan.types import type_name
from lakelogic.run.validate import check_declared
from lakelogic.source.listing import Listing

_SAMPLED_FILES = 20
_LEAST_IN_COMMON = 0.5  # of the columns, for files to be one dataset
_TEXT = ("csv", "json", "jsonl", "text", "xml")


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for."""

    landing: Path
    output: Path
    registry: Path
    format: str | None = None
    pattern: str = "*"
    layer: str = "bronze"
    sample_rows: int = 10_000
    force: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A dataset that was found, and the contract that was written for it; without one, why not."""

    dataset: str
    files: int
    contract: str | None = None
    rows: int = 0
    columns: int = 0
    key: tuple[str, ...] = ()
    personal: tuple[str, ...] = ()
    rules: int = 0
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "contract": self.contract,
            "files": self.files,
            "rows_looked_at": self.rows,
            "columns": self.columns,
            "primary_key": list(self.key),
            "pii": list(self.personal),
            "rules": self.rules,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Sample:
    cells: Mapping[str, Sequence[Any]]
    types: Mapping[str, str | None]
    malformed: int = 0

    @property
    def rows(self) -> int:
        return len(next(iter(self.cells.values()), ()))


@dataclass(slots=True)
class _Texts:
    """Files to be written, all of them or none."""

    made: dict[Path, str] = field(default_factory=dict)

    def write(self, *, force: bool) -> None:
        taken = [path for path in self.made if path.exists()]
        if taken and not force:
            hint = "choose another folder, or say --force to replace it; nothing was written"
            raise RunError(f"`{taken[0]}` is already there", hint=hint, code="LL489")
        for path, text in self.made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")


def bootstrap(wish: Wish, open_engine: Callable[[], Engine]) -> tuple[Written, ...]:
    """Look at the files, write a contract for each dataset and a registry of them all."""
    groups = [part for group in _find_groups(wish) for part in _split_by_columns(group)]
    texts = _Texts()
    engine = open_engine()
    try:
        if not isinstance(engine, SamplesRows):
            raise CapabilityError(f"engine `{engine.name}` cannot look at samples", hint="use duckdb or spark")
        told = tuple(_one(wish, group, engine, texts) for group in groups)
    finally:
        engine.close()
    entries = [
        (each.dataset.removeprefix(f"{wish.layer}_"), wish.layer, _relative(Path(each.contract), wish.registry.parent))
        for each in told
        if each.contract is not None
    ]
    texts.made[wish.registry] = registry_text(entries)
    texts.write(force=wish.force)
    return told


def _find_groups(wish: Wish) -> tuple[Group, ...]:
    if not wish.landing.is_dir():
        raise RunError(f"there is no folder `{wish.landing}`", hint="look at --landing", code="LL484")
    root, output = os.path.abspath(wish.landing), os.path.abspath(wish.output)
    found = []
    for file in Listing(root):
        relative = os.path.relpath(file.path, root)
        ours = file.path.startswith(output + os.sep) and output != root
        if not ours and fnmatchcase(relative if "/" in wish.pattern else os.path.basename(relative), wish.pattern):
            found.append(LandedFile(file.path, relative, file.size))
    if not found:
        raise RunError(f"no file in `{wish.landing}` fits `{wish.pattern}`", hint="look at --pattern", code="LL484")
    return group_files(found, os.path.basename(root), wish.format)


def _split_by_columns(group: Group) -> Iterator[Group]:
    """Files that are called alike and have nothing in common are datasets of their own."""
    if group.format != "csv" or len(group.files) == 1:
        yield group
        return
    families: list[tuple[set[str], list[LandedFile]]] = []
    for file in group.files:
        head = read_csv_head(file.path)
        names = set(head.names) if head is not None else set()
        for known, files in families:
            if not names or not known or len(known & names) >= _LEAST_IN_COMMON * min(len(known), len(names)):
                known |= names
                files.append(file)
                break
        else:
            families.append((names, [file]))
    if len(families) == 1:
        yield group
        return
    for file in (file for _, files in families for file in files):
        name = Path(file.relative).name
        (alone,) = group_files([replace(file, relative=name.replace("[", "_"))], group.name, group.format)
        pattern = escape(name)
        title = "".join(char if char.isalnum() else "_" for char in Path(name).stem).strip("_").lower()
        yield replace(alone, name=title, folder=group.folder, pattern=pattern, files=(file,), within_folder=True)


def _one(wish: Wish, group: Group, engine: SamplesRows, texts: _Texts) -> Written:
    dataset = f"{wish.layer}_{group.name}"
    found = Written(dataset, len(group.files))
    try:
        draft, sample, notes = _draft(wish, group, dataset, engine)
    except LakeLogicError as error:
        return replace(found, notes=(f"left out: {error.problem.message}",))
    path = wish.output / f"{dataset}.yaml"
    chosen = next((each for each in _simpler(draft) if _is_sound(path, contract_text(each))), None)
    if chosen is None:
        return replace(found, notes=(*notes, "left out: no contract could be made for it"))
    texts.made[path] = contract_text(chosen)
    return replace(
        found,
        contract=str(path),
        rows=sample.rows,
        columns=len(chosen.profiles),
        key=chosen.key,
        personal=tuple(each.name for each in chosen.profiles if each.personal is not None),
        rules=len(chosen.rules),
        notes=notes,
    )


def _draft(wish: Wish, group: Group, dataset: str, engine: SamplesRows) -> tuple[Draft, _Sample, tuple[str, ...]]:
    filled = [file for file in group.files if file.size > 0]
    if not filled:
        raise RunError("all its files are empty")
    heads = [head for head in (read_csv_head(file.path) for file in filled) if head] if group.format == "csv" else []
    if group.format == "csv" and not heads:
        raise RunError("all its files are empty")
    head = heads[0] if heads else None
    sample = _take_sample(wish, group, filled, head, heads, engine)
    repeated = head is not None and head.header and bool(head.repeated)
    profiles = profile_columns(sample.cells, sample.types, plain=repeated)
    key = find_key(profiles, sample.cells) if not repeated else ()
    notes = tuple(_notes(sample, head, profiles))
    draft = Draft(
        dataset=dataset,
        layer=wish.layer,
        path=_source_path(wish, group),
        pattern=None if group.within_folder else group.pattern,
        format=group.format,
        target=f"lakehouse/{dataset}",
        options=head.options if head else {},
        profiles=profiles,
        key=key,
        rules=suggest_rules(profiles, key),
        steps=_header_step(head, profiles) if repeated and head else (),
        about=(_seen(group, sample), *notes),
    )
    return draft, sample, notes


def _take_sample(
    wish: Wish, group: Group, files: Sequence[LandedFile], head: CsvHead | None, heads: Sequence[CsvHead], engine: Any
) -> _Sample:
    """Rows from files spread over the whole group; columns of all of them."""
    declared = _declared(head)
    spec = ReadSpec(group.format, head.options if head else {}, declared=declared)
    chosen = files if len(files) <= _SAMPLED_FILES else [
        files[round(number * (len(files) - 1) / (_SAMPLED_FILES - 1))] for number in range(_SAMPLED_FILES)
    ]  # fmt: skip
    facts = engine.inspect(spec, FileSlice(tuple(map(_source_file, files))))
    names = [column.name for column in facts.columns]
    types = {column.name: None if facts.text else type_name(column.type) for column in facts.columns}
    cells: dict[str, list[Any]] = {name: [] for name in names}
    malformed = 0
    for file in chosen:
        table = engine.sample(spec, FileSlice((_source_file(file),)), max(1, wish.sample_rows // len(chosen)))
        bad = _cells(table, MALFORMED_COLUMN)
        malformed += sum(why is not None for why in bad)
        for name in names:
            cells[name] += [value for value, why in zip(_cells(table, name), bad, strict=True) if why is None]
    return _without_headers(_Sample(cells, types, malformed), head)


def _cells(table: Any, name: str) -> list[Any]:
    return table.column(name).to_pylist() if name in table.column_names else [None] * len(table)


def _declared(head: CsvHead | None) -> tuple[str, ...]:
    if head is None or (head.header and not head.repeated):
        return ()
    return column_names(head.names)


def _without_headers(sample: _Sample, head: CsvHead | None) -> _Sample:
    """Where a header cannot be used as one, it comes as a row."""
    if head is None or not head.header or not head.repeated:
        return sample
    rows = list(zip(*sample.cells.values(), strict=True))
    kept = [row for row in rows if row != head.names]
    columns = list(zip(*kept, strict=True)) if kept else [()] * len(sample.cells)
    return replace(sample, cells=dict(zip(sample.cells, map(list, columns), strict=True)))


def _header_step(head: CsvHead, profiles: Sequence[Profile]) -> tuple[tuple[str, Any, str], ...]:
    parts = []
    for profile, name in zip(profiles, head.names, strict=True):
        literal = name.replace("\\", "\\\\").replace("'", "\\'")
        parts.append(f"`{profile.name}` <=> '{literal}'")
    twice = ", ".join(f"`{name}`" for name in head.repeated)
    why = f"the header names {twice} more than once, so it is read as a row, and left out here"
    return (("filter", f"NOT ({' AND '.join(parts)})", why),)


def _notes(sample: _Sample, head: CsvHead | None, profiles: Sequence[Profile]) -> Iterator[str]:
    if not sample.rows:
        yield "no row was seen, so that all columns are text"
    if sample.malformed:
        yield f"{sample.malformed} malformed records, which a run sets aside"
    if head is not None and not head.header:
        yield "the files have no header; the columns are called by their numbers"
    if head is not None and head.header and head.repeated:
        yield "the header names a column twice; all columns are text"
    hidden = [profile.source for profile in profiles if profile.source.startswith(HIDDEN_PREFIX)]
    if hidden:
        yield f"{len(hidden)} columns have names of ours"


def _seen(group: Group, sample: _Sample) -> str:
    files = f"{len(group.files)} file{'s' if len(group.files) != 1 else ''}"
    return f"Written by `lakelogic bootstrap` from {files}; {sample.rows} rows were looked at."


def _simpler(draft: Draft) -> Iterator[Draft]:
    """The draft, then with less and less of what was guessed."""
    yield draft
    yield replace(draft, rules=())
    yield replace(draft, rules=(), key=())


def _is_sound(path: Path, text: str) -> bool:
    found = load_draft(path, text=text)
    return found.contract is not None and not found.problems and not _errors(check_declared(found.contract))


def _errors(problems: Sequence[Any]) -> list[Any]:
    return [problem for problem in problems if problem.severity == "error"]


def _source_file(file: LandedFile) -> SourceFile:
    status = os.stat(file.path)
    return SourceFile(file.path, status.st_size, status.st_mtime_ns)


def _source_path(wish: Wish, group: Group) -> str:
    folder = _relative(wish.landing / group.folder if group.folder else wish.landing, wish.output)
    return f"{escape(folder)}/{group.pattern}" if group.within_folder else folder


def _relative(path: Path, start: Path) -> str:
    return Path(os.path.relpath(os.path.abspath(path), os.path.abspath(start))).as_posix()
