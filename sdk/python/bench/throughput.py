"""How many empty handlers a worker runs in a second, on a server that MILLRACE_URL names.

    python bench/throughput.py [--jobs N] [--concurrency N] [--sync]

Submits the jobs first, then starts one worker and measures the time from its start until the last
job has ended. The server has each submission and each outcome on disk before it answers.
"""

from __future__ import annotations

import argparse
import asyncio
import threading
import time

from millrace import AsyncMillrace, Millrace, NewJob, make_id


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--sync", action="store_true", help="handlers in threads")
    options = parser.parse_args()

    app = Millrace()
    type_ = f"bench.{make_id()[-12:]}"
    ended = threading.Event()
    left = options.jobs

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            ended.set()

    if options.sync:
        lock = threading.Lock()

        @app.job(type_)
        def in_thread() -> None:
            with lock:
                count()
    else:

        @app.job(type_)
        async def on_loop() -> None:
            count()

    began = time.perf_counter()
    for first in range(0, options.jobs, 1000):
        count_now = min(1000, options.jobs - first)
        app.submit_batch([NewJob(type_, queue=type_) for _ in range(count_now)])
    submitted = time.perf_counter() - began
    print(f"submitted {options.jobs / submitted:,.0f} jobs/s in batches of 1,000")

    cpu = time.process_time()
    began = time.perf_counter()
    with app.worker(queues=[type_], concurrency=options.concurrency):
        ended.wait()
    worked = time.perf_counter() - began
    cpu = time.process_time() - cpu
    kind = "threads" if options.sync else "tasks"
    print(
        f"ran {options.jobs / worked:,.0f} jobs/s in {kind}, concurrency {options.concurrency}, "
        f"{cpu / options.jobs * 1e6:.0f} us of processor time each"
    )

    began = time.perf_counter()
    asyncio.run(submit_one_by_one(type_, 2000))
    print(f"submitted {2000 / (time.perf_counter() - began):,.0f} jobs/s one by one, 50 at a time")


async def submit_one_by_one(type_: str, count: int) -> None:
    async with AsyncMillrace() as app:
        turns = asyncio.Semaphore(50)

        async def submit() -> None:
            async with turns:
                await app.submit(type_, queue=type_)

        await asyncio.gather(*(submit() for _ in range(count)))


if __name__ == "__main__":
    main()
