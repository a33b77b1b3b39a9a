"""`source.database`: a table or query of a database, and what must hold where one is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lakelogic.contract.grammar import ContractModel, Count, Setting, Text
from lakelogic.core.database_url import DatabaseUrl, parse_database_url
from lakelogic.core.errors import Problem
from lakelogic.core.secrets import Secret, reveal

if TYPE_CHECKING:
    from lakelogic.contract.contract import Contract
    from lakelogic.contract.source import Source

_URL_HINT = "write postgresql://${USER}:${PASSWORD}@host/database, mysql://..., sqlite:///file.db or mssql://..."
_FOR_FILES = ("pattern", "format", "options", "settle", "success_marker")


class Database(ContractModel):
    """A table or query of a database."""

    url: Setting | None = None
    table: Text | None = None
    query: Text | None = None
    fetch_size: Count = 10000
    partition_column: Text | None = None
    num_partitions: Count | None = None

    @property
    def address(self) -> DatabaseUrl:
        """The parsed URL; only what passed `check_database` has one."""
        assert self.url is not None
        return parse_database_url(str(reveal(self.url)))


def check_database(contract: Contract) -> Iterator[Problem]:
    """Mistakes of a source that is a database."""
    source = contract.source
    if source is None:
        return
    if source.type != "database":
        if source.database is not None:
            message = f"`source.database` names a database, and the source is a {source.type}"
            yield Problem("LL157", message, contract.at("source.database"), "set `type: database`, or take it away")
        return
    for key in _FOR_FILES:
        if getattr(source, key):
            yield Problem("LL157", f"a database has no `{key}`", contract.at(f"source.{key}"), "take it away")
    if source.path is not None:
        yield Problem(
            "LL157", "the database is named twice", contract.at("source.path"), "keep one: path or database.url"
        )
    if source.database is None or source.database.url is None:
        yield Problem("LL111", "the address of the database is missing", contract.at("source"), _URL_HINT)
    else:
        yield from _check_url(contract, source.database.url)
    if source.database is not None:
        yield from _check_what(contract, source.database)
    yield from _check_position(contract, source)


def _check_url(contract: Contract, url: str | int | float | bool | Secret) -> Iterator[Problem]:
    by_path = contract.origin("source.path") != "default"
    place = contract.at("source.path" if by_path else "source.database.url")
    try:
        address = parse_database_url(str(reveal(url)))
    except ValueError as error:
        yield Problem("LL168", f"the address of the database {error}", place, _URL_HINT)
        return
    if address.password is not None and not isinstance(url, Secret):
        message = "the password of the database stands in the contract"
        yield Problem("LL168", message, place, "name it: ${PASSWORD} or ${secret:scope/name}")


def _check_what(contract: Contract, database: Database) -> Iterator[Problem]:
    place = contract.at("source.database")
    if (database.table is None) == (database.query is None):
        yield Problem("LL157", "a database needs either `table` or `query`", place, "add `table: schema.name`")
    if (database.partition_column is None) != (database.num_partitions is None):
        message = "`partition_column` and `num_partitions` belong together"
        yield Problem("LL157", message, place, "add the other one, or take both away")
    for key in ("fetch_size", "num_partitions"):
        if getattr(database, key) == 0:
            yield Problem("LL157", f"`{key}` is 0", contract.at(f"source.database.{key}"), "write 1 or more")


def _check_position(contract: Contract, source: Source) -> Iterator[Problem]:
    if source.load_mode == "cdc":
        message = "a database is read `full` or `incremental`; change events come from files or a topic"
        yield Problem("LL157", message, contract.at("source.load_mode"), "set `load_mode: incremental`")
    if source.load_mode != "incremental":
        return
    place = contract.at("source.load_mode")
    if source.watermark_field is None:
        hint = "name a column that grows with every change under source.watermark_field"
        yield Problem("LL157", "an incremental database needs a column to go by", place, hint)
    if not contract.primary_key:
        message = "an incremental database needs a primary key: rows of one moment are told apart by it"
        yield Problem("LL157", message, place, "list the key columns under materialization.primary_key")
