"""Millrace for Python with handlers on the event loop."""

import asyncio
import sys

from millrace import AsyncMillrace
from tally import Tally

ROLE, JOBS, PORT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
app = AsyncMillrace(url=f"http://127.0.0.1:{PORT}")
tally = Tally(JOBS)


@app.job("bench.empty")
async def empty(to: str) -> None:
    tally.ran()


asyncio.run(app.work(concurrency=16))
