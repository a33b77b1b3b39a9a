"""`python -m lakelogic`."""

from __future__ import annotations

from lakelogic.cli.program import main

if __name__ == "__main__":
    main()
