"""An AWS Lambda function that loads each file of an S3 event by a contract, without a JVM.

The contract says `load_mode: incremental`: then an event that comes twice loads its files once.

Environment: LAKELOGIC_CONTRACT names the contract in the package (default: contract.yaml), LAKELOGIC_ENGINE the engine
(default here: duckdb). The contract's own settings say where tables and state are; they must be on S3.

Files that arrive together start functions at once, and one of them writes at a time. The others wait for WAIT_S: longer
than the 60 seconds after which the lock of a function that died is free. Give the function a time limit above that; for
bursts that take longer, let events come through a queue, or give the function a reserved concurrency of 1.
The packages are larger than the 250 MB of a zip archive: deploy a container image.
"""

import os
from typing import Any
from urllib.parse import unquote_plus

from lakelogic import DataProcessor

CONTRACT = os.environ.get("LAKELOGIC_CONTRACT", "contract.yaml")
WAIT_S = 120


def handler(event: dict[str, Any], _context: Any = None) -> dict[str, Any]:
    """Load what an event names; an error is raised, so that Lambda tries the event again and nothing is lost."""
    engine = os.environ.get("LAKELOGIC_ENGINE", "duckdb")
    told = []
    with DataProcessor(CONTRACT, engine=engine, wait_s=WAIT_S) as processor:
        for record in event["Records"]:
            where = record["s3"]
            # Keys of events are written as in the query of an address: blanks as plus signs.
            path = f"s3://{where['bucket']['name']}/{unquote_plus(where['object']['key'])}"
            result = processor.run_source(path)
            told.append({"path": path, "status": result.status, "accepted": result.counts.accepted,
                         "quarantined": result.counts.quarantined})  # fmt: skip
    return {"files": told}
