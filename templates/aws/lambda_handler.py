"""An AWS Lambda function that loads each file of an S3 event by a contract, without a JVM.

The contract says `load_mode: incremental`: then an event that comes twice loads its files once.

Environment: LAKELOGIC_CONTRACT names the contract in the package (default: contract.yaml), LAKELOGIC_ENGINE the engine
(default here: duckdb). The contract's own settings say where tables and state are; they must be on S3.

Events may come from S3 itself, or through a queue (SQS), a topic (SNS) or EventBridge. What was deleted, and the
objects by which tools show a folder, are left out.

Files that arrive together start functions at once, and one of them writes at a time. The others wait for WAIT_S: longer
than the 60 seconds after which the lock of a function that died is free. Give the function a time limit above that; for
bursts that take longer, let events come through a queue, or give the function a reserved concurrency of 1.
The packages are larger than the 250 MB of a zip archive: deploy a container image.
"""

import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus

from lakelogic import DataProcessor, LakeLogicError

CONTRACT = os.environ.get("LAKELOGIC_CONTRACT", "contract.yaml")
WAIT_S = 120


def handler(event: dict[str, Any], _context: Any = None) -> dict[str, Any]:
    """Load what an event names; an error is raised, so that Lambda tries the event again and nothing is lost."""
    engine = os.environ.get("LAKELOGIC_ENGINE", "duckdb")
    told, failed = [], []
    with DataProcessor(CONTRACT, engine=engine, wait_s=WAIT_S) as processor:
        for path in find_paths(event):
            try:
                result = processor.run_source(path)
            except LakeLogicError as error:  # the other files of the event are loaded all the same
                failed.append(error)
                continue
            told.append({"path": path, "status": result.status, "accepted": result.counts.accepted,
                         "quarantined": result.counts.quarantined})  # fmt: skip
    if failed:
        raise failed[0]
    return {"files": told}


def find_paths(event: dict[str, Any]) -> Iterator[str]:
    """The files that an event tells of, whatever it came through."""
    if event.get("Event") == "s3:TestEvent":  # sent once, when notifications are set up
        return
    if "detail" in event:  # EventBridge, whose keys are written plainly
        detail = event["detail"]
        if event.get("detail-type") != "Object Deleted":
            yield from _path(detail["bucket"]["name"], detail["object"]["key"])
        return
    for record in event["Records"]:
        if "s3" in record:
            if not record.get("eventName", "").startswith(("ObjectRemoved", "LifecycleExpiration")):
                # Keys of these events are written as in the query of an address: blanks as plus signs.
                yield from _path(record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"]))
        else:
            yield from find_paths(json.loads(record["body"] if "body" in record else record["Sns"]["Message"]))


def _path(bucket: str, key: str) -> Iterator[str]:
    if not key.endswith("/"):  # a folder: its files have events of their own
        yield f"s3://{bucket}/{key}"
