// All queues: their jobs by state, their rates, and the age of the oldest ready job.
import { getAll } from "../lib/api";
import { duration, plural, rate } from "../lib/format";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Queue } from "../lib/types";
import { Icon } from "../ui/icons";
import { Empty, Find, Panel, Shown } from "../ui/parts";
import { Bar } from "../ui/shell";
import { StateShape } from "../ui/state";
import { type Column, Count, Table } from "../ui/table";

const head = (state: string, text: string) => (
  <>
    <StateShape state={state} />
    {text}
  </>
);

const columns: Column<Queue>[] = [
  {
    name: "name",
    head: "Queue",
    rowHead: true,
    class: "wide",
    sort: (queue) => queue.name,
    cell: (queue) => (
      <span class="row">
        <a class="clip" href={href(["queues", queue.name])}>
          {queue.name}
        </a>
        {queue.paused && (
          <span class="badge warn" title={queue.pause_reason ?? undefined}>
            <Icon name="pause" />
            paused
          </span>
        )}
      </span>
    ),
  },
  {
    name: "ready",
    head: head("ready", "Ready"),
    right: true,
    sort: (queue) => queue.counts.ready,
    cell: (queue) => <Count n={queue.counts.ready} />,
  },
  {
    name: "running",
    head: head("running", "Running"),
    right: true,
    sort: (queue) => queue.counts.running,
    cell: (queue) => <Count n={queue.counts.running} />,
  },
  {
    name: "scheduled",
    head: head("scheduled", "Scheduled"),
    right: true,
    when: "mid",
    sort: (queue) => queue.counts.scheduled,
    cell: (queue) => <Count n={queue.counts.scheduled} />,
  },
  {
    name: "retrying",
    head: head("retrying", "Retrying"),
    right: true,
    when: "lo",
    sort: (queue) => queue.counts.retrying,
    cell: (queue) => <Count n={queue.counts.retrying} />,
  },
  {
    name: "dead",
    head: head("dead", "Dead"),
    right: true,
    sort: (queue) => queue.counts.dead,
    cell: (queue) => <Count n={queue.counts.dead} class="bad" />,
  },
  {
    name: "age",
    head: "Oldest ready",
    right: true,
    when: "lo",
    sort: (queue) => queue.oldest_ready_age_ms ?? -1,
    cell: (queue) =>
      queue.oldest_ready_age_ms === null ? (
        <span class="zero">–</span>
      ) : (
        <span class={queue.oldest_ready_age_ms > 60_000 ? "warn" : ""}>{duration(queue.oldest_ready_age_ms)}</span>
      ),
  },
  {
    name: "in",
    head: "In /s",
    right: true,
    when: "mid",
    sort: (queue) => queue.rates.submitted_per_s,
    cell: (queue) => rate(queue.rates.submitted_per_s),
  },
  {
    name: "out",
    head: "Done /s",
    right: true,
    when: "lo",
    sort: (queue) => queue.rates.succeeded_per_s,
    cell: (queue) => rate(queue.rates.succeeded_per_s),
  },
  {
    name: "failed",
    head: "Failed /s",
    right: true,
    when: "mid",
    sort: (queue) => queue.rates.failed_per_s,
    cell: (queue) => (
      <span class={queue.rates.failed_per_s > 0 ? "bad" : "zero"}>{rate(queue.rates.failed_per_s)}</span>
    ),
  },
];

export function Queues() {
  const queues = useResource("queues", (signal) => getAll<Queue>("v1/queues", {}, signal), { everyMs: 5000 });
  const { query } = place.value;
  const find = query.get("find") ?? "";
  const by = query.get("by");
  return (
    <>
      <Bar title="Queues" />
      <div class="content">
        <Panel
          title={queues.data ? plural(queues.data.length, "queue") : "Queues"}
          actions={<Find label="Find a queue" value={find} onInput={(text) => setQuery({ find: text })} />}
        >
          <Shown of={queues} height={20}>
            {(data) => (
              <Table
                label="Queues"
                items={find ? data.filter((queue) => queue.name.toLowerCase().includes(find.toLowerCase())) : data}
                columns={columns}
                id={(queue) => queue.name}
                open={(queue) => href(["queues", queue.name])}
                sorting={by ? { by, down: query.get("down") !== "0" } : { by: "name", down: false }}
                onSort={(sorting) => setQuery({ by: sorting.by, down: sorting.down ? "1" : "0" })}
                empty={
                  <Empty icon="queues" title={data.length === 0 ? "There is no queue yet" : "No queue has such a name"}>
                    {data.length === 0 ? (
                      <p>The first job that is submitted makes its queue.</p>
                    ) : (
                      <p>Look for a part of a name.</p>
                    )}
                  </Empty>
                }
              />
            )}
          </Shown>
        </Panel>
      </div>
    </>
  );
}
