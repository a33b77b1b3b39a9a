"""How the source and the links of a contract are to be read: formats, options, names."""

from __future__ import annotations

from lakelogic.contract.contract import Contract
from lakelogic.core.errors import RunError
from lakelogic.core.secrets import reveal
from lakelogic.core.settings import Settings
from lakelogic.core.slices import DatabaseSlice, FileSlice, FrameSlice, Slice, TableSlice, TopicSlice
from lakelogic.core.window import Window
from lakelogic.engine.protocol import ReadSpec
from lakelogic.plan.envelopes import names_to_read
from lakelogic.plan.model import LinkRead
from lakelogic.run.databases import read_database
from lakelogic.run.places import link_path
from lakelogic.source.files import find_format, format_of
from lakelogic.source.path_dates import folder_columns
from lakelogic.source.tables import is_delta_table


def read_spec(contract: Contract, chosen: Slice, settings: Settings, window: Window | None) -> ReadSpec:
    """How the slice is to be read: format, options, the names that headerless text has."""
    source = contract.source
    options = {key: str(reveal(value)) for key, value in source.options.items()} if source else {}
    if isinstance(chosen, TopicSlice) and source and source.kafka:
        options["bootstrap_servers"] = str(reveal(source.kafka.bootstrap_servers))
    in_path = path_columns(chosen)
    declared = tuple(name for name in names_to_read(contract) if name not in in_path)
    # Columns of ours are not looked at unless asked for; lineage of the layer before is.
    asked = contract.lineage.preserve_upstream or None
    database = read_database(contract, root=settings.root, window=window) if isinstance(chosen, DatabaseSlice) else None
    return ReadSpec(_format(contract, chosen), options, asked, declared, database, raw=contract.is_raw)


def path_columns(chosen: Slice) -> tuple[str, ...]:
    """Columns that the folders of the files tell (`day=2026-11-01/`), and not the files themselves."""
    return folder_columns(file.path for file in chosen.files) if isinstance(chosen, FileSlice) else ()


def _format(contract: Contract, chosen: Slice) -> str:
    match chosen:
        case TableSlice():
            return "delta"
        case TopicSlice():
            return "kafka"
        case DatabaseSlice():
            return "database"
        case FrameSlice():
            return "frame"
        case FileSlice():
            declared = contract.source.format if contract.source else None
            return declared or format_of(chosen.files)


def locate_links(contract: Contract, settings: Settings) -> tuple[LinkRead, ...]:
    """The links with their folders and formats found."""
    found = []
    for index, link in enumerate(contract.links):
        path = link_path(contract, settings, link.path or "")
        format_ = link.format or ("delta" if is_delta_table(path) else find_format(path))
        if format_ is None:
            raise RunError(
                f"the format of link `{link.name}` cannot be told from its path",
                where=contract.at(f"links.{index}.path"),
                hint="set `format` on the link",
                code="LL432",
            )
        options = {key: str(reveal(value)) for key, value in link.options.items()}
        found.append(LinkRead(link.name, path, format_, link.columns, None, link.broadcast, options))
    return tuple(found)
