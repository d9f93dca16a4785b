"""A receiver of pushes: an HTTP server that keeps its requests and answers as the test says."""

import base64
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time


class Call:
    """One request: its headers (names in lower case), its body, its begin and end."""

    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, headers, body
        self.begun, self.over = time.monotonic(), None

    @property
    def job(self):
        return self.headers["millrace-job-id"]

    @property
    def json(self):
        return json.loads(self.body)


class Receiver:
    """`answer(call)` returns (status, body bytes, headers), and may block. If it returns None, the
    connection is closed without an answer.
    """

    def __init__(self, answer=None):
        self.answer = answer or (lambda call: (200, b"", {}))
        self.calls = []
        self.most_at_once = 0
        self._running = {}
        self._lock = threading.Lock()
        self.twice_at_once = []  # jobs that were called twice concurrently
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                call = Call(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
                receiver._begin(call)
                try:
                    answer = receiver.answer(call)
                    if answer is None:
                        self.close_connection = True
                        return
                    status, out, headers = answer
                    self.send_response(status)
                    for name, value in headers.items():
                        self.send_header(name, value)
                    if status != 204:
                        self.send_header("content-length", str(len(out)))
                    self.end_headers()
                    if status != 204:  # a 204 has no body
                        self.wfile.write(out)
                except OSError:
                    pass  # the caller has disconnected
                finally:
                    receiver._end(call)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *_):
                pass

        self._http = Listener(("127.0.0.1", 0), Handler)
        self.port = self._http.server_port
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def _begin(self, call):
        with self._lock:
            if self._running.get(call.job):
                self.twice_at_once.append(call.job)
            self._running[call.job] = self._running.get(call.job, 0) + 1
            self.calls.append(call)
            self.most_at_once = max(self.most_at_once, sum(self._running.values()))

    def _end(self, call):
        with self._lock:
            call.over = time.monotonic()
            self._running[call.job] -= 1

    def jobs(self):
        with self._lock:
            return [call.job for call in self.calls]

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def nobody():
    """A URL on this machine at which no server listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/"


def signatures(secret, call):
    """The signature of a call by the Standard Webhooks scheme."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    text = f"{call.headers['webhook-id']}.{call.headers['webhook-timestamp']}.".encode() + call.body
    return "v1," + base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()
