"""The limits of the machine, and Millrace itself."""

import contextlib
import subprocess

from peers import Row, by_thousand, postgres
from processes import Skipped, answer_of, data_folder, free_port, server

HTTP_SECONDS = 4


def program(options, name):
    path = options.limits_build / "bench_limits" / name
    if not path.exists():
        raise Skipped(f"{name} is not built: the target bench_limits builds it")
    return path


def on_disk(name, batch):
    def measure(options):
        with data_folder(options.data_parent) as folder:
            answer = answer_of(
                [program(options, name), folder / "file", options.jobs, batch, options.payload], options.limit_s
            )
        return answer["lifecycles_per_s"], ""

    return measure


def in_postgres(batch):
    def measure(options):
        limit = program(options, "postgres_limit")
        with postgres(options) as (_, port, postgres_version):
            answer = answer_of([limit, postgres_url(port), options.jobs, batch, options.payload], options.limit_s)
        return answer["lifecycles_per_s"], postgres_version

    return measure


def http_load(options, port, connections):
    seconds = 1 if options.quick else HTTP_SECONDS
    command = [program(options, "http_limit"), "load", port, connections, seconds, options.payload]
    return answer_of(command, options.limit_s)["requests_per_s"]


def bare_http(connections):
    def measure(options):
        port = free_port()
        with data_folder(options.data_parent) as folder:
            with server([program(options, "http_limit"), "serve", port], port, folder):
                return http_load(options, port, connections), ""

    return measure


def postgres_url(port):
    return f"postgres://bench@127.0.0.1:{port}/bench"


@contextlib.contextmanager
def millrace(options, store=("--data", "data")):
    if not options.millrace.exists():
        raise Skipped("not built: the target millrace builds it")
    port = free_port()
    with data_folder(options.data_parent) as folder:
        command = [options.millrace, "serve", "--listen", f"127.0.0.1:{port}", *store, "--log-level", "warn"]
        with server(command, port, folder):
            yield port


@contextlib.contextmanager
def millrace_on_postgres(options):
    with postgres(options) as (_, port, _), millrace(options, ("--postgres", postgres_url(port))) as own_port:
        yield own_port


def version(options):
    run = subprocess.run([options.millrace, "version"], capture_output=True, text=True, check=False)
    return run.stdout.split("\n")[0].removeprefix("millrace ").strip()


def roundtrip(connections, retention, serve, *more):
    def measure(options):
        with serve(options) as port:
            command = [
                options.millrace,
                "bench",
                "roundtrip",
                "--url",
                f"http://127.0.0.1:{port}",
                "-o",
                "json",
                "--jobs",
                options.jobs,
                "--producers",
                connections,
                "--workers",
                connections,
                "--batch",
                options.batch,
                "--payload",
                options.payload,
                "--retention",
                retention,
                *more,
            ]
            return answer_of(command, options.limit_s)["lifecycles_per_s"], version(options)

    return measure


def submissions(connections):
    def measure(options):
        with millrace(options) as port:
            return http_load(options, port, connections), version(options)

    return measure


SYNCED = "every commit synced"

LIMITS = [
    Row(
        "limits",
        "raw append, a sync per 1,000",
        "three appends a batch",
        "every append synced",
        True,
        on_disk("append_limit", 1000),
        "limit",
        batch=1000,
    ),
    Row(
        "limits",
        "SQLite, a row per 1,000",
        "three rows a batch",
        SYNCED,
        True,
        on_disk("sqlite_limit", 1000),
        "limit",
        batch=1000,
    ),
    Row(
        "limits",
        "SQLite, a row per 100",
        "three rows a batch",
        SYNCED,
        True,
        on_disk("sqlite_limit", 100),
        "limit",
        batch=100,
    ),
    *(
        Row(
            "limits",
            f"PostgreSQL, a row per {batch:,}",
            "three rows a batch",
            SYNCED,
            True,
            in_postgres(batch),
            "limit",
            on_postgres=True,
            batch=batch,
        )
        for batch in (1000, 100)
    ),
    Row(
        "limits",
        "bare Beast server, 64 connections",
        "one thread, a small answer",
        "-",
        None,
        bare_http(64),
        "limit",
        "requests/s",
        batch=1,
    ),
    Row(
        "limits",
        "bare Beast server, 1 connection",
        "one thread, a small answer",
        "-",
        None,
        bare_http(1),
        "limit",
        "requests/s",
        batch=1,
    ),
]


def lifecycles(where, connections, retention, serve, on_postgres):
    return Row(
        "millrace",
        f"{where}, {connections} + {connections}, retention {retention}",
        f"{connections} producers, {connections} workers, calls of a batch",
        SYNCED,
        True,
        roundtrip(connections, retention, serve),
        "millrace",
        on_postgres=on_postgres,
    )


def with_sdk(where, serve, on_postgres):
    """The server as used by programs with the SDK; the bench's own workers use hardly any CPU."""
    return Row(
        "millrace",
        f"{where}, 8 + 8, retention 0, workers of the SDK",
        "8 producers, 8 workers of the C++ library with a batch of jobs at a time",
        SYNCED,
        True,
        roundtrip(8, "0", serve, "--sdk"),
        "millrace",
        on_postgres=on_postgres,
    )


def of_store(where, serve, on_postgres=False):
    rows = [
        lifecycles(where, connections, retention, serve, on_postgres)
        for retention in ("0", "24h")
        for connections in (8, 16)
    ]
    return [*rows, by_thousand(rows[0]), with_sdk(where, serve, on_postgres)]


OWN = [
    *of_store("Millrace", millrace),
    *of_store("Millrace on PostgreSQL", millrace_on_postgres, on_postgres=True),
    *(
        Row(
            "millrace",
            f"Millrace, POST /v1/jobs, {connections} connection{'s' if connections > 1 else ''}",
            "one job a request, submission alone",
            SYNCED,
            True,
            submissions(connections),
            "millrace",
            "requests/s",
            batch=1,
        )
        for connections in (64, 1)
    ),
]
