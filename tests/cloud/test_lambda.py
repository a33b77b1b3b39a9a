"""The template for AWS Lambda, called with an event of an S3 server."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cloud.support import BUCKET, FIRST, SECOND, Estate

from lakelogic.core.errors import RunError
from lakelogic.storage.files import write_file

_TEMPLATE = Path(__file__).resolve().parents[2] / "templates/aws/lambda_handler.py"


@pytest.fixture
def handler(estate: Estate, monkeypatch: pytest.MonkeyPatch) -> Any:
    estate.declare()
    monkeypatch.setenv("LAKELOGIC_CONTRACT", str(estate.contract))
    spec = importlib.util.spec_from_file_location("lambda_handler", _TEMPLATE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    spec.loader.exec_module(module)
    # A function that is cold must not load an engine before it has an event.
    assert not {name for name in set(sys.modules) - before if name.split(".")[0] in {"duckdb", "pyspark", "deltalake"}}
    return module.handler


def _event(estate: Estate, *names: str) -> dict[str, Any]:
    folder = estate.root.removeprefix(f"s3://{BUCKET}/")
    keys = [f"{folder}/landing/{name.replace(' ', '+')}" for name in names]
    return {"Records": [{"s3": {"bucket": {"name": BUCKET}, "object": {"key": key}}} for key in keys]}


def test_each_file_of_an_event_is_loaded_once_however_often_the_event_comes(estate: Estate, handler: Any) -> None:
    write_file(f"{estate.root}/landing/first day.csv", FIRST.encode())
    write_file(f"{estate.root}/landing/second.csv", SECOND.encode())
    event = _event(estate, "first day.csv", "second.csv")
    told = handler(event)["files"]
    assert [(each["status"], each["accepted"], each["quarantined"]) for each in told] == [
        ("succeeded", 2, 1),
        ("succeeded", 2, 2),
    ]
    assert [each["status"] for each in handler(event)["files"]] == ["no_new_data", "no_new_data"]
    assert sum(estate.rows("orders").values()) == 4


def test_only_the_temporary_folder_can_be_written_to(
    estate: Estate, handler: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "/proc/no/such/place")
    write_file(f"{estate.root}/landing/a+b%20c.csv", FIRST.encode())
    event = _event(estate, "a%2Bb%2520c.csv")  # as S3 writes this key
    assert [(each["status"], each["accepted"]) for each in handler(event)["files"]] == [("succeeded", 2)]
    assert [each["status"] for each in handler(event)["files"]] == ["no_new_data"]


def test_events_come_through_queues_topics_and_buses(estate: Estate, handler: Any) -> None:
    for name in ("first day.csv", "second.csv", "[2].csv", "2.csv"):
        write_file(f"{estate.root}/landing/{name}", FIRST.encode())
    queue = {"Records": [{"eventSource": "aws:sqs", "body": json.dumps(_event(estate, "first day.csv"))}]}
    topic = {"Records": [{"EventSource": "aws:sns", "Sns": {"Message": json.dumps(_event(estate, "second.csv"))}}]}
    key = f"{estate.root.removeprefix(f's3://{BUCKET}/')}/landing/[2].csv"
    bus = {"detail-type": "Object Created", "detail": {"bucket": {"name": BUCKET}, "object": {"key": key}}}
    told = [each for event in (queue, topic, bus) for each in handler(event)["files"]]
    names = [each["path"].rpartition("/")[2] for each in told]
    assert names == ["first day.csv", "second.csv", "[2].csv"]
    assert [each["status"] for each in told] == ["succeeded"] * 3
    # The file with a name like a pattern was read, and not the one that it would match.
    assert [each["status"] for each in handler(_event(estate, "2.csv"))["files"]] == ["succeeded"]


def test_what_was_deleted_and_folders_are_left_out_and_one_bad_file_keeps_no_other_back(
    estate: Estate, handler: Any
) -> None:
    write_file(f"{estate.root}/landing/second.csv", SECOND.encode())
    deleted = _event(estate, "gone.csv")
    deleted["Records"][0]["eventName"] = "ObjectRemoved:Delete"
    for event in (deleted, _event(estate, ""), _event(estate, "sub/"), {"Event": "s3:TestEvent"}):
        assert handler(event) == {"files": []}
    with pytest.raises(RunError, match="does not exist"):
        handler(_event(estate, "gone.csv", "second.csv"))
    assert sum(estate.rows("orders").values()) == 2
