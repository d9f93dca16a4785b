"""The measured programs: the SDK of each language, and its peers."""

import dataclasses

import programs
import stores

RDB = "Redis as shipped: snapshots a minute or more apart; not durable"
AOF = "Redis, appendfsync always: every write synced before its answer"
POSTGRES = "PostgreSQL, synchronous_commit on: every commit synced before its answer"
MILLRACE = "every step synced before its answer"


@dataclasses.dataclass
class Row:
    """One line of the table. `unfinished`: counts the jobs in its store that have not succeeded."""

    language: str
    label: str
    build: object  # (say) -> Program; raises Skipped
    store: object  # context manager (options, unfinished) -> Store
    durability: str
    mode: str
    is_synced: bool = True
    is_own: bool = False
    waits: bool = True  # its idle cost is measured
    unfinished: object = None


def own(language, label, build, mode):
    return Row(language, f"Millrace, {label}", build, stores.millrace, MILLRACE, mode, is_own=True)


def on_redis(language, label, build, mode, unfinished):
    """The same worker on Redis with default settings, and with sync."""
    row = Row(language, label, build, stores.redis(), RDB, mode, is_synced=False, unfinished=unfinished)
    return [
        row,
        dataclasses.replace(
            row,
            label=f"{label}, synced",
            store=stores.redis(*stores.ALWAYS),
            durability=AOF,
            is_synced=True,
            waits=False,
        ),
    ]


CELERY = ["LLEN celery", "HLEN unacked"]
ARQ = ["ZCARD arq:queue"]
BULLMQ = ["LLEN bull:bench:wait", "LLEN bull:bench:active", "ZCARD bull:bench:failed", "ZCARD bull:bench:delayed"]
ASYNQ = [
    "LLEN asynq:{default}:pending",
    "LLEN asynq:{default}:active",
    "ZCARD asynq:{default}:retry",
    "ZCARD asynq:{default}:archived",
]
RIVER = "SELECT count(*) FROM river_job WHERE state <> 'completed'"
JOBRUNR = "SELECT count(*) FROM jobrunr_jobs WHERE state <> 'SUCCEEDED'"

EARLY = "a claimed task dies with its worker (the default)"

ROWS = [
    own("python", "Python SDK, threads", programs.python_sdk("threads"), "16 handlers in threads"),
    own("python", "Python SDK, asyncio", programs.python_sdk("tasks"), "16 handlers on the event loop"),
    *on_redis(
        "python",
        "Celery, processes",
        programs.python_peer("celery", "prefork"),
        f"16 processes, prefetch 16 each, no results; {EARLY}",
        CELERY,
    ),
    *on_redis(
        "python",
        "Celery, threads",
        programs.python_peer("celery", "threads"),
        f"16 threads, prefetch 16 each, no results; {EARLY}",
        CELERY,
    ),
    *on_redis(
        "python",
        "arq",
        programs.python_peer("arq"),
        "16 coroutines, as many ids a look as there are, results not kept",
        ARQ,
    ),
    own("typescript", "TypeScript SDK", programs.typescript_sdk, "16 handlers"),
    *on_redis("typescript", "BullMQ", programs.bullmq, "concurrency 16, finished jobs removed", BULLMQ),
    own("go", "Go SDK", programs.go_sdk, "16 handlers"),
    Row(
        "go",
        "River",
        programs.go_peer("river"),
        stores.postgres,
        POSTGRES,
        "16 workers, fetch cooldown 1 ms, completions in batches; completed jobs stay as rows",
        unfinished=RIVER,
    ),
    *on_redis("go", "asynq", programs.go_peer("asynq"), "concurrency 16, finished tasks removed", ASYNQ),
    own("java", "Java SDK", programs.java_sdk, "16 handlers, no result"),
    Row(
        "java",
        "JobRunr",
        programs.jobrunr,
        stores.postgres,
        POSTGRES,
        "16 workers, poll interval 5 s; finished jobs stay as rows",
        unfinished=JOBRUNR,
    ),
    own("cpp", "C++ SDK", programs.cpp_sdk, "16 handlers"),
]
LANGUAGES = list(dict.fromkeys(row.language for row in ROWS))
# Chosen so that a run of a worker takes some seconds on a machine with two cores.
JOBS = {"python": 6000, "typescript": 60_000, "go": 30_000, "java": 20_000, "cpp": 100_000}
