"""The clients of the test suites: a keep-alive client that checks every reply against the contract,
and raw sockets for malformed requests.
"""

import http.client
import json
import socket
import time
import urllib.parse

import contract

TIMEOUT_S = 70  # longer than the longest poll
# A connection that was idle for longer is reopened, because the server closes it after a minute.
KEPT_S = 40


class Reply:
    """One complete answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # lower-case names
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The problem's code; None if the answer is not a problem."""
        if self.headers.get("content-type", "").startswith("application/problem+json"):
            return self.json["code"]
        return None

    @property
    def places(self):
        """The places of a problem's faults: pointers, parameters and headers."""
        return [
            fault.get("pointer", fault.get("parameter", fault.get("header"))) for fault in self.json.get("errors", [])
        ]

    @property
    def found_no_leader(self):
        """Whether the shard had no leader and nothing was done, so the request may be repeated."""
        return (
            self.status == 503
            and bool(self.body)  # a HEAD has none
            and self.code == "storage_unavailable"
            and "leads the queue's shard, and nothing was done" in self.json["detail"]
        )

    def __repr__(self):
        return f"<{self.status} {self.body[:400]!r}>"


class AnyContract:
    """A `Client.contract` for a program that today's contract does not describe."""

    def check_reply(self, *_):
        pass


class Client:
    """One connection, kept alive. Not thread-safe: each thread uses its own."""

    _contract = None  # shared by the process, read from the first server

    def __init__(self, host, port, token=None, contract_token=None, tls=None):
        self.host, self.port, self.token = host, port, token
        self.tls = tls  # an ssl.SSLContext if the server uses TLS
        self._contract_token = contract_token or token
        self._connection = None
        self._used = 0.0
        self.patience_s = 0  # how long to retry while the shard has no leader

    def get(self, path, headers=None, **query):
        return self.request("GET", path, query=query, headers=headers)

    def post(self, path, body=None, raw=None, headers=None, **query):
        return self.request("POST", path, body, raw, query, headers)

    def put(self, path, body=None, raw=None, headers=None):
        return self.request("PUT", path, body, raw, None, headers)

    def patch(self, path, body=None, raw=None, headers=None, **query):
        return self.request("PATCH", path, body, raw, query, headers)

    def delete(self, path, headers=None, **query):
        return self.request("DELETE", path, query=query, headers=headers)

    def request(self, method, path, body=None, raw=None, query=None, headers=None):
        """Sends `raw` bytes, or `body` as JSON, or nothing. Returns the Reply, checked against the
        contract.
        """
        target = path
        if query:
            joined = {
                name: ",".join(value) if isinstance(value, (list, tuple)) else value for name, value in query.items()
            }
            target += "?" + urllib.parse.urlencode(joined)
        if raw is None and body is not None:
            raw = json.dumps(body).encode()
        sent = {} if raw is None else {"Content-Type": "application/json"}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        sent.update(headers or {})
        sent = {k: v for k, v in sent.items() if v is not None}
        until = time.monotonic() + self.patience_s
        while True:
            reply = self._exchange(method, target, raw, sent)
            self.contract().check_reply(method, target, reply.status, reply.headers, reply.body)
            if not reply.found_no_leader or time.monotonic() > until:
                return reply
            time.sleep(0.1)

    def _exchange(self, method, target, raw, headers):
        if time.monotonic() - self._used > KEPT_S:
            self.close()
        if self._connection is None:
            self._connection = (
                http.client.HTTPSConnection(self.host, self.port, timeout=TIMEOUT_S, context=self.tls)
                if self.tls
                else http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_S)
            )
        try:
            self._connection.request(method, target, raw, headers)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        self._used = time.monotonic()
        if answer.will_close:
            self.close()
        return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, body)

    def contract(self):
        if Client._contract is None:
            reader = Client(self.host, self.port, tls=self.tls)
            headers = {"Authorization": f"Bearer {self._contract_token}"} if self._contract_token else {}
            reply = reader._exchange("GET", "/v1/openapi.json", None, headers)
            reader.close()
            if reply.status != 200:
                raise AssertionError(f"GET /v1/openapi.json: {reply}")
            Client._contract = contract.Contract(reply.json)
        return Client._contract

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class RawConnection:
    """A socket that sends exactly the given bytes."""

    def __init__(self, host, port, timeout=10, tls=None):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=host)
        self._buffer = b""

    def send(self, data, pause_s=0.0, pieces=None):
        """Sends `data`, split at the offsets `pieces`, with a pause between the parts."""
        start = 0
        for end in [*(pieces or []), len(data)]:
            self.socket.sendall(data[start:end])
            start = end
            if pause_s and end < len(data):
                time.sleep(pause_s)

    def read_reply(self, head_only=False):
        """The next Reply, or None if the server closed the connection first."""
        while b"\r\n\r\n" not in self._buffer:
            if not self._read_more():
                return None
        head, self._buffer = self._buffer.split(b"\r\n\r\n", 1)
        status_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, value = line.split(":", 1)
            headers[name.strip().lower()] = value.strip()
        status = int(status_line.split(" ")[1])
        if status == 100 or head_only:
            return Reply(status, headers, b"")
        length = int(headers.get("content-length", 0))
        while len(self._buffer) < length and self._read_more():
            pass
        body, self._buffer = self._buffer[:length], self._buffer[length:]
        return Reply(status, headers, body)

    def closed_by_server(self):
        """Whether the server closes the connection now without sending anything more."""
        if self._buffer:
            return False
        try:
            return not self._read_more()
        except TimeoutError:
            return False

    def _read_more(self):
        try:
            data = self.socket.recv(65536)
        except ConnectionResetError:
            return False
        self._buffer += data
        return bool(data)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
