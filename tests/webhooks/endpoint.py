"""An endpoint of somebody else's: a real HTTP server on this machine that answers as a test wants."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    headers: dict
    body: bytes
    path: str


class Endpoint:
    """``answer(handler)`` is called for each request; the default says 204. ``over`` is set at the end."""

    def __init__(self):
        self.received = []
        self.answer = lambda handler: reply(handler, 204)
        self.over = threading.Event()
        self.port = 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def ids(self):
        return [each.headers["webhook-id"] for each in self.received]


def reply(handler, code, body=b"", **headers):
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    if code != 204:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@contextmanager
def serving() -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self):
            try:
                super().handle_one_request()
            except OSError:
                self.close_connection = True

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            endpoint.received.append(Received(headers, body, self.path))
            endpoint.answer(self)

        do_GET = do_POST

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    endpoint.port = server.server_port
    try:
        yield endpoint
    finally:
        endpoint.over.set()
        server.shutdown()
        server.server_close()
        thread.join()
