"""An Azure function that loads each blob that arrives by a contract, without a JVM.

The contract says `load_mode: incremental`: then a blob that is announced twice is loaded once. Application settings:
LAKELOGIC_CONTRACT names the contract in the package (default: contract.yaml), LAKELOGIC_ENGINE the engine (default
here: duckdb), LAKELOGIC_CONTAINER the container and folder that is watched, such as
`landing/orders/{name}`, and LAKELOGIC_ROOT its address, such as abfss://landing@account.dfs.core.windows.net.

Blobs that arrive together start functions at once, and one of them writes at a time. The others wait for WAIT_S: longer
than the 60 seconds after which the lock of a function that died is free.
"""

import logging
import os

import azure.functions as func

from lakelogic import DataProcessor

CONTRACT = os.environ.get("LAKELOGIC_CONTRACT", "contract.yaml")
WAIT_S = 120
ROOT = os.environ.get("LAKELOGIC_ROOT", "")

app = func.FunctionApp()


@app.blob_trigger(
    arg_name="blob",
    path=os.environ.get("LAKELOGIC_CONTAINER", "landing/{name}"),
    connection="AzureWebJobsStorage",
    source="EventGrid",
)
def load_blob(blob: func.InputStream) -> None:
    """Load one file; an error is raised, so that the trigger tries it again and nothing is lost."""
    path = f"{ROOT.rstrip('/')}/{(blob.name or '').partition('/')[2]}"
    engine = os.environ.get("LAKELOGIC_ENGINE", "duckdb")
    with DataProcessor(CONTRACT, engine=engine, wait_s=WAIT_S) as processor:
        result = processor.run_source(path)
    logging.info("%s: %s, %d accepted, %d quarantined", path, result.status, result.counts.accepted,
                 result.counts.quarantined)  # fmt: skip
