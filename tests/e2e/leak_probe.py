"""Run a contract with personal data on a Spark that shows and keeps all it can; save every page it has."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

from lakelogic import DataProcessor
from lakelogic.core.log import configure_log
from lakelogic.core.settings import read_settings
from lakelogic.engine.spark.session import open_session

PAGES = ("jobs/", "stages/", "storage/", "environment/", "executors/", "SQL/")


def main(folder: Path) -> None:
    import os

    conf = {
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
    }
    (folder / "events").mkdir()
    session = open_session(read_settings(os.environ), master="local[2]", conf=conf)
    configure_log(level="DEBUG")
    result = DataProcessor(folder / "contract.yaml", spark=session.spark).run()
    assert result.counts.accepted == 2 and result.counts.quarantined == 2, result.counts
    base = session.spark.sparkContext.uiWebUrl
    saved = folder / "pages"
    saved.mkdir()
    for page in [*PAGES, *[f"SQL/execution/?id={n}" for n in range(6)]]:
        with urllib.request.urlopen(f"{base}/{page}", timeout=30) as answer:
            (saved / f"{page.replace('/', '_').replace('?', '_')}.html").write_bytes(answer.read())
    # Whoever holds the key reads the quarantine in clear; that text must stay in memory.
    emails = {row["email"] for row in result.bad.select("email").collect()}
    assert "needle-not-a-mail" in emails, emails
    session.spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
