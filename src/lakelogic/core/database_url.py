"""Addresses of databases: one form for all drivers, with the password kept apart from everything that is shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from lakelogic.core.secrets import Secret

Kind = Literal["postgresql", "mysql", "sqlite", "mssql"]

_SCHEMES: Mapping[str, Kind] = {
    "postgresql": "postgresql", "postgres": "postgresql", "mysql": "mysql", "mariadb": "mysql",
    "sqlite": "sqlite", "mssql": "mssql", "sqlserver": "mssql",
}  # fmt: skip
_PORTS: Mapping[Kind, int] = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
# Others would mean one thing to one driver and nothing to the next.
_PARAMETERS: Mapping[Kind, frozenset[str]] = {
    "postgresql": frozenset({"sslmode", "sslrootcert"}),
    "mysql": frozenset(),
    "sqlite": frozenset(),
    "mssql": frozenset({"encrypt", "trustServerCertificate"}),
}
_IS_DATABASE = re.compile(r"(jdbc:|(postgres(ql)?|mysql|mariadb|mssql|sqlserver|oracle|sqlite)(\+\w+)?://)")


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Where a database is and who asks; its text never has the password in it."""

    kind: Kind
    host: str = field(repr=False)
    port: int = field(repr=False)
    database: str = field(repr=False)  # of SQLite: the path of the file
    user: str | None = field(default=None, repr=False)
    password: Secret | None = field(default=None, repr=False)
    parameters: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def is_database_url(text: str) -> bool:
    """Whether a path is the address of a database."""
    return bool(_IS_DATABASE.match(text))


def parse_database_url(text: str) -> DatabaseUrl:
    """Read an address; raises ValueError with a sentence that quotes nothing of it."""
    bare = text.removeprefix("jdbc:")
    scheme, separator, rest = bare.partition(":")
    kind = _SCHEMES.get(scheme.partition("+")[0].lower())
    if not separator or kind is None:
        raise ValueError(f"is of a kind that cannot be read; known are ({', '.join(_SCHEMES)})")
    if kind == "sqlite":
        return DatabaseUrl("sqlite", "", 0, _sqlite_path(rest, jdbc=bare != text))
    if kind == "mssql" and bare != text:
        return _parse_properties(rest)
    parts = urlsplit(f"{scheme}:{rest}")
    given = dict(parse_qsl(parts.query))
    user = unquote(parts.username or "") or given.pop("user", "")
    password = unquote(parts.password or "") or given.pop("password", "")
    return _checked(kind, parts.hostname, _port(parts.netloc), unquote(parts.path.lstrip("/")), user, password, given)


def jdbc_address(url: DatabaseUrl) -> str:
    """The address for a JDBC driver; user and password are handed over beside it."""
    place = f"{_host(url)}:{url.port}"
    match url.kind:
        case "postgresql":
            return f"jdbc:postgresql://{place}/{quote(url.database)}" + _query(url.parameters)
        case "mysql":
            # Spark quotes names for MySQL only under this scheme; MariaDB's driver takes it when told to.
            return f"jdbc:mysql://{place}/{quote(url.database)}?permitMysqlScheme"
        case "sqlite":
            return f"jdbc:sqlite:{url.database}"
        case "mssql":
            more = "".join(f";{name}={value}" for name, value in url.parameters)
            return f"jdbc:sqlserver://{place};databaseName={url.database}{more}"


def libpq_address(url: DatabaseUrl) -> str:
    """The address for libpq, password included; times are in UTC and in one form."""
    who = quote(url.user or "", safe="")
    if url.password is not None:
        who += f":{quote(url.password.reveal(), safe='')}"
    session = ("options", "-c TimeZone=UTC -c DateStyle=ISO"), ("application_name", "lakelogic")
    options = urlencode([*url.parameters, *session], quote_via=quote)
    return f"postgresql://{who}{'@' if who else ''}{_host(url)}:{url.port}/{quote(url.database, safe='')}?{options}"


def _sqlite_path(rest: str, *, jdbc: bool) -> str:
    # `sqlite:///folder/file` is relative and `sqlite:////folder/file` absolute, as elsewhere in Python.
    path = rest.partition("?")[0] if jdbc else unquote(rest.removeprefix("///"))
    if not path or (path.startswith("//") and not jdbc):
        raise ValueError("names no file; write sqlite:///folder/file.db")
    return path


def _parse_properties(rest: str) -> DatabaseUrl:
    """SQL Server's own form: //host:port;name=value;..."""
    place, *pairs = rest.removeprefix("//").split(";")
    given = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
    database = given.pop("databaseName", given.pop("database", ""))
    user, password = given.pop("user", ""), given.pop("password", "")
    host, _, port = place.partition(":")
    return _checked("mssql", host, int(port) if port.isdecimal() else None, database, user, password, given)


def _checked(
    kind: Kind,
    host: str | None,
    port: int | None,
    database: str,
    user: str,
    password: str,
    given: Mapping[str, str],
) -> DatabaseUrl:
    if not host or not database:
        raise ValueError("must name a host and a database")
    unknown = sorted(set(given) - _PARAMETERS[kind])
    if unknown:
        known = ", ".join(sorted(_PARAMETERS[kind])) or "none"
        raise ValueError(f"has the parameter `{unknown[0]}`, which is not supported (known: {known})")
    secret = Secret(password) if password else None
    return DatabaseUrl(kind, host, port or _PORTS[kind], database, user or None, secret, tuple(sorted(given.items())))


def _port(netloc: str) -> int | None:
    found = re.search(r":(\d*)$", netloc.rpartition("@")[2])
    if found is None or not found[1]:
        return None
    return int(found[1])


def _host(url: DatabaseUrl) -> str:
    return f"[{url.host}]" if ":" in url.host else url.host


def _query(parameters: tuple[tuple[str, str], ...]) -> str:
    return f"?{urlencode(parameters, quote_via=quote)}" if parameters else ""
