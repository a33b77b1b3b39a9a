"""A run whose source, target, quarantine, journal and run log lie on S3 keeps the promises of a local one."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request

import pytest
from tests.cloud.support import FIRST, KEY_ID, SECOND, SECRET, Estate

from lakelogic.core.errors import RunError
from lakelogic.storage.files import read_file, walk_files, write_file
from lakelogic.storage.objects import check_access

UNDISTURBED = {
    "log": [(1, 3, 2, 1), (2, 4, 2, 2)],
    "commits": 2,
}


def _load_both(estate: Estate) -> None:
    estate.drop("first.csv", FIRST)
    assert estate.run().status == "succeeded"
    estate.drop("second.csv", SECOND)


def _amounts(estate: Estate) -> list[tuple[int, str]]:
    rows = (json.loads(row) for row in estate.rows("orders").elements())
    return sorted((row["order_id"], row["amount"]) for row in rows)


def _assert_whole(estate: Estate) -> None:
    seen = estate.visible()
    assert {name: seen[name] for name in UNDISTURBED} == UNDISTURBED
    assert _amounts(estate) == [(1, "10.00"), (2, "20.00"), (2, "25.00"), (5, "50.00")]
    assert sum(seen["quarantine"].values()) == 3
    assert estate.run().status == "no_new_data"
    assert estate.visible() == seen


def test_append_reads_each_object_once(estate: Estate) -> None:
    estate.declare()
    _load_both(estate)
    assert estate.run().counts.read == 4
    _assert_whole(estate)
    left = [file.path.removeprefix(f"{estate.root}/lake/") for file in walk_files(f"{estate.root}/lake")]
    assert {path.split("/")[0] for path in left} == {"_lakelogic", "orders", "orders_quarantine"}
    assert not [path for path in left if "rejected" in path]


def test_overwrite_shows_the_newest_load_only(estate: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    estate.declare("overwrite", "full")
    # Relative paths may start on a store.
    estate.contract.write_text(estate.contract.read_text().replace(f"{estate.root}/", ""))
    monkeypatch.setenv("LAKELOGIC_ROOT", estate.root)
    with pytest.raises(RunError, match="landing` does not exist"):
        estate.run()
    _load_both(estate)
    estate.run()
    assert _amounts(estate) == [(1, "10.00"), (2, "20.00"), (2, "25.00"), (5, "50.00")]


def test_two_at_once_do_not_interleave_and_show_no_key(estate: Estate, monkeypatch: pytest.MonkeyPatch) -> None:
    # Keys of the contract come first.
    monkeypatch.setenv("LAKELOGIC_SECRET_LAKE_ID", "AKIACONTRACT")
    monkeypatch.setenv("LAKELOGIC_SECRET_LAKE_KEY", "the-key-of-the-contract")
    keys = 'access_key_id: "${secret:lake/id}", secret_access_key: "${secret:lake/key}"'
    estate.declare(extra=f'credentials: [{{ path: "s3://lake", {keys} }}]\n')
    _load_both(estate)
    both = [estate.start("--wait", "60", LAKELOGIC_LOG_LEVEL="DEBUG") for _ in range(2)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert not re.search("the-key-of-the-contract|AKIACONTRACT", str(said))
    _assert_whole(estate)


def test_a_run_that_does_not_wait_names_the_holder(estate: Estate) -> None:
    estate.declare()
    estate.drop("first.csv", FIRST)
    lock = f"{estate.root}/lake/_lakelogic/orders/lock"
    holder = {"host": "elsewhere", "pid": 7, "run_id": "r1", "started_at": "then", "process": "x/7/1"}
    write_file(lock, json.dumps(holder).encode())
    with pytest.raises(RunError, match="process 7 on elsewhere") as caught:
        estate.run()
    assert caught.value.problem.code == "LL410"
    assert json.loads(read_file(lock)) == holder


def test_an_object_that_was_replaced_is_read_again(estate: Estate) -> None:
    estate.declare()
    estate.drop("first.csv", FIRST)
    estate.run()
    estate.drop("first.csv", FIRST.replace("20", "21"))  # same name, same size, within the same second
    result = estate.run()
    assert (result.status, result.counts.read) == ("succeeded", 3)
    assert "1 of them replaced" in result.reason


@pytest.mark.kill
@pytest.mark.parametrize("point", ["after_mark_staged", "after_target_commit"])
def test_a_killed_run_is_finished_by_the_next(point: str, estate: Estate) -> None:
    estate.declare()
    _load_both(estate)
    process = estate.start(LAKELOGIC_FAULT=point)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL, errors[-2000:]
    # The dead holder's lock is no obstacle: its process ran on this machine.
    estate.run()
    _assert_whole(estate)


def test_wrong_credentials_are_told_within_seconds(estate: Estate, s3_endpoint: str) -> None:
    estate.declare()
    estate.drop("first.csv", FIRST)
    _require_credentials(s3_endpoint, after=0)
    try:
        process = estate.start()
        out, errors = process.communicate(timeout=120)
        begun = time.monotonic()
        with pytest.raises(RunError):
            check_access([estate.root])
        took = time.monotonic() - begun
    finally:
        _require_credentials(s3_endpoint, after=10**9)
    assert process.returncode == 4
    assert "LL471" in errors
    assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in errors
    assert SECRET not in out + errors and KEY_ID not in out + errors
    assert took < 10


def _require_credentials(endpoint: str, *, after: int) -> None:
    request = urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=str(after).encode(), method="POST")
    request.add_header("Content-Type", "text/plain")
    urllib.request.urlopen(request).read()
