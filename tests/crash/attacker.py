"""One attack on a server, for a number of seconds; or the probe, which measures claims meanwhile.

    attacker.py NAME --at HOST:PORT --token T --limited T --seed S --seconds N [--archive DIR]

Exits with 1 and a message if the server revealed anything secret. All jobs are in queues whose
names begin with "hostile.", and are deleted afterwards.
"""

import argparse
import http.client
import json
import os
import random
import socket
import sys
import threading
import time
import urllib.parse

from attacks_on_files import AttacksOnFiles
from attacks_that_pile_up import AttacksThatPileUp
from attacks_that_wait import AttacksThatWait

PREFIX = "hostile."
QUEUE = PREFIX + "pile"
PILE_JOBS = 3_000
PILE_PAYLOAD = 10_000
READS = (
    "/v1/jobs?q=payload.z:2",
    "/v1/jobs?limit=1000&include=payload,result",
    "/v1/events?queues=none",
    "/v1/events?limit=1000",
    "/v1/events?wait_ms=60000&queues=none",
    "/v1/stats?by=queue",
    "/v1/queues?limit=1000",
    "/metrics",
)


class Leak(Exception):
    """The server revealed something to a client that may not know it."""


class Attacker(AttacksThatWait, AttacksThatPileUp, AttacksOnFiles):
    PREFIX = PREFIX
    Leak = Leak

    def __init__(self, options):
        self.host, port = options.at.rsplit(":", 1)
        self.port = int(port)
        self.token, self.limited = options.token, options.limited
        self.archive, self.program = options.archive, os.environ.get("MILLRACE_BIN")
        self.seed, self.dice = options.seed, random.Random(options.seed)
        self.ends = time.monotonic() + options.seconds
        self.leak = None

    def goes_on(self):
        return time.monotonic() < self.ends and self.leak is None

    # Sending requests.

    def call(self, method, path, body=None, token=None, timeout_s=20):
        """(status, JSON or None); status 0: no answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout_s)
        try:
            headers = {"Authorization": f"Bearer {token or self.token}"}
            raw = None if body is None else json.dumps(body)
            connection.request(method, path, raw, headers)
            answer = connection.getresponse()
            text = answer.read()
            is_json = "json" in answer.getheader("content-type", "")
            return answer.status, json.loads(text) if text and is_json else None
        except (OSError, http.client.HTTPException, ValueError):
            return 0, None
        finally:
            connection.close()

    def socket(self, timeout_s=10):
        try:
            return socket.create_connection((self.host, self.port), timeout=timeout_s)
        except OSError:
            return None

    def head(self, path, method="GET", token=None):
        return (
            f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {token or self.token}\r\n\r\n"
        ).encode()

    def on_threads(self, count, act):
        """Calls `act(dice)` repeatedly on this many threads."""

        def loop(number):
            dice = random.Random(f"{self.seed}/{number}")
            while self.goes_on():
                try:
                    act(dice)
                except Leak as leak:
                    self.leak = leak
                except OSError:
                    pass

        threads = [threading.Thread(target=loop, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def pile(self):
        """Submits jobs for searches, as many as the server accepts."""
        filling = "x" * PILE_PAYLOAD
        for _ in range(0, PILE_JOBS, 100):
            jobs = [{"type": "t", "queue": QUEUE, "payload": {"f": filling}, "delay_ms": 3_600_000}] * 100
            self.call("POST", "/v1/jobs/batch", {"jobs": jobs})

    # The attacks.

    def abandoned_reads(self):
        """Clients that send a request and disconnect, at once or a moment later."""
        self.pile()

        def act(dice):
            left = []
            for _ in range(50):
                if one := self.socket():
                    one.sendall(self.head(dice.choice(READS)) * dice.choice((1, 1, 3)))
                    left.append(one)
            time.sleep(dice.choice((0, 0, 0.05, 0.3)))
            for one in left:
                one.close()

        self.on_threads(4, act)

    def slow_readers(self):
        """Clients that request the largest pages and read them slowly, or not at all."""
        self.pile()

        def act(dice):
            one = self.socket()
            if one is None:
                return time.sleep(0.1)
            with one:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                one.sendall(self.head("/v1/jobs?limit=1000&include=payload"))
                silent = dice.random() < 0.7
                until = time.monotonic() + dice.uniform(1, 6)
                while time.monotonic() < until and self.goes_on():
                    if not silent and not one.recv(512):
                        return
                    time.sleep(0.1)

        self.on_threads(120, act)

    def huge_pages(self):
        """Requests for everything, repeatedly, and bodies of the maximum size."""
        self.pile()

        def act(dice):
            if dice.random() < 0.2:
                job = {"type": "t", "queue": PREFIX + "big", "payload": "x" * 1_000_000, "delay_ms": 3_600_000}
                self.call("POST", "/v1/jobs/batch", {"jobs": [job] * dice.randint(1, 15)})
            elif dice.random() < 0.2:
                worker = {"id": f"huge-{dice.randrange(9)}"}
                claim = {"queues": [PREFIX + "big"], "limit": 1000, "worker": worker}
                self.call("POST", "/v1/claim", claim)
            else:
                self.call("GET", dice.choice(READS[:4] + READS[5:]))

        self.on_threads(8, act)

    def many_names(self):
        """Many useless queues, types, workers, keys and tags, and lists of them."""

        def act(dice):
            name = f"{PREFIX}{dice.randrange(100_000)}"
            way = dice.randrange(6)
            if way == 0:
                self.call("POST", f"/v1/queues/{name}/pause?create=true")
            elif way == 1:
                jobs = [
                    {"type": f"t{dice.randrange(10_000)}", "queue": f"{name}.{n}", "tags": [f"x{n}"]}
                    for n in range(100)
                ]
                self.call("POST", "/v1/jobs/batch", {"jobs": jobs})
            elif way == 2:
                labels = {f"l{n}": "x" * 100 for n in range(70)}
                worker = {"id": name, "host": "h", "labels": labels}
                self.call("POST", "/v1/claim", {"queues": [name], "worker": worker})
            elif way == 3:
                self.call("GET", "/v1/queues?limit=1")
            elif way == 4:
                self.call("GET", "/v1/workers?limit=100")
            else:
                self.call("GET", "/metrics")

        self.on_threads(8, act)

    def wrong_tokens(self):
        """A token for "hostile." only, used under the names of other tokens' workers."""
        limited = self.limited

        def act(dice):
            names = [f"worker-{n}" for n in range(8)]
            status, jobs = self.call("GET", "/v1/jobs?limit=100")
            foreign = [job for job in jobs["items"] if not job["queue"].startswith(PREFIX)] if status == 200 else []
            items = [
                {"id": job["id"], "token": dice.randrange(1, 1 << 53), "outcome": "succeeded"}
                for job in dice.sample(foreign, min(len(foreign), 20))
            ]
            poll = {"acks": items, "claim": {"queues": [QUEUE], "limit": 10, "wait_ms": 50}}
            status, told = self.call("POST", f"/v1/workers/{dice.choice(names)}/poll", poll, limited)
            if status == 200:
                if told["commands"]:
                    raise Leak(f"another worker's orders were told: {told['commands']}")
                for result in told["acks"]:
                    if result["status"] < 400:
                        raise Leak(f"an ack of another queue's job was taken: {result}")
            for path in ("/v1/jobs?limit=100", "/v1/events?limit=200", "/v1/workers", "/v1/queues"):
                status, page = self.call("GET", path, token=limited)
                if status == 200:
                    self.look_for_strangers(path, page["items"])
            for job in foreign[:3]:
                for method, suffix in (("GET", ""), ("POST", "/cancel"), ("GET", "/logs")):
                    status, _ = self.call(method, f"/v1/jobs/{job['id']}{suffix}", token=limited)
                    if status not in (0, 404, 503):
                        raise Leak(f"{method} {suffix} of another queue's job: {status}")

        self.on_threads(4, act)

    def look_for_strangers(self, path, items):
        for item in items:
            queues = item.get("queues", [item.get("queue", item.get("name"))])
            if any(queue and not queue.startswith(PREFIX) for queue in queues):
                raise Leak(f"{path} shows {item}")

    def log_flood(self):
        """Jobs that log as much as allowed in each of many attempts, and readers of their logs."""

        def act(dice):
            queue = f"{PREFIX}logs"
            status, job = self.call("POST", "/v1/jobs", {"type": "t", "queue": queue})
            if status != 201:
                return time.sleep(0.1)
            for _ in range(20):
                claim = {"queues": [queue], "worker": {"id": f"logger-{dice.randrange(99)}"}}
                status, given = self.call("POST", "/v1/claim", claim)
                if status != 200 or not given["jobs"] or not self.goes_on():
                    return None
                held = given["jobs"][0]
                lines = [{"level": "info", "message": "x" * 8_000}] * 32
                item = {"id": held["id"], "token": held["lease"]["token"], "outcome": "released"}
                self.call("POST", "/v1/ack", {"items": [{**item, "logs": lines}]})
                self.call("GET", f"/v1/jobs/{held['id']}/logs?limit={dice.choice((1, 100, 1000))}")
            return None

        self.on_threads(6, act)

    def garbage(self):
        """Malformed requests, and requests that never end."""
        beginnings = (
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /v1/jobs HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
            b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        )

        def act(dice):
            one = self.socket()
            if one is None:
                return time.sleep(0.1)
            with one:
                way = dice.randrange(3)
                if way == 0:
                    one.sendall(dice.choice(beginnings))
                elif way == 1:
                    one.sendall(dice.randbytes(dice.randrange(1, 5_000)))
                else:
                    whole = self.head("/v1/jobs/" + urllib.parse.quote(dice.randbytes(20)))
                    one.sendall(whole[: dice.randrange(len(whole))])
                one.settimeout(dice.uniform(0, 1))
                try:
                    one.recv(4096)
                except TimeoutError:
                    pass
            return None

        self.on_threads(40, act)

    # Afterwards.

    def clean_up(self):
        """Deletes all that an attack has made."""
        time.sleep(0.5)
        deadline = time.monotonic() + 40
        self.delete_all("schedules", deadline)
        self.cancel_operations()
        while time.monotonic() < deadline:
            status, page = self.call("GET", "/v1/queues?limit=1000")
            if status != 200:
                time.sleep(0.2)
                continue
            names = [queue["name"] for queue in page["items"]]
            left = [name for name in names if name.startswith(PREFIX)]
            for name in left:
                if time.monotonic() > deadline:
                    return
                status, _ = self.call("DELETE", f"/v1/queues/{name}?force=true")
                if status in (404, 405):
                    self.call("POST", f"/v1/queues/{name}/purge", {})
            if page["next_cursor"] is None and (not left or status in (404, 405)):
                break
        self.delete_all("limits", deadline)

    def delete_all(self, kind, deadline):
        """Deletes what the attack has made of this kind, `schedules` or `limits`."""
        while time.monotonic() < deadline:
            status, page = self.call("GET", f"/v1/{kind}?limit=1000")
            left = [one["name"] for one in page["items"] if one["name"].startswith(PREFIX)] if status == 200 else []
            if not left:
                return
            for name in left:
                if time.monotonic() < deadline:
                    self.call("DELETE", f"/v1/{kind}/{name}?force=true" if kind == "limits" else f"/v1/{kind}/{name}")

    def cancel_operations(self):
        status, page = self.call("GET", "/v1/operations?limit=1000")
        for one in page["items"] if status == 200 else []:
            if one["state"] in ("running", "paused"):
                self.call("POST", f"/v1/operations/{one['id']}/cancel")


def probe(attacker):
    """Measures how long claims take that wait only for the server."""
    took = []
    queue = PREFIX + "probe"
    connection = http.client.HTTPConnection(attacker.host, attacker.port, timeout=20)
    headers = {"Authorization": f"Bearer {attacker.token}"}

    def post(path, body):
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    while attacker.goes_on():
        try:
            post("/v1/jobs", {"type": "t", "queue": queue})
            asked = time.monotonic()
            status, given = post("/v1/claim", {"queues": [queue], "worker": {"id": "probe"}})
            if status == 200:
                took.append((time.monotonic() - asked) * 1000)
                for job in given["jobs"]:
                    post(f"/v1/jobs/{job['id']}/complete", {"token": job["lease"]["token"]})
        except (OSError, http.client.HTTPException):
            connection.close()
        time.sleep(0.003)
    took.sort()
    p99 = took[int(len(took) * 0.99)] if took else float("inf")
    print(json.dumps({"claims": len(took), "p99_ms": p99}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--at", required=True)
    parser.add_argument("--token", required=True)
    parser.add_argument("--limited", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--archive", help="the server's")
    attacker = Attacker(parser.parse_args())
    name = parser.parse_args().name
    if name == "probe":
        # It measures the server, not its own delays on a busy machine.
        if os.getuid() == 0:
            os.nice(-10)
        probe(attacker)
        return 0
    os.nice(10)
    try:
        getattr(attacker, name.replace("-", "_"))()
    except Leak as leak:
        attacker.leak = leak
    attacker.clean_up()
    if attacker.leak:
        print(attacker.leak)
    return 1 if attacker.leak else 0


if __name__ == "__main__":
    sys.exit(main())
