"""An S3 server on loopback (moto), as a program: prints its port, and serves until it is stopped.

One request at a time, so that a condition and the write that it guards are one step, as they are on S3.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server


class OneAtATime:
    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application, self.lock = application, threading.Lock()

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        with self.lock:
            return list(self.application(environ, start_response))


def main() -> None:
    application = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True)
    print(server.port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
