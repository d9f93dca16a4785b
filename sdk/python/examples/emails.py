"""Send 2,000 e-mails, each once: some after retries, some to mailboxes that do not exist."""

import random
import time

from millrace import Millrace, NonRetryable

app = Millrace()  # MILLRACE_URL, MILLRACE_TOKEN


@app.job("email.send", queue="emails", max_attempts=10, retry={"strategy": "fixed", "base_ms": 200})
def send(to: str) -> str:
    if to.startswith("nobody"):
        raise NonRetryable(f"there is no mailbox {to}")
    if random.random() < 0.1:
        raise ConnectionError("the mail server hung up")
    return f"sent to {to}"


people = [f"{'user' if n % 100 else 'nobody'}{n}@example.org" for n in range(2000)]
jobs = [send.options(idempotency_key=f"welcome:{to}").new(to=to) for to in people]
items = [item for n in range(0, 2000, 500) for item in app.submit_batch(jobs[n : n + 500])]
print(f"{sum(item.is_new for item in items)} new of {len(items)} submitted")

with app.worker(
    concurrency=50
):  # stops at the end of the block, and takes nothing half done with it
    while (counts := app.queue("emails").counts)["succeeded"] + counts["dead"] < len(people):
        time.sleep(0.1)
print(f"{counts['succeeded']} sent, {counts['dead']} dead letters")
