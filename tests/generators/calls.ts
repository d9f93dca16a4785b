// Five calls with the types that openapi-typescript makes, by openapi-fetch: calls URL QUEUE.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

const [url, queue] = process.argv.slice(2) as [string, string];
const client = createClient<paths>({ baseUrl: url });

function checked<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(`another answer: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

function check(holds: boolean, answer: unknown): asserts holds {
  if (!holds) throw new Error(`another answer: ${JSON.stringify(answer)}`);
}

const submitted = checked(
  await client.POST("/v1/jobs", { body: { type: "greet", queue, payload: { name: "Ada" } } }),
);
const path = { id: submitted.id };
const got = checked(await client.GET("/v1/jobs/{id}", { params: { path } }));
check(got.state === "ready", got);

const claimed = checked(
  await client.POST("/v1/claim", { body: { queues: [queue], worker: { id: "generated" } } }),
);
const [job] = claimed.jobs;
check(job !== undefined, claimed);
checked(
  await client.POST("/v1/jobs/{id}/complete", {
    params: { path },
    body: { token: job.lease.token, result: "Hello, Ada" },
  }),
);

const listed = checked(await client.GET("/v1/jobs", { params: { query: { queue, fresh: true } } }));
check(listed.items.length === 1 && listed.items[0]?.state === "succeeded", listed);
