"""Attacks by clients that wait: their tokens end meanwhile, or they read nothing. See attacker.py."""

import contextlib
import resource
import socket
import time

STREAMS = 2_000
WAITING = (
    ("GET", "/v1/events", b"Accept: text/event-stream\r\n"),
    ("GET", "/v1/events?digest_ms=500", b"Accept: text/event-stream\r\n"),
    ("GET", "/v1/events?wait_ms=60000&queues=hostile.none", b""),
    ("POST", "/v1/claim", b""),
)
CLAIM = b'{"queues": ["hostile.none"], "worker": {"id": "waits"}, "wait_ms": 60000}'


class AttacksThatWait:
    def waiting(self, dice, token, filtered=False):
        """A connection with a request that waits; None: the server takes no more."""
        one = self.socket()
        if one is None:
            return None
        method, path, fields = WAITING[0] if filtered else dice.choice(WAITING)
        if filtered and dice.random() < 0.5:
            path = f"{path}?queues={self.PREFIX}{dice.randrange(1 << 30)}"
        body = CLAIM if method == "POST" else b""
        head = self.head(path, method, token)[:-2] + fields
        if body:
            head += b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(body)
        one.sendall(head + b"\r\n" + body)
        return one

    def ending_tokens(self):
        """Tokens that are revoked, rotated or expire under streams, digests, claims and waits."""

        def act(dice):
            made = {
                "name": f"hostile-{dice.randrange(1 << 40)}",
                "scopes": ["read", "work"],
                "queues": [self.PREFIX + "*"],
            }
            if dice.random() < 0.3:
                made["expires_in_ms"] = 1_000
            status, token = self.call("POST", "/v1/tokens", made)
            if status != 201:
                return time.sleep(0.1)
            with contextlib.ExitStack() as open_ones:
                for _ in range(30):
                    if one := self.waiting(dice, token["token"]):
                        open_ones.enter_context(one)
                time.sleep(dice.choice((0, 0.1, 0.5, 1.2)))
                if dice.random() < 0.3:
                    self.call("POST", f"/v1/tokens/{token['id']}/rotate", {"grace_ms": 0})
                    time.sleep(dice.choice((0, 0.3)))
                self.call("DELETE", f"/v1/tokens/{token['id']}")
                time.sleep(dice.choice((0, 0.3, 1)))
            return None

        self.on_threads(6, act)

    def silent_streams(self):
        """Thousands of streams that read nothing, half of them with filters that no other has."""
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        with contextlib.ExitStack() as open_ones:
            while self.goes_on() and len(open_ones._exit_callbacks) < STREAMS:
                one = self.waiting(self.dice, self.token, filtered=True)
                if one is None:
                    break
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                open_ones.enter_context(one)

            def act(_):
                jobs = [{"type": "t", "queue": self.PREFIX + "told", "delay_ms": 3_600_000}] * 100
                self.call("POST", "/v1/jobs/batch", {"jobs": jobs})
                time.sleep(0.1)

            self.on_threads(2, act)
