"""Addresses of databases: one form out of many, and no password in what is shown."""

from __future__ import annotations

import pytest

from lakelogic.core.database_url import jdbc_address, libpq_address, parse_database_url

FORMS = {
    "postgresql://u:p%2Fw@h/d": ("postgresql", "h", 5432, "d", "u", "p/w"),
    "postgres://u:pw@h:7/d?sslmode=require": ("postgresql", "h", 7, "d", "u", "pw"),
    "postgresql+psycopg://u@h/d": ("postgresql", "h", 5432, "d", "u", None),
    "jdbc:postgresql://h:5433/d?user=u&password=pw": ("postgresql", "h", 5433, "d", "u", "pw"),
    "postgresql://u:pw@[::1]:7/d": ("postgresql", "::1", 7, "d", "u", "pw"),
    "mysql://u:pw@h/d": ("mysql", "h", 3306, "d", "u", "pw"),
    "jdbc:mariadb://h/d?user=u&password=pw": ("mysql", "h", 3306, "d", "u", "pw"),
    "sqlite:///some/file.db": ("sqlite", "", 0, "some/file.db", None, None),
    "sqlite:////some/file.db": ("sqlite", "", 0, "/some/file.db", None, None),
    "jdbc:sqlite:some/file.db": ("sqlite", "", 0, "some/file.db", None, None),
    "mssql://u:pw@h/d?encrypt=true": ("mssql", "h", 1433, "d", "u", "pw"),
    "jdbc:sqlserver://h:9;databaseName=d;user=u;password=p;encrypt=true": ("mssql", "h", 9, "d", "u", "p"),
}


@pytest.mark.parametrize("text", FORMS)
def test_every_form_is_read(text: str) -> None:
    url = parse_database_url(text)
    password = url.password.reveal() if url.password else None
    assert (url.kind, url.host, url.port, url.database, url.user, password) == FORMS[text]


@pytest.mark.parametrize(
    "text", ["oracle://u:secret-word@h/d", "postgresql://u:secret-word@h", "sqlite://", "secret-word"]
)
def test_what_cannot_be_read_is_not_quoted(text: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_database_url(text)
    assert "secret-word" not in str(caught.value)


def test_a_parameter_that_only_one_driver_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="connect_timeout"):
        parse_database_url("postgresql://u@h/d?connect_timeout=3")


def test_addresses_for_jdbc_have_no_password() -> None:
    shown = {text: jdbc_address(parse_database_url(text)) for text in FORMS}
    assert shown["postgres://u:pw@h:7/d?sslmode=require"] == "jdbc:postgresql://h:7/d?sslmode=require"
    assert shown["postgresql://u:pw@[::1]:7/d"] == "jdbc:postgresql://[::1]:7/d"
    assert shown["mysql://u:pw@h/d"] == "jdbc:mysql://h:3306/d?permitMysqlScheme"
    assert shown["sqlite:////some/file.db"] == "jdbc:sqlite:/some/file.db"
    assert shown["mssql://u:pw@h/d?encrypt=true"] == "jdbc:sqlserver://h:1433;databaseName=d;encrypt=true"
    assert not [address for address in shown.values() if "pw" in address or "user" in address]


def test_libpq_speaks_utc() -> None:
    address = libpq_address(parse_database_url("postgresql://u:p%2Fw@h/d"))
    assert address.startswith("postgresql://u:p%2Fw@h:5432/d?options=-c%20TimeZone%3DUTC")


def test_neither_password_nor_host_is_in_a_repr() -> None:
    shown = repr(parse_database_url("postgresql://someone:secret-word@far-away/d"))
    assert not [word for word in ("secret-word", "someone", "far-away") if word in shown]
