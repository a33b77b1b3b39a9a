"""Settings are a function of the environment; log lines have one form and no secrets."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from lakelogic.core.errors import RunError
from lakelogic.core.log import configure_log
from lakelogic.core.redaction import redact, remember_secret
from lakelogic.core.settings import VARIABLES, Settings, home_folder, read_settings


@pytest.fixture(autouse=True)
def _restore_log() -> Iterator[None]:
    yield
    configure_log()


def test_an_empty_environment_gives_defaults() -> None:
    settings = read_settings({"HOME": "/h"})
    assert settings == Settings(jars=Path("/h/.cache/lakelogic/jars"))


def test_a_user_whom_the_system_does_not_know_has_caches_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # what it answers for a user without an entry
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert home_folder({}) is None
    assert read_settings({}).jars.is_relative_to(tmp_path)


def test_each_variable_lands_in_its_field() -> None:
    settings = read_settings(
        {
            "LAKELOGIC_ENGINE": "DuckDB",
            "LAKELOGIC_ROOT": "r",
            "LAKELOGIC_WAREHOUSE": "w",
            "LAKELOGIC_STATE": "s",
            "LAKELOGIC_JARS": "j",
            "LAKELOGIC_LOG_LEVEL": "debug",
        }
    )
    assert (settings.engine, settings.root, settings.warehouse) == ("duckdb", "r", "w")
    assert (settings.state, settings.jars, settings.jars_given) == ("s", Path("j"), True)
    assert settings.log_level == "DEBUG"


def test_an_empty_variable_counts_as_absent() -> None:
    assert read_settings({"LAKELOGIC_ENGINE": "", "LAKELOGIC_PII_KEY": ""}) == read_settings({})


@pytest.mark.parametrize("name", ["LAKELOGIC_ENGINE", "LAKELOGIC_LOG_LEVEL"])
def test_a_wrong_choice_is_refused_with_the_choices(name: str) -> None:
    with pytest.raises(RunError, match="one of:"):
        read_settings({name: "nonsense"})


def test_the_key_never_shows() -> None:
    settings = read_settings({"LAKELOGIC_PII_KEY": "open-sesame-42"})
    assert settings.pii_key is not None and settings.pii_key.reveal() == "open-sesame-42"
    assert "open-sesame" not in f"{settings!r} {settings} {settings.pii_key:>5}"


def test_every_variable_has_a_meaning() -> None:
    assert all(name.startswith("LAKELOGIC_") and meaning for name, meaning in VARIABLES.items())


def test_a_line_has_time_level_and_message() -> None:
    stream = io.StringIO()
    configure_log(stream=stream)
    logger.info("Wrote 2 valid rows to {}", "silver.customers")
    assert re.fullmatch(
        r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] INFO  \| Wrote 2 valid rows to silver.customers\n",
        stream.getvalue(),
    )


def test_braces_and_markup_in_a_message_stay_as_they_are() -> None:
    stream = io.StringIO()
    configure_log(stream=stream)
    logger.info("{a} <red>b</red> [c]")
    assert stream.getvalue().endswith("| {a} <red>b</red> [c]\n")


def test_quiet_drops_what_is_not_a_warning() -> None:
    stream = io.StringIO()
    configure_log(stream=stream, level="WARNING")
    logger.info("hush")
    logger.warning("loud")
    assert "hush" not in stream.getvalue() and "loud" in stream.getvalue()


def test_json_lines_are_json() -> None:
    stream = io.StringIO()
    configure_log(stream=stream, form="json")
    logger.bind(run_id="r1").info('a {brace} and a "quote"')
    entry = json.loads(stream.getvalue())
    assert (entry["level"], entry["message"], entry["run_id"]) == ("INFO", 'a {brace} and a "quote"', "r1")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_is_starred_in_messages_and_tracebacks(form: str) -> None:
    stream = io.StringIO()
    remember_secret("hunter2-hunter2")
    configure_log(stream=stream, form=form, traceback=True)  # type: ignore[arg-type]
    try:
        raise ValueError("password hunter2-hunter2 refused")
    except ValueError:
        logger.exception("with hunter2-hunter2")
    assert "hunter2" not in stream.getvalue()


def test_a_secret_inside_a_longer_one_leaves_no_tail() -> None:
    remember_secret("abcd-secret")
    remember_secret("abcd-secret-and-more")
    assert redact("x abcd-secret-and-more y abcd-secret") == "x *** y ***"


def test_how_long_the_run_log_is_kept_is_a_number_of_days() -> None:
    assert read_settings({}).run_log_days == 400
    assert read_settings({"LAKELOGIC_RUN_LOG_DAYS": "0"}).run_log_days == 0
    for wrong in ("-1", "400d", "1.5"):
        with pytest.raises(RunError, match="LAKELOGIC_RUN_LOG_DAYS"):
            read_settings({"LAKELOGIC_RUN_LOG_DAYS": wrong})


def test_how_many_files_a_batch_reads_is_a_number_or_all() -> None:
    assert read_settings({}).max_files_per_batch is None
    assert read_settings({"LAKELOGIC_DUCKDB_MEMORY": "1.5 GB"}).duckdb_memory == "1.5 GB"
    with pytest.raises(RunError, match="LAKELOGIC_DUCKDB_MEMORY"):
        read_settings({"LAKELOGIC_DUCKDB_MEMORY": "2GB'; ATTACH 'x'"})
    assert read_settings({"LAKELOGIC_MAX_FILES_PER_BATCH": "500"}).max_files_per_batch == 500
    with pytest.raises(RunError, match="LAKELOGIC_MAX_FILES_PER_BATCH"):
        read_settings({"LAKELOGIC_MAX_FILES_PER_BATCH": "many"})
