"""The worker's own port: /metrics, /healthz and /readyz."""

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

Answer = tuple[int, str, bytes]
JSON = "application/json"


class Endpoint:
    """Serves what ``routes`` answer, by exact path, to GET only."""

    def __init__(self, host: str, port: int, routes: dict[str, Callable[[], Answer]]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                route = routes.get(self.path.split("?")[0])
                code, kind, body = route() if route else (404, "text/plain", b"not found\n")
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """No line per scrape."""

        ThreadingHTTPServer.daemon_threads = True
        self._server = ThreadingHTTPServer((host, port), Handler)
        Thread(target=self._server.serve_forever, name="endpoint", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def as_json(code: int, content: dict[str, object]) -> Answer:
    """An answer with a JSON body."""
    return code, JSON, json.dumps(content).encode() + b"\n"
