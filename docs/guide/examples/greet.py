"""A producer and a worker in one program."""

from millrace import Millrace, current

app = Millrace()  # MILLRACE_URL, MILLRACE_TOKEN


@app.job("greet", queue="greetings")
def greet(name: str) -> str:
    current().progress(50, "halfway")
    return f"Hello, {name}"


with app.worker(concurrency=4):  # a service would call app.work()
    job = greet.submit(name="Ada")
    print(app.wait(job.id, timeout=30).result)
