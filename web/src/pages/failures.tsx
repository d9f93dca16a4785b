// What has failed, by error: the newest thousand dead jobs in groups that look alike. Retry one to see
// whether the cause is mended, then the rest.
import { useState } from "preact/hooks";
import { get, may } from "../lib/api";
import { count, duration, plural } from "../lib/format";
import { quote } from "../lib/query";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Job, Page } from "../lib/types";
import { retryJob } from "../ui/actions";
import { Spark } from "../ui/chart";
import { Button, Empty, Panel, Segments, Shown, Time } from "../ui/parts";
import { Bar } from "../ui/shell";
import { StateMark } from "../ui/state";
import { Bulk } from "./jobs";

const kMost = 1000;

interface Group {
  key: string;
  type: string;
  error: string;
  message: string;
  jobs: Job[]; // newest first
  queues: string[];
}

export function groupsOf(jobs: Job[]): Group[] {
  const groups = new Map<string, Group>();
  for (const job of jobs) {
    const error = job.last_error;
    if (!error) continue;
    const key = `${job.type} ${error.fingerprint ?? `${error.type} ${error.message}`}`;
    const group = groups.get(key) ?? { key, type: job.type, error: error.type, message: error.message, jobs: [], queues: [] };
    group.jobs.push(job);
    if (!group.queues.includes(job.queue)) group.queues.push(job.queue);
    groups.set(key, group);
  }
  for (const group of groups.values()) group.jobs.sort((a, b) => (a.last_error!.at < b.last_error!.at ? 1 : -1));
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length);
}

// How many in each of twelve equal parts of the time that the list covers.
function trend(group: Group, from: number, to: number): number[] {
  const parts = new Array<number>(12).fill(0);
  for (const job of group.jobs) {
    const part = Math.floor((12 * (new Date(job.last_error!.at).getTime() - from)) / Math.max(1, to - from));
    ++parts[Math.max(0, Math.min(11, part))]!;
  }
  return parts;
}

export function Failures() {
  const { query } = place.value;
  const state = query.get("state") === "retrying" ? "retrying" : "dead";
  const type = query.get("type") ?? "";
  const jobs = useResource(`failures ${state} ${type}`, (signal) => get<Page<Job>>("v1/jobs", { state, type: type || undefined, limit: kMost }, signal), {
    when: (change) => ["job.dead", "job.retrying", "job.retried", "job.deleted"].some((each) => (change.types[each] ?? 0) > 0),
    everyMs: 15_000,
    keep: true,
  });
  const [open, setOpen] = useState<string | null>(null);
  const [bulk, setBulk] = useState<{ group: Group; action: "retry" | "delete" } | null>(null);
  const operate = may("operate");
  return (
    <>
      <Bar title="Failures">
        <Segments label="State" value={state} options={[["dead", "Dead"], ["retrying", "Retrying"]]} onChange={(next) => setQuery({ state: next === "dead" ? undefined : next })} />
      </Bar>
      <div class="content" style={{ gap: "0.75rem" }}>
        {type && (
          <p class="row">
            <span class="badge">type {type}</span>
            <button type="button" class="link" onClick={() => setQuery({ type: undefined })}>
              Show all types
            </button>
          </p>
        )}
        <Shown of={jobs} height={16}>
          {(page) => {
            const groups = groupsOf(page.items);
            const times = page.items.flatMap((job) => (job.last_error ? [new Date(job.last_error.at).getTime()] : []));
            const from = Math.min(...times);
            const to = Math.max(...times);
            if (groups.length === 0) {
              return (
                <Panel>
                  <Empty icon="check" title={state === "dead" ? "No dead jobs" : "Nothing waits for another attempt"}>
                    <p>Jobs whose attempts have all failed come here, grouped by their error.</p>
                  </Empty>
                </Panel>
              );
            }
            return (
              <Panel title={`${plural(groups.length, "error")} in ${page.next_cursor ? `the newest ${count(page.items.length)}` : count(page.items.length)} ${state} jobs`} actions={<span class="small faint">over {duration(to - from)}</span>}>
                <ul class="attention">
                  {groups.map((group) => {
                    const sample = group.jobs[0]!;
                    const isOpen = open === group.key;
                    const q = `state:${state} type=${quote(group.type)} error=${quote(group.error)}`;
                    return (
                      <li key={group.key} style={{ display: "block" }}>
                        <div class="row wrap" style={{ alignItems: "flex-start" }}>
                          <span class="num strong" style={{ minWidth: "3rem" }}>
                            {count(group.jobs.length)}
                          </span>
                          <div class="grow" style={{ minWidth: "14rem" }}>
                            <p>
                              <span class="bad strong">{group.error}</span> <span class="soft">in {group.type}</span>
                            </p>
                            <p class="soft" style={{ overflowWrap: "anywhere" }}>
                              {sample.last_error!.redacted ? "(its text needs the scope “payload”)" : group.message}
                            </p>
                            <p class="small faint">
                              last <Time at={sample.last_error!.at} />, first <Time at={group.jobs.at(-1)!.last_error!.at} />; {group.queues.length === 1 ? `queue ${group.queues[0]}` : plural(group.queues.length, "queue")}
                            </p>
                          </div>
                          <span class="wide-only">
                            <Spark values={trend(group, from, to)} label={`Trend of ${group.error}`} color="--dead" />
                          </span>
                          <div class="do">
                            <Button size="tiny" kind="quiet" onClick={() => setOpen(isOpen ? null : group.key)}>
                              {isOpen ? "Close" : "Sample"}
                            </Button>
                            <a class="btn tiny" href={href(["jobs"], { q })}>
                              Jobs
                            </a>
                            {operate && state === "dead" && (
                              <>
                                <Button size="tiny" onClick={() => retryJob(sample)} title="Retry the newest of them, and see how it goes">
                                  Retry one
                                </Button>
                                <Button size="tiny" icon="retry" onClick={() => setBulk({ group, action: "retry" })}>
                                  Retry all
                                </Button>
                                <Button size="tiny" kind="danger" icon="trash" label={`Delete those of ${group.error}`} onClick={() => setBulk({ group, action: "delete" })} />
                              </>
                            )}
                          </div>
                        </div>
                        {isOpen && (
                          <div class="stack" style={{ padding: "0.75rem 0 0 3.5rem" }}>
                            {sample.last_error!.stack && (
                              <pre class="code" tabIndex={0} aria-label="Stack">
                                {sample.last_error!.stack}
                              </pre>
                            )}
                            <ul class="stack tight">
                              {group.jobs.slice(0, 5).map((job) => (
                                <li key={job.id} class="row wrap">
                                  <a href={href(["jobs", job.id])}>
                                    <code>{job.id}</code>
                                  </a>
                                  <StateMark state={job.state} />
                                  <span class="faint">
                                    attempt {job.attempt}, <Time at={job.last_error!.at} />
                                  </span>
                                </li>
                              ))}
                            </ul>
                          </div>
                        )}
                      </li>
                    );
                  })}
                </ul>
              </Panel>
            );
          }}
        </Shown>
      </div>
      {bulk && <Bulk action={bulk.action} q={`state:${state} type=${quote(bulk.group.type)} error=${quote(bulk.group.error)}`} ids={jobs.data?.next_cursor ? null : bulk.group.jobs.map((job) => job.id)} onClose={() => setBulk(null)} onDone={jobs.reload} />}
    </>
  );
}
