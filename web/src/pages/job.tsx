// One job: its data, its history, why it does not run, and the actions on it.
import { useEffect, useRef, useState } from "preact/hooks";
import { get, getText, may, patch, segment } from "../lib/api";
import { absolute, duration, exactly, plural, shortId, timeOfDay } from "../lib/format";
import { faultOf, readWithOpaque } from "../lib/json";
import { now, paused } from "../lib/live";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Attempt, FeedEvent, Job, JobError, LogLine, Page } from "../lib/types";
import { canCancel, canRetry, cancelJob, itemsFor, retryJob } from "../ui/actions";
import { Dialog, Menu } from "../ui/dialog";
import { Json } from "../ui/json";
import {
  Button,
  Code,
  Copy,
  Empty,
  Facts,
  Notice,
  Panel,
  Shown,
  Tabs,
  TextField,
  Time,
  Trouble,
  faultsOf,
  messageOf,
} from "../ui/parts";
import { Bar, enqueueWith } from "../ui/shell";
import { StateMark, kEnded, stateOfOutcome } from "../ui/state";
import { toast } from "../ui/toast";
import { Waterfall } from "../ui/waterfall";
import { WhyPanel } from "../ui/why";
import { PlacePanel } from "../ui/member";
import { serverUrl } from "./quickstart";

interface Whole {
  job: Job & { attempts: Attempt[]; events: FeedEvent[] };
  payload: string | undefined; // as it was sent
  result: string | undefined;
}

export function JobPage({ id }: { id: string }) {
  const whole = useResource<Whole>(
    `job ${id}`,
    async (signal) => {
      const text = await getText(`v1/jobs/${segment(id)}`, { include: "payload,result,attempts,events" }, signal);
      const { value, raw } = readWithOpaque<Whole["job"]>(text, ["payload", "result"]);
      return { job: value, payload: raw.payload, result: raw.result };
    },
    { when: (change) => change.jobs.has(id), everyMs: 10_000 },
  );
  const job = whole.data?.job;
  const tab = place.value.query.get("tab") ?? "payload";
  const [editing, setEditing] = useState(false);
  const [curl, setCurl] = useState(false);
  // A worker's progress does not cause an event.
  useEffect(() => {
    if (job?.state !== "running") return;
    const timer = setInterval(() => paused.peek() || whole.reload(), 2000);
    return () => clearInterval(timer);
  }, [job?.state === "running"]);

  if (!whole.data || !job) {
    return (
      <>
        <Bar title={<code>{shortId(id)}</code>} under={{ text: "Jobs", href: href(["jobs"]) }} />
        <div class="content">
          {whole.error?.status === 404 ? (
            <Empty icon="jobs" title="There is no such job">
              <p>Its queue's retention may have removed it, or somebody has deleted it.</p>
            </Empty>
          ) : (
            <Shown of={whole} height={24}>
              {() => null}
            </Shown>
          )}
        </div>
      </>
    );
  }
  const { payload, result } = whole.data;
  const clone = (): void => {
    enqueueWith.value = {
      type: job.type,
      queue: job.queue,
      payload: payload ?? "null",
      priority: job.priority ? String(job.priority) : "",
      attempts: String(job.max_attempts),
      tags: job.tags.join(" "),
    };
  };
  const operate = may("operate");
  const ended = kEnded.includes(job.state);
  // Taken from the last attempt, because a job that waits again has not ended itself.
  const last = job.attempts.at(-1);
  const ran = last
    ? (last.finished_at ? new Date(last.finished_at).getTime() : now.value) - new Date(last.started_at).getTime()
    : null;
  return (
    <>
      <Bar title={job.type} under={{ text: "Jobs", href: href(["jobs"]) }}>
        {operate && canRetry(job) && (
          <Button icon="retry" kind={job.state === "dead" ? "primary" : undefined} onClick={() => retryJob(job)}>
            Retry
          </Button>
        )}
        {operate && canCancel(job) && (
          <Button icon="stop" onClick={() => cancelJob(job)}>
            Cancel
          </Button>
        )}
        <Menu
          label="More"
          items={itemsFor(
            job,
            { edit: () => setEditing(true), clone, curl: () => setCurl(true) },
            { operate, submit: may("submit") },
          )}
        />
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        <Trouble of={whole} />
        <div class="row wrap" style={{ gap: "0.5rem 1.25rem" }}>
          <span style={{ fontSize: "var(--t-l)", fontWeight: 600 }}>
            <StateMark state={job.state} />
          </span>
          <span>
            <span class="faint">in </span>
            <a href={href(["queues", job.queue])}>{job.queue}</a>
          </span>
          <span class="soft num">
            {job.state === "running"
              ? `attempt ${job.attempt} of ${job.max_attempts}`
              : `${job.attempt} of ${plural(job.max_attempts, "attempt")}`}
          </span>
          {job.worker && <span class="soft">on {job.worker}</span>}
          {ran !== null && (
            <span class="soft">{job.state === "running" ? `for ${duration(ran)}` : `last ran ${duration(ran)}`}</span>
          )}
          <span class="row" style={{ gap: 0 }}>
            <code class="faint">{job.id}</code>
            <Copy text={job.id} label="Copy the id" />
          </span>
        </div>
        {job.cancel_requested && job.state === "running" && (
          <Notice kind="warn">Somebody has asked to cancel it. Its worker learns of it at its next heartbeat.</Notice>
        )}
        {job.progress && job.state === "running" && (
          <div class="stack tight">
            <div
              class="progress-line"
              role="progressbar"
              aria-label="Progress"
              aria-valuemin={0}
              aria-valuemax={100}
              aria-valuenow={job.progress.percent ?? undefined}
            >
              <span style={{ width: `${job.progress.percent ?? 0}%` }} />
            </div>
            <p class="small soft">
              {job.progress.percent !== null && `${Math.round(job.progress.percent)} % `}
              {job.progress.message}
            </p>
          </div>
        )}
        <div class="main-and-side">
          <div class="stack" style={{ gap: "1rem" }}>
            {!ended && job.state !== "running" && <WhyPanel of={job} />}
            {job.last_error && job.state !== "succeeded" && <ErrorPanel error={job.last_error} title="Last error" />}
            <Panel title="Attempts" pad>
              <Waterfall job={job} attempts={job.attempts} />
            </Panel>
            <Panel>
              <div style={{ padding: "0.25rem 0.75rem 0" }}>
                <Tabs
                  label="Parts of the job"
                  value={tab}
                  onChange={(value) => setQuery({ tab: value === "payload" ? undefined : value })}
                  options={[
                    { value: "payload", text: "Payload" },
                    { value: "result", text: "Result" },
                    { value: "logs", text: "Log" },
                    {
                      value: "attempts",
                      text: "Errors",
                      count: String(job.attempts.filter((attempt) => attempt.error).length),
                    },
                    { value: "events", text: "Events", count: String(job.events.length) },
                  ]}
                />
              </div>
              {tab === "payload" && <Opaque text={payload} name="the payload" redacted={job.redacted ?? false} />}
              {tab === "result" &&
                (result === undefined || result === "null" ? (
                  <Empty title={job.state === "succeeded" ? "The worker gave no result" : "There is no result yet"} />
                ) : (
                  <Opaque text={result} name="the result" redacted={job.redacted ?? false} />
                ))}
              {tab === "logs" && <Logs job={job} />}
              {tab === "attempts" && <Errors attempts={job.attempts} />}
              {tab === "events" && <History events={job.events} />}
            </Panel>
          </div>
          <div class="stack" style={{ gap: "1rem" }}>
            {job.workflow && <PlacePanel job={job} />}
            <Panel title="Details" pad>
              <Facts
                items={[
                  ["Created", <Time key="c" at={job.created_at} exact />],
                  ["Due", <Time key="d" at={job.run_at} exact />],
                  job.started_at ? ["Started", <Time key="s" at={job.started_at} exact />] : ["", null],
                  job.finished_at ? ["Ended", <Time key="e" at={job.finished_at} exact />] : ["", null],
                  job.expires_at ? ["Expires", <Time key="x" at={job.expires_at} exact />] : ["", null],
                  job.lease_expires_at ? ["Lease until", <Time key="l" at={job.lease_expires_at} />] : ["", null],
                  ["Priority", String(job.priority)],
                  job.crashes > 0 ? ["Lost workers", String(job.crashes)] : ["", null],
                  job.generation > 0
                    ? ["Retried by hand", job.generation === 1 ? "once" : `${job.generation} times`]
                    : ["", null],
                  job.schedule
                    ? [
                        "Schedule",
                        <span key="s">
                          <a href={href(["schedules", job.schedule.name])}>{job.schedule.name}</a>, for{" "}
                          {absolute(job.schedule.scheduled_at)}
                        </span>,
                      ]
                    : ["", null],
                  job.unique ? ["Unique key", <code key="u">{job.unique.key}</code>] : ["", null],
                  job.order_key ? ["Order key", <code key="o">{job.order_key}</code>] : ["", null],
                  job.limits && job.limits.length > 0
                    ? [
                        "Limits",
                        <span key="l" class="stack tight">
                          {job.limits.map((limit) => (
                            <span key={limit.name}>
                              <a href={href(["limits", limit.name])}>{limit.name}</a>
                              {limit.key && <code> {limit.key}</code>}
                            </span>
                          ))}
                        </span>,
                      ]
                    : ["", null],
                  job.timeout_ms ? ["Time-out", exactly(job.timeout_ms)] : ["", null],
                  job.lease_ms ? ["Lease", exactly(job.lease_ms)] : ["", null],
                  job.tags.length > 0
                    ? [
                        "Tags",
                        <span key="t" class="row wrap" style={{ gap: "0.25rem" }}>
                          {job.tags.map((tag) => (
                            <a key={tag} class="badge" href={href(["jobs"], { q: `tag:${tag}` })}>
                              {tag}
                            </a>
                          ))}
                        </span>,
                      ]
                    : ["", null],
                  ...Object.entries(job.meta).map(
                    ([name, value]): [preact.ComponentChildren, preact.ComponentChildren] => [
                      <code key={name}>{name}</code>,
                      value,
                    ],
                  ),
                  job.traceparent ? ["Trace", <code key="tp">{job.traceparent}</code>] : ["", null],
                ]}
              />
            </Panel>
          </div>
        </div>
      </div>
      {editing && <Edit job={job} payload={payload} onClose={() => setEditing(false)} onDone={whole.reload} />}
      {curl && <Curl job={job} payload={payload} onClose={() => setCurl(false)} />}
    </>
  );
}

function Opaque({ text, name, redacted }: { text: string | undefined; name: string; redacted: boolean }) {
  if (text === undefined || redacted)
    return (
      <Empty icon="key" title="This token may not see it">
        {<p>A token with the scope “payload” shows it.</p>}
      </Empty>
    );
  return <Json text={text} name={name} />;
}

function ErrorPanel({ error, title }: { error: JobError; title: string }) {
  const text = [`${error.type}: ${error.message}`, error.stack].filter(Boolean).join("\n");
  return (
    <Panel
      title={title}
      actions={
        <>
          <span class="small faint">
            attempt {error.attempt}, <Time at={error.at} />
          </span>
          <Copy text={text} label="Copy the error" />
        </>
      }
    >
      <ErrorText error={error} />
    </Panel>
  );
}

function ErrorText({ error }: { error: JobError }) {
  return (
    <div class="stack" style={{ padding: "0.75rem 1rem" }}>
      <p>
        <span class="bad strong">{error.type}</span>
        {error.redacted ? (
          <span class="faint"> (its text needs the scope “payload”)</span>
        ) : (
          error.message && <span style={{ overflowWrap: "anywhere" }}>: {error.message}</span>
        )}
      </p>
      {error.stack && (
        <pre class="code" tabIndex={0} aria-label="Stack">
          {error.stack}
        </pre>
      )}
    </div>
  );
}

function Errors({ attempts }: { attempts: Attempt[] }) {
  const failed = attempts.filter((attempt) => attempt.error).reverse();
  if (failed.length === 0) return <Empty icon="check" title="No attempt has failed" />;
  return (
    <ul>
      {failed.map((attempt) => (
        <li key={attempt.n} style={{ borderBottom: "1px solid var(--line)" }}>
          <div class="row" style={{ padding: "0.625rem 1rem 0" }}>
            <StateMark
              state={stateOfOutcome[attempt.outcome] ?? "dead"}
              label={`${attempt.n}. ${attempt.outcome.replaceAll("_", " ")}`}
            />
            <span class="small faint">
              <Time at={attempt.finished_at ?? attempt.started_at} exact /> {attempt.worker && `on ${attempt.worker}`}
            </span>
          </div>
          <ErrorText error={attempt.error!} />
        </li>
      ))}
    </ul>
  );
}

function History({ events }: { events: FeedEvent[] }) {
  return (
    <div class="scroll" role="region" aria-label="Events" tabIndex={0}>
      <table>
        <tbody>
          {events.map((event) => (
            <tr key={event.id}>
              <td class="num soft">{absolute(event.at)}</td>
              <td>{event.type.replace("job.", "").replaceAll("_", " ")}</td>
              <td class="soft wide">
                {event.attempt ? `attempt ${event.attempt}` : ""} {event.worker && `on ${event.worker}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Logs({ job }: { job: Job }) {
  const [follow, setFollow] = useState(true);
  const lines = useRef<LogLine[]>([]);
  const box = useRef<HTMLDivElement>(null);
  const log = useResource(
    `log ${job.id}`,
    async (signal) => {
      // Continues where the last answer ended.
      for (;;) {
        const last = lines.current.at(-1);
        const page = await get<Page<LogLine>>(
          `v1/jobs/${segment(job.id)}/logs`,
          { limit: 1000, cursor: last ? String(last.seq) : undefined },
          signal,
        );
        lines.current = [...lines.current, ...page.items].slice(-10_000);
        if (page.next_cursor === null) return lines.current;
      }
    },
    { when: (change) => change.jobs.has(job.id), everyMs: job.state === "running" ? 1500 : 15_000 },
  );
  const many = log.data?.length ?? 0;
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [many, follow]);
  return (
    <Shown of={log}>
      {(data) =>
        data.length === 0 ? (
          <Empty title="Nothing is in its log">
            <p>A worker sends lines with its heartbeats and with the outcome.</p>
          </Empty>
        ) : (
          <>
            <div class="row" style={{ padding: "0.375rem 1rem 0" }}>
              <label class="check grow">
                <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
                Follow
              </label>
              <Copy
                label="Copy the log"
                text={() => data.map((line) => `${line.at} ${line.level} ${line.message}`).join("\n")}
              />
            </div>
            <div class="log" ref={box} tabIndex={0} role="log" aria-label="Log">
              {data.slice(-2000).map((line) => (
                <div key={line.seq} class={line.level}>
                  <time dateTime={line.at} title={absolute(line.at)} class="faint">
                    {timeOfDay(line.at)}
                  </time>
                  <span class="soft">{line.level}</span>
                  <span>{line.redacted ? "(needs the scope “payload”)" : line.message}</span>
                </div>
              ))}
            </div>
          </>
        )
      }
    </Shown>
  );
}

function Edit({
  job,
  payload,
  onClose,
  onDone,
}: {
  job: Job;
  payload: string | undefined;
  onClose: () => void;
  onDone: () => void;
}) {
  // The job as it was when the dialog opened. Its version lets the server detect later changes.
  const [begun] = useState({ job, payload });
  const [priority, setPriority] = useState(String(job.priority));
  const [attempts, setAttempts] = useState(String(job.max_attempts));
  const [runAt, setRunAt] = useState(job.run_at);
  const [tags, setTags] = useState(job.tags.join(" "));
  const [text, setText] = useState(payload ?? "");
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const save = async (): Promise<void> => {
    const wrong = text !== begun.payload ? faultOf(text) : null;
    if (wrong) return setFaults(new Map([["/payload", wrong]]));
    const members: string[] = [];
    if (priority !== String(begun.job.priority)) members.push(`"priority":${Number(priority)}`);
    if (attempts !== String(begun.job.max_attempts)) members.push(`"max_attempts":${Number(attempts)}`);
    if (runAt !== begun.job.run_at) members.push(`"run_at":${JSON.stringify(runAt)}`);
    if (tags !== begun.job.tags.join(" ")) members.push(`"tags":${JSON.stringify(tags.split(/\s+/).filter(Boolean))}`);
    if (begun.payload !== undefined && text !== begun.payload) members.push(`"payload":${text}`);
    if (members.length === 0) return onClose();
    try {
      await patch(`v1/jobs/${segment(job.id)}`, `{${members.join(",")}}`, { "If-Match": `"${begun.job.version}"` });
      toast("Changed");
      onDone();
      onClose();
    } catch (error) {
      setFaults(faultsOf(error));
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title={`Edit ${job.type}`}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Save
          </Button>
        </>
      }
    >
      {job.version !== begun.job.version && (
        <Notice kind="warn">The job has changed since you began. Saving will be refused; close, and begin anew.</Notice>
      )}
      <div class="fields">
        <TextField
          label="Priority"
          type="number"
          value={priority}
          onInput={setPriority}
          fault={faults.get("/priority")}
          hint="Lower runs first."
        />
        <TextField
          label="Attempts"
          type="number"
          value={attempts}
          onInput={setAttempts}
          fault={faults.get("/max_attempts")}
        />
      </div>
      <TextField
        label="Due at"
        value={runAt}
        onInput={setRunAt}
        fault={faults.get("/run_at")}
        mono
        hint="RFC 3339, like 2026-03-01T09:30:00Z."
      />
      <TextField label="Tags" value={tags} onInput={setTags} fault={faults.get("/tags")} hint="Separated by spaces." />
      {begun.payload !== undefined && (
        <TextField
          label="Payload"
          value={text}
          onInput={setText}
          lines={10}
          fault={faults.get("/payload")}
          hint="JSON. What you do not touch stays as it was sent."
        />
      )}
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}

// Quotes a text for a POSIX shell.
export const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(path: string, method: string, body?: string): string {
  return [
    `curl ${method === "GET" ? "" : `-X ${method} `}${shellQuote(`${serverUrl()}/${path}`)}`,
    `  -H "Authorization: Bearer $MILLRACE_TOKEN"`,
    ...(body === undefined ? [] : [`  -H 'Content-Type: application/json'`, `  -d ${shellQuote(body)}`]),
  ].join(" \\\n");
}

function Curl({ job, payload, onClose }: { job: Job; payload: string | undefined; onClose: () => void }) {
  const members = [`"type":${JSON.stringify(job.type)}`, `"queue":${JSON.stringify(job.queue)}`];
  if (job.priority !== 0) members.push(`"priority":${job.priority}`);
  if (job.tags.length > 0) members.push(`"tags":${JSON.stringify(job.tags)}`);
  if (payload !== undefined) members.push(`"payload":${payload}`);
  return (
    <Dialog title="As curl" onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <h3>Look at it</h3>
      <Code text={curlOf(`v1/jobs/${job.id}?include=payload,result,attempts`, "GET")} />
      <h3>Why it is not running</h3>
      <Code text={curlOf(`v1/jobs/${job.id}/why`, "GET")} />
      <h3>Retry it</h3>
      <Code text={curlOf(`v1/jobs/${job.id}/retry`, "POST", "{}")} />
      <h3>Submit one like it</h3>
      <Code text={curlOf("v1/jobs", "POST", `{${members.join(",")}}`)} />
    </Dialog>
  );
}
