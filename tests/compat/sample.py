"""Samples: stores that older programs left, with those programs' answers about the contents. Each
is two files in stores/: NAME.tar.gz, a SQLite data directory, or NAME.sql.gz, a dump of a
PostgreSQL database; and NAME.json, the server's answers. A name is STORE-LEVEL-END: the format
level of the newest row of the journal, and how that program ended.
"""

import gzip
import hashlib
import io
import json
import pathlib
import re
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/system"), str(ROOT / "tests")]

import harness  # noqa: E402 (its folder is on the path only now)
import postgres  # noqa: E402

STORES = HERE / "stores"
SUFFIXES = {"sqlite": ".tar.gz", "postgres": ".sql.gz"}
# The files of a data directory that a restart needs: not the lock, nor files that SQLite recreates.
FILES = ("millrace.store", "journal.db", "journal.db-wal", "jobs.db", "jobs.db-wal")

# Samples must be readable for years, so nothing in them may expire: queues keep ended jobs for
# ever, and waiting jobs are due and expire in FAR or never. Events and idempotency keys, and unique
# keys that outlive their jobs, are kept for at most ten years.
FAR = "2999-01-01T00:00:00.000Z"
TEN_YEARS_S = 10 * 365 * 86400
SERVE = ("--retention-events", "3650d", "--log-level", "warn", "--limits-idempotency-window")
WINDOW = "3650d"

LONG_TEXT = 200  # characters; of longer ones the digest is kept


class Sample:
    def __init__(self, store, level, end):
        self.store, self.level, self.end = store, level, end
        self.name = f"{store}-{level}-{end}"
        self.archive = STORES / (self.name + SUFFIXES[store])
        self.said = STORES / f"{self.name}.json"

    def __repr__(self):
        return self.name

    def expected(self):
        return json.loads(self.said.read_text())

    def unpack(self, directory):
        """Unpacks a data directory as it was left."""
        directory.mkdir(mode=0o700, parents=True)
        with tarfile.open(fileobj=io.BytesIO(gzip.decompress(self.archive.read_bytes()))) as archive:
            for member in archive:
                path = directory / pathlib.PurePosixPath(member.name).name
                path.write_bytes(archive.extractfile(member).read())
                path.chmod(0o600)
        return directory

    def restore(self, cluster):
        """Restores the database as it was left to a new one of the cluster; returns its URL."""
        url = cluster.new_database()
        subprocess.run(
            [
                postgres.program("psql"),
                "-X",
                "-q",
                "-1",
                "-v",
                "ON_ERROR_STOP=1",
                "-o",
                "/dev/null",
                url,
            ],
            input=gzip.decompress(self.archive.read_bytes()),
            stderr=subprocess.PIPE,
            check=True,
        )
        return url


def samples():
    """The existing samples, by name."""
    found = [re.fullmatch(r"(\w+)-(\d+)-(\w+)\.json", path.name) for path in sorted(STORES.glob("*.json"))]
    return [Sample(match[1], int(match[2]), match[3]) for match in found]


def newest_level():
    """The newest level of a journal's row, from src/store/event_codec.h."""
    header = (ROOT / "src/store/event_codec.h").read_text()
    levels = re.search(r"enum class EventFormat [^{]*\{(.*?)\};", header, re.DOTALL)[1]
    return max(int(number) for number in re.findall(r"^\s*k\w+ = (\d+),", levels, re.MULTILINE))


def known_events():
    """The names of the events of a journal's row in events.proto, by number."""
    message = re.search(r"^message Event \{(.*?)^\}", proto(), re.DOTALL | re.MULTILINE)[1]
    return {int(number): name for name, number in re.findall(r"(\w+) = (\d+);", message)}


def proto():
    return (ROOT / "src/store/events.proto").read_text()


# --- Packing.


def pack_directory(directory):
    """Packs a directory. The same files always give the same bytes."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in FILES:
            path = directory / name
            if path.exists():
                member = tarfile.TarInfo(name)
                member.size, member.mode = path.stat().st_size, 0o600
                archive.addfile(member, io.BytesIO(path.read_bytes()))
    return gzip.compress(packed.getvalue(), mtime=0)


def pack_database(url):
    """Dumps a database without owners, and without lines that only the newest psql understands."""
    dump = subprocess.run([postgres.program("pg_dump"), "--no-owner", url], capture_output=True, check=True).stdout
    return gzip.compress(re.sub(rb"(?m)^\\(un)?restrict .*\n", b"", dump), mtime=0)


# --- The server's answers, without parts that depend on the day.


def raw_member(text, name):
    """The bytes of the first member `name` in a document, or None."""
    found = re.search(f'"{name}":', text)
    if found is None:
        return None
    _, end = json.JSONDecoder().raw_decode(text, found.end())
    return text[found.end() : end]


def brief(value):
    """Replaces long texts by their digests."""
    if isinstance(value, dict):
        return {name: brief(member) for name, member in value.items()}
    if isinstance(value, list):
        return [brief(item) for item in value]
    if isinstance(value, str) and len(value) > LONG_TEXT:
        return f"{len(value)} characters, SHA-256 {hashlib.sha256(value.encode()).hexdigest()}"
    return value


def get(api, path, **query):
    reply = api.get(path, **query)
    if reply.status != 200:
        raise AssertionError(f"GET {path}: {reply}")
    return reply


def await_tables(api):
    """On all shards. (Dead jobs, for those of an outbox have a queue that no client may name.)"""
    get(api, "/v1/jobs", fresh="true", state="dead", limit=1)


def pages(api, path):
    items, query = [], {"limit": 1000}
    while True:
        page = get(api, path, **query).json
        items += page["items"]
        if page["next_cursor"] is None or not page["items"]:
            return items
        query["cursor"] = page["next_cursor"]


def say_job(api, job_id):
    reply = get(api, f"/v1/jobs/{job_id}", include="payload,result")
    text, job = reply.body.decode(), reply.json
    job.update(payload=raw_member(text, "payload"), result=raw_member(text, "result"))
    if job["progress"]:
        job["progress"]["checkpoint"] = raw_member(text, "checkpoint")
    del job["lease_expires_at"]
    life = {name: pages(api, f"/v1/jobs/{job_id}/{name}") for name in ("attempts", "logs", "events")}
    for event in life["events"]:
        for member in ("id", "queue", "job_id", "job_type"):
            del event[member]
    return brief({**job, **life})


def path_of(queue):
    return f"/v1/queues/{queue.replace('/', '%2F')}"


def say_queue(api, queue):
    said = get(api, path_of(queue)).json
    for member in ("oldest_ready_age_ms", "rates"):
        del said[member]
    return said


def path_of_schedule(name):
    return f"/v1/schedules/{name.replace('/', '%2F')}"


def say_schedule(api, name):
    """A schedule, without members that depend on the time."""
    said = get(api, path_of_schedule(name)).json
    del said["next"]
    return {**said, "runs": get(api, path_of_schedule(name) + "/runs").json["items"]}


def say_workflow(api, workflow_id):
    """A workflow with all that is told of its members."""
    path = f"/v1/workflows/{workflow_id}"
    members = pages(api, path + "/members")
    return brief(
        {
            **get(api, path, include="result").json,
            "listed": members,
            "each": [get(api, f"{path}/members/@{each['number']}", include="result").json for each in members],
            "graph": get(api, path + "/graph").json["items"],
            "blocking": get(api, path + "/why").json["blocking"],
        }
    )


def say_settings(api, path):
    """A limit, a gate of a type, or a push target."""
    said = get(api, path).json
    passing = ("next_token_at", "breaker_state", "open_until", "blocked_until")
    for member in (*passing, "served_by", "health"):
        said.pop(member, None)
    return said


def say_events(api):
    """The events by queue, because their order between shards is not defined."""
    by_queue = {}
    for event in pages(api, "/v1/events"):
        del event["id"], event["job_type"]
        by_queue.setdefault(event["queue"] or "", []).append(event)
    return brief(by_queue)


def say_statistics(api):
    """The statistics of a day, by queue."""
    figures = ("submitted", "started", "succeeded", "failed", "dead")
    groups = get(api, "/v1/stats", by="queue", window_ms=86_400_000, step_ms=3_600_000).json["groups"]
    return {str(group["queue"]): {figure: sum(group[figure]) for figure in figures} for group in groups}


def write_said(path, said):
    """Writes a line per job, queue and queue's events, so that people can compare two files."""

    def line(value):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    parts = []
    for name, value in said.items():
        if isinstance(value, dict) and name in ("jobs", "queues", "schedules", "workflows", "settings", "events"):
            lines = ",\n".join(f"  {line(key)}: {line(member)}" for key, member in value.items())
            parts.append(f" {line(name)}: {{\n{lines}\n }}")
        else:
            parts.append(f" {line(name)}: {line(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n")


# --- The contents of the journal.


def fields_of(message):
    """(number, value) of each field of a Protocol Buffers message."""
    place = 0

    def varint():
        nonlocal place
        value = shift = 0
        while True:
            byte = message[place]
            place += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while place < len(message):
        tag = varint()
        size = {0: 0, 1: 8, 2: 0, 5: 4}[tag & 7]
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = size or varint()
        yield tag >> 3, message[place : place + size]
        place += size


def read_journal(bodies):
    """The levels of a journal's rows, and the numbers of the events in them."""
    levels, events = set(), set()
    for body in bodies:
        for number, value in fields_of(body):
            if number == 1:
                levels.add(value)
            elif number == 3:
                events.update(kind for kind, _ in fields_of(value))
    return levels, events


def say_journal(store):
    levels, events = store.journal()
    return {
        "levels": sorted(levels),
        "events": [name for number, name in sorted(known_events().items()) if number in events],
        "rows_behind": store.rows_behind(),
    }


class Directory:
    """A data directory that no server has open."""

    def __init__(self, path):
        self.path = path

    def journal(self):
        rows = harness.read_database(self.path / "journal.db", "SELECT json_group_array(hex(body)) FROM journal")
        return read_journal(bytes.fromhex(row) for row in json.loads(rows))

    def rows_behind(self):
        """The number of the journal's rows that are not in its tables."""
        newest = harness.read_database(self.path / "journal.db", "SELECT max(seq) FROM journal")
        return newest - harness.read_database(self.path / "jobs.db", "SELECT seq FROM progress")


class Database:
    def __init__(self, cluster, url):
        self.cluster, self.url = cluster, url

    def sql(self, statement):
        return self.cluster.sql(statement, self.url)

    def _journal(self, columns):
        tables = self.sql(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'millrace' AND tablename ~ '^journal_[0-9]+_'"
        ).split()
        return " UNION ALL ".join(
            f"SELECT {name.split('_')[1]} AS shard, {columns} FROM millrace.{name}" for name in tables
        )

    def journal(self):
        rows = self.sql(f"SELECT encode(body, 'hex') FROM ({self._journal('body')}) AS row")
        return read_journal(bytes.fromhex(row) for row in rows.split())

    def rows_behind(self):
        newest = f"SELECT shard, max(seq) AS newest FROM ({self._journal('seq')}) AS row GROUP BY 1"
        behind = "SELECT sum(newest - seq) FROM millrace.shards JOIN"
        return int(self.sql(f"{behind} ({newest}) AS head USING (shard)"))
