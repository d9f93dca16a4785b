"""Millrace for Python with handlers in threads."""

import sys

from millrace import Millrace
from tally import Tally

ROLE, JOBS, PORT = sys.argv[1], int(sys.argv[2]), sys.argv[3]
app = Millrace(url=f"http://127.0.0.1:{PORT}")
tally = Tally(JOBS)


@app.job("bench.empty")
def empty(to: str) -> None:
    tally.ran()


app.work(concurrency=16)
