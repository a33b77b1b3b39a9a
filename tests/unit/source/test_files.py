"""Which files a source has, and which of them are new."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lakelogic.core.errors import CapabilityError, RunError
from lakelogic.core.slices import SourceFile
from lakelogic.source.files import find_format, format_of, list_files
from lakelogic.source.listing import Listing, Readiness


@pytest.fixture
def landing(tmp_path: Path) -> Path:
    names = [
        "b.csv",
        "a.csv",
        "deep/er/c.csv",
        "day=1/d.csv",
        "_day=2/e.csv",
        "notes.txt",
        ".hidden.csv",
        "_SUCCESS",
        "_temporary/0/x.csv",
        "half.csv.tmp",
        "half.csv.part",
        ".x/y.csv",
        "empty.csv",
    ]
    for name in names:
        file = tmp_path / "landing" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("" if name == "empty.csv" else name)
    return tmp_path / "landing"


def names(files: tuple[SourceFile, ...], root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in files]


def test_a_folder_is_walked_whole_without_hidden_and_unfinished_files(landing: Path) -> None:
    found = list_files(str(landing), pattern="*.csv")
    expected = ["_day=2/e.csv", "a.csv", "b.csv", "day=1/d.csv", "deep/er/c.csv", "empty.csv"]
    assert names(found, landing) == expected


def test_a_pattern_with_a_slash_is_matched_against_the_path_below(landing: Path) -> None:
    assert names(list_files(str(landing), pattern="day=*/*.csv"), landing) == ["day=1/d.csv"]


def test_a_glob_and_a_single_file(landing: Path) -> None:
    assert names(list_files(f"{landing}/?.csv"), landing) == ["a.csv", "b.csv"]
    assert names(list_files(f"{landing}/**/*.csv"), landing)[-1] == "empty.csv"
    assert names(list_files(f"file://{landing}/.hidden.csv"), landing) == [".hidden.csv"]
    assert list_files(f"{landing}/*.parquet") == ()


def test_identity_is_path_size_and_time(landing: Path) -> None:
    (before,) = list_files(str(landing / "a.csv"))
    os.utime(landing / "a.csv", ns=(before.mtime_ns, before.mtime_ns - 1))
    (older,) = list_files(str(landing / "a.csv"))
    assert older != before, "a file replaced by an older one is another file"


def test_a_file_is_left_alone_until_it_has_settled(landing: Path) -> None:
    now = 1_800_000_000.0
    ages = {"a.csv": 29, "b.csv": 31, "empty.csv": 0, "day=1/d.csv": -31, "_day=2/e.csv": -29, "deep/er/c.csv": 10**9}
    for name, age in ages.items():
        os.utime(landing / name, (now - age, now - age))
    listing = Listing(str(landing), "*.csv", Readiness(30, now_s=now))
    found = sorted(os.path.relpath(file.path, landing) for file in listing)
    assert found == ["b.csv", "day=1/d.csv", "deep/er/c.csv"], "a time far in the future does not wait for it"
    assert (listing.listed, listing.waiting) == (3, 3)


def test_a_marker_says_which_folders_and_files_are_whole(landing: Path) -> None:
    (landing / "a.csv.done").touch()
    by_folder = Listing(str(landing), "*.csv", Readiness(marker="_SUCCESS"))
    assert sorted(os.path.basename(file.path) for file in by_folder) == ["a.csv", "b.csv", "empty.csv"]
    by_file = Listing(str(landing), None, Readiness(marker="{name}.done"))
    assert [os.path.basename(file.path) for file in by_file] == ["a.csv"], "and a marker itself is no data"


def test_a_folder_that_goes_away_while_it_is_listed_is_no_error(landing: Path) -> None:
    listing = iter(Listing(str(landing), "*.csv"))
    found = [next(listing).path]
    for name in ("deep/er", "day=1"):
        for file in (landing / name).iterdir():
            file.unlink()
        (landing / name).rmdir()
    found += [file.path for file in listing]
    assert str(landing / "_day=2" / "e.csv") in found


def test_a_folder_that_cannot_be_read_is_an_error(landing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def refusing(path: str) -> object:
        if path.endswith("er"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr("os.scandir", refusing)
    with pytest.raises(RunError, match="deep/er` of the source cannot be read: Permission denied"):
        list_files(str(landing))


def test_a_missing_path_names_near_misses(landing: Path) -> None:
    with pytest.raises(RunError, match="does not exist") as caught:
        list_files(str(landing.parent / "landin"))
    assert "`landing`" in str(caught.value.problem.hint)
    with pytest.raises(RunError) as caught:
        list_files(str(landing / "deeep" / "er" / "c.csv"))
    assert "`deep`" in str(caught.value.problem.hint)
    with pytest.raises(RunError):
        list_files(str(landing / "nowhere" / "*.csv"))


def test_remote_files_are_refused() -> None:
    with pytest.raises(CapabilityError, match="not in a store"):
        list_files("hdfs://bucket/landing/")


@pytest.mark.parametrize(
    ("name", "format"),
    [("a.CSV", "csv"), ("a.csv.gz", "csv"), ("a.jsonl", "jsonl"), ("x/y.parquet", "parquet"), ("a", None)],
)
def test_the_extension_tells_the_format(name: str, format: str | None) -> None:
    assert find_format(name) == format


def test_files_of_several_formats_are_an_error_that_says_what_to_do() -> None:
    files = [SourceFile("a.csv", 1, 1), SourceFile("b.json", 1, 1)]
    with pytest.raises(RunError, match="different formats") as caught:
        format_of(files)
    assert "source.pattern" in str(caught.value.problem.hint)
    assert format_of(files[:1]) == "csv"
