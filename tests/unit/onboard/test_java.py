"""Java is found where Spark would find it, without starting it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.onboard.java import Java, find_java


def _install(home: Path, version: str | None) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 99\n")
    program.chmod(0o755)
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="X"\nJAVA_VERSION="{version}"\n')
    return program


def test_java_home_wins_over_the_path(tmp_path: Path) -> None:
    _install(tmp_path / "in_path", "21.0.1")
    program = _install(tmp_path / "home", "17.0.2")
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "in_path" / "bin")})
    assert found == Java(program, "17.0.2")


def test_a_wrong_java_home_is_not_papered_over(tmp_path: Path) -> None:
    _install(tmp_path / "in_path", "21.0.1")
    assert find_java({"JAVA_HOME": str(tmp_path / "none"), "PATH": str(tmp_path / "in_path" / "bin")}) is None


def test_links_in_the_path_are_followed_to_the_version(tmp_path: Path) -> None:
    program = _install(tmp_path / "jdk", "21")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(program)
    assert find_java({"PATH": str(tmp_path / "bin")}) == Java(program.resolve(), "21")


def test_no_java_is_none(tmp_path: Path) -> None:
    assert find_java({"PATH": str(tmp_path)}) is None


@pytest.mark.parametrize(("version", "too_old"), [("1.8.0_402", True), ("11.0.2", True), ("17", False), (None, False)])
def test_age_is_judged_by_the_major_number(version: str | None, too_old: bool) -> None:
    assert Java(Path("java"), version).too_old is too_old
