"""arq: a worker with 16 coroutines. By default it looks for at most 80 jobs each half second; here it takes as many as
possible each time, which is its fastest mode without a busy loop. Results are not kept."""

import asyncio
import json
import sys

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker, func
from tally import Tally

ROLE, JOBS, PORT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
SETTINGS = RedisSettings(host="127.0.0.1", port=PORT)
LANES = 50
tally = None


async def empty(context, to):
    tally.ran()


async def enqueue():
    pool = await create_pool(SETTINGS)
    for first in range(0, JOBS, LANES):
        await asyncio.gather(
            *(pool.enqueue_job("empty", to="ada@example.org") for _ in range(min(LANES, JOBS - first)))
        )
    await pool.aclose()
    print("ended", json.dumps({"jobs": JOBS}), flush=True)


if ROLE == "enqueue":
    asyncio.run(enqueue())
else:
    tally = Tally(JOBS)
    asyncio.set_event_loop(asyncio.new_event_loop())
    Worker(
        functions=[func(empty, name="empty", keep_result=0)],
        redis_settings=SETTINGS,
        max_jobs=16,
        queue_read_limit=100_000,
        handle_signals=True,
    ).run()
