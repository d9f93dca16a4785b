"""Celery: one task at a time into the list, one worker with 16 processes or threads. There is no result backend."""

import json
import sys

from billiard.process import current_process
from celery import Celery
from celery.signals import worker_process_init
from tally import Tally

ROLE, JOBS, PORT, POOL = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
CONCURRENCY = 16

app = Celery("bench", broker=f"redis://127.0.0.1:{PORT}/0")
app.conf.task_ignore_result = True
app.conf.worker_prefetch_multiplier = 16  # its guide: more than the default of 4 for short tasks
app.conf.worker_redirect_stdouts = False
app.conf.broker_connection_retry_on_startup = True
tally, slot = None, 0


@worker_process_init.connect
def place(**_):
    global slot
    slot = current_process().index


@app.task(name="bench.empty")
def empty(to):
    tally.ran(slot)


def enqueue():
    with app.producer_pool.acquire(block=True) as producer:
        for _ in range(JOBS):
            empty.apply_async(kwargs={"to": "ada@example.org"}, producer=producer)
    print("ended", json.dumps({"jobs": JOBS}), flush=True)


if ROLE == "enqueue":
    enqueue()
else:
    tally = Tally(JOBS, slots=CONCURRENCY)
    app.worker_main(
        [
            "worker",
            "--concurrency",
            str(CONCURRENCY),
            "--pool",
            POOL,
            "--loglevel",
            "ERROR",
            "--without-gossip",
            "--without-mingle",
        ]
    )
