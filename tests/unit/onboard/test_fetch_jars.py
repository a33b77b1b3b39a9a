"""Jars are fetched once, into the cache only, and never beside what Spark brings itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakelogic.core.errors import RunError
from lakelogic.core.settings import read_settings
from lakelogic.onboard import fetch_jars as subject
from lakelogic.onboard.fetch_jars import DELTA, KAFKA, Package, fetch_jars, has_jars


@pytest.mark.parametrize(
    ("jar", "artifact"),
    [
        ("avro-1.12.1.jar", "avro"),
        ("delta-spark_4.2_2.13-4.4.0.jar", "delta-spark_4.2_2.13"),
        ("jackson-datatype-jdk8-2.13.5.jar", "jackson-datatype-jdk8"),
        ("jline-3.29.0-jdk8.jar", "jline"),
    ],
)
def test_an_artifact_is_its_name_without_the_version(jar: str, artifact: str) -> None:
    assert subject._artifact(jar) == artifact


def test_jars_that_are_there_are_not_fetched_again(tmp_path: Path) -> None:
    (tmp_path / f"io.delta_{DELTA.marker}").touch()
    settings = read_settings({"LAKELOGIC_JARS": str(tmp_path)})
    assert fetch_jars(settings, {}) == tmp_path


def test_a_named_folder_without_jars_is_refused_and_left_alone(tmp_path: Path) -> None:
    settings = read_settings({"LAKELOGIC_JARS": str(tmp_path)})
    with pytest.raises(RunError, match="unset LAKELOGIC_JARS"):
        fetch_jars(settings, {})
    assert list(tmp_path.iterdir()) == []


def test_without_java_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    environ = {"XDG_CACHE_HOME": str(tmp_path), "JAVA_HOME": str(tmp_path / "none")}
    with pytest.raises(RunError, match="install a Java runtime"):
        fetch_jars(read_settings(environ), environ)
    assert not has_jars(read_settings(environ).jars)


def test_what_spark_brings_itself_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (
        "spark/jars/avro-1.12.1.jar",
        "work/org.avro_avro-1.9.jar",
        f"work/io.delta_{DELTA.marker}",
        "jars/old.jar",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(subject, "_find_spark", lambda: tmp_path / "spark")
    subject._publish(tmp_path / "work", tmp_path / "jars")
    assert [jar.name for jar in (tmp_path / "jars").iterdir()] == [f"io.delta_{DELTA.marker}"]


def test_an_optional_package_is_asked_for_by_its_own_jar(tmp_path: Path) -> None:
    (tmp_path / f"io.delta_{DELTA.marker}").touch()
    settings = read_settings({"LAKELOGIC_JARS": str(tmp_path)})
    with pytest.raises(RunError, match=r"spark-sql-kafka.*\.jar` is not there"):
        fetch_jars(settings, {}, [KAFKA])
    (tmp_path / f"org.apache.spark_{KAFKA.marker}").touch()
    assert fetch_jars(settings, {}, [KAFKA]) == tmp_path


class Repository:
    """A double of Spark's resolver: knows all packages, and may lack one dependency of Kafka's."""

    def __init__(self, lacks: str | None = None) -> None:
        self.lacks = lacks
        self.asked: list[tuple[str, str | None]] = []

    def resolve(self, coordinates: str, work: Path, environ: object, *, without: str | None = None) -> str:
        self.asked.append((coordinates, without))
        if self.lacks and coordinates == KAFKA.coordinates and without is None:
            return f"unresolved dependency: {self.lacks}: not found"
        _, artifact, version = coordinates.split(":")
        (work / "jars").mkdir(exist_ok=True)
        clients = "3.9.1" if coordinates == KAFKA.substitute else "3.9.2"
        for name in (f"{artifact}-{version}", f"kafka-clients-{clients}"):
            (work / "jars" / f"org_{name}.jar").touch()
        return ""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    monkeypatch.setattr(subject, "_find_spark", lambda: tmp_path / "spark")
    return tmp_path / "lakelogic" / "jars"


def fetch(monkeypatch: pytest.MonkeyPatch, cache: Path, repository: Repository, *extras: Package) -> list[str]:
    monkeypatch.setattr(subject, "_resolve", repository.resolve)
    fetch_jars(read_settings({"XDG_CACHE_HOME": str(cache.parent.parent)}), {}, extras)
    return sorted(file.name.removeprefix("org_") for file in cache.iterdir())


def test_an_optional_package_joins_the_jars_that_are_there(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    repository = Repository()
    fetch(monkeypatch, cache, repository)
    (cache / "classes.jsa").touch()
    found = fetch(monkeypatch, cache, repository, KAFKA)
    assert repository.asked == [(DELTA.coordinates, None), (KAFKA.coordinates, None)]
    assert found == ["classes.jsa", DELTA.marker, "kafka-clients-3.9.2.jar", KAFKA.marker]


def test_a_dependency_that_the_repository_lacks_is_replaced_alone(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    repository = Repository(lacks="spark-token-provider-kafka-0-10_2.13;4.2.0")
    found = fetch(monkeypatch, cache, repository, KAFKA)
    assert repository.asked[1:] == [
        (KAFKA.coordinates, None),
        (KAFKA.coordinates, "org.apache.spark:spark-token-provider-kafka-0-10_2.13"),
        (KAFKA.substitute, None),
    ]
    provider = "spark-token-provider-kafka-0-10_2.13-4.1.0-preview1.jar"
    assert found == [DELTA.marker, "kafka-clients-3.9.2.jar", KAFKA.marker, provider]


def test_another_dependency_that_is_lacking_is_not_replaced(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    with pytest.raises(RunError, match="commons-pool2"):
        fetch(monkeypatch, cache, Repository(lacks="commons-pool2;2.13.1"), KAFKA)
    assert not has_jars(cache)


def test_a_new_version_of_delta_brings_along_what_was_there(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    cache.mkdir(parents=True)
    for old in ("org_delta-spark_4.1_2.13-4.2.0.jar", "org_spark-sql-kafka-0-10_2.13-4.1.0.jar"):
        (cache / old).touch()
    found = fetch(monkeypatch, cache, Repository())
    assert found == [DELTA.marker, "kafka-clients-3.9.2.jar", KAFKA.marker]


def test_what_is_missing_is_named_before_a_repository_that_does_not_answer() -> None:
    talk = """
        \tmodule not found: org.apache.spark#spark-avro_2.13;4.2.0
        Host repos.example.org not found. url=https://repos.example.org/x.pom
        \t::          UNRESOLVED DEPENDENCIES         ::
        \t:: org.apache.spark#spark-avro_2.13;4.2.0: not found
    """
    assert subject._reason(talk).startswith("org.apache.spark#spark-avro_2.13;4.2.0: not found; ")
    assert subject._reason("\n Host repos.example.org not found. \n") == "Host repos.example.org not found."
    assert subject._reason("") == "the resolver said nothing"
