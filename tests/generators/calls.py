"""Five calls with the client that openapi-python-client makes: calls.py URL QUEUE."""

import sys

from api import Client
from api.api.jobs import get_job, list_jobs, submit_job
from api.api.workers import claim_jobs, complete_job
from api.models import (
    ClaimRequest,
    CompleteRequest,
    Job,
    JobPage,
    JobState,
    JobSubmission,
    WorkerInput,
)


def main(url, queue):
    client = Client(base_url=url, raise_on_unexpected_status=True)
    submitted = submit_job.sync(client=client, body=JobSubmission(type_="greet", queue=queue, payload={"name": "Ada"}))
    assert isinstance(submitted, Job), submitted
    got = get_job.sync(submitted.id, client=client)
    assert isinstance(got, Job) and got.state == JobState.READY, got

    claimed = claim_jobs.sync(client=client, body=ClaimRequest(queues=[queue], worker=WorkerInput(id="generated")))
    (job,) = claimed.jobs
    completed = complete_job.sync(
        submitted.id,
        client=client,
        body=CompleteRequest(token=job.lease.token, result="Hello, Ada"),
    )
    assert isinstance(completed, Job) and completed.state == JobState.SUCCEEDED, completed

    listed = list_jobs.sync(client=client, queue=queue, fresh=True)
    assert isinstance(listed, JobPage), listed
    assert [item.state for item in listed.items] == [JobState.SUCCEEDED], listed


if __name__ == "__main__":
    main(*sys.argv[1:])
