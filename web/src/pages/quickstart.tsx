// The first page of an empty server: the commands to type, with this server's own address, until the
// first job has run.
import { session, may } from "../lib/api";
import { Code, Panel } from "../ui/parts";
import { Bar } from "../ui/shell";
import { get } from "../lib/api";
import { href } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Job, Page } from "../lib/types";
import { StateMark } from "../ui/state";

export function serverUrl(): string {
  return new URL(".", location.href.split("#")[0]).href.replace(/\/$/, "");
}

export function Quickstart() {
  const jobs = useResource("first jobs", (signal) => get<Page<Job>>("v1/jobs", { limit: 5, fresh: true }, signal), {
    everyMs: 2000,
  });
  const job = jobs.data?.items.at(-1);
  const token = session.value?.required
    ? "export MILLRACE_TOKEN=mlr_…   # a token with the scopes submit and work\n"
    : "";
  const url = serverUrl();
  return (
    <>
      <Bar title="The first job" />
      <div class="content" style={{ maxWidth: "48rem" }}>
        <p class="soft">This server has no queues yet. Three steps, and this page shows the first job on its way.</p>
        <Panel pad>
          <ol class="steps">
            <li class={job ? "done" : ""}>
              <div class="stack">
                <h2>Submit a job</h2>
                <Code text={`export MILLRACE_URL=${url}\n${token}millrace enqueue hello '{"name": "world"}'`} />
                <p class="soft">Or with any HTTP client:</p>
                <Code
                  text={`curl -X POST ${url}/v1/jobs -H 'Content-Type: application/json' \\\n${token ? '  -H "Authorization: Bearer $MILLRACE_TOKEN" \\\n' : ""}  -d '{"type": "hello", "payload": {"name": "world"}}'`}
                />
                {may("submit") && <p class="soft">Or press “Enqueue a job” in the menu.</p>}
              </div>
            </li>
            <li class={job && job.state !== "ready" ? "done" : ""}>
              <div class="stack">
                <h2>Start a worker</h2>
                <p class="soft">
                  It runs a command for each job: the payload comes on standard input, and what the command prints is
                  the result.
                </p>
                <Code text={`millrace work -q default -- sh -c 'cat; sleep 1'`} />
              </div>
            </li>
            <li class={job?.state === "succeeded" ? "done" : ""}>
              <div class="stack">
                <h2>Watch it</h2>
                {job ? (
                  <p class="row">
                    <a href={href(["jobs", job.id])}>{job.type}</a> <StateMark state={job.state} />
                  </p>
                ) : (
                  <p class="soft" role="status">
                    Waiting for the first job.
                  </p>
                )}
              </div>
            </li>
          </ol>
        </Panel>
      </div>
    </>
  );
}
