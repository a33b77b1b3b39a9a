"""What a Kafka broker says about a topic: partitions and the offsets they begin and end with.

Asked with a small client, in milliseconds and without a JVM: an idle run starts no Spark, and a scan of the topic
only to learn its offsets would cost as much as the load itself. Messages are read by the engine, never here.
"""

from __future__ import annotations

import difflib
from typing import Any

from lakelogic.core.errors import RunError
from lakelogic.core.secrets import Secret, reveal
from lakelogic.source.topics import Bounds, Topic

TIMEOUT_S = 15


def describe_topic(servers: str | int | float | bool | Secret, name: str) -> Topic:
    """Ask the broker; what a transaction has not committed yet lies behind the end."""
    kafka = _import_client()
    admin = kafka.admin.AdminClient(
        {"bootstrap.servers": str(reveal(servers)), "client.id": "lakelogic", "log_level": 0}
    )
    try:
        described = admin.describe_topics(kafka.TopicCollection([name]), request_timeout=TIMEOUT_S)[name].result()
        numbers = [partition.id for partition in described.partitions]
        earliest = _ask_offsets(kafka, admin, name, numbers, kafka.admin.OffsetSpec.earliest())
        end = _ask_offsets(kafka, admin, name, numbers, kafka.admin.OffsetSpec.latest())
    except kafka.KafkaException as error:
        raise _translate(kafka, admin, error, servers, name) from error
    topic_id = str(described.topic_id) if described.topic_id is not None else None
    return Topic(name, topic_id, {number: Bounds(earliest[number], end[number]) for number in numbers})


def _ask_offsets(kafka: Any, admin: Any, name: str, numbers: list[int], wanted: Any) -> dict[int, int]:
    request = {kafka.TopicPartition(name, number): wanted for number in numbers}
    isolation = kafka.IsolationLevel.READ_COMMITTED
    answers = admin.list_offsets(request, isolation_level=isolation, request_timeout=TIMEOUT_S)
    return {partition.partition: int(answer.result().offset) for partition, answer in answers.items()}


def _translate(kafka: Any, admin: Any, error: Any, servers: object, name: str) -> RunError:
    fault = error.args[0]
    if fault.code() == kafka.KafkaError.UNKNOWN_TOPIC_OR_PART:
        near = difflib.get_close_matches(name, list(admin.list_topics(timeout=TIMEOUT_S).topics), n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(f'`{other}`' for other in near)}?" if near else "is it the right broker?"
        return RunError(f"there is no topic `{name}` at `{servers}`", code="LL430", hint=hint)
    return RunError(
        f"Kafka at `{servers}` gave no answer about topic `{name}`: {fault.name()}",
        code="LL435",
        hint="check source.kafka.bootstrap_servers, and that the broker runs and can be reached from here",
        retryable=True,
    )


def _import_client() -> Any:
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ModuleNotFoundError as error:
        raise RunError(
            "a Kafka source needs the package `confluent-kafka`, which is not installed",
            hint="pip install 'lakelogic[kafka]'",
            code="LL437",
        ) from error
    return confluent_kafka
