// Why a job is not running: everything that holds it, in the order in which a claim checks it, each
// with the way to release it.
import type { ComponentChildren } from "preact";
import { get, may, post, segment } from "../lib/api";
import { count, duration, shortId } from "../lib/format";
import { now } from "../lib/live";
import { href } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Blocking, Job, Why } from "../lib/types";
import { runNow } from "./actions";
import { Icon } from "./icons";
import { Button, Panel, Shown, Time } from "./parts";
import { toast } from "./toast";

const job = (id: string) => (
  <a href={href(["jobs", id])}>
    <code>{shortId(id)}</code>
  </a>
);

function gate(blocking: Blocking): ComponentChildren {
  const name = blocking.limit ?? "";
  if (blocking.limit_kind === "queue") return <a href={href(["queues", name])}>queue {name}</a>;
  if (blocking.limit_kind === "type") return <a href={href(["limits"], { tab: "types" })}>type {name}</a>;
  return (
    <>
      <a href={href(["limits", name])}>limit {name}</a>
      {blocking.key && (
        <>
          {" "}
          for key <code>{blocking.key}</code>
        </>
      )}
    </>
  );
}

// A queue's `blocked_by` has no job, so `of` has only the queue.
export function GateWords({ of, queue }: { of: Blocking; queue: string }) {
  return <>{words(of, { queue })}</>;
}

function words(blocking: Blocking, of: { queue: string; type?: string }): ComponentChildren {
  const until = blocking.until ?? blocking.available_at;
  const left = until ? duration(new Date(until).getTime() - now.value) : null;
  switch (blocking.code) {
    case "running":
      return <>It runs{blocking.worker ? ` on ${blocking.worker}` : ""}.</>;
    case "ended":
      return <>It has ended.</>;
    case "scheduled":
      return (
        <>
          It is not due yet:{" "}
          {until ? (
            <>
              in {left} (<Time at={until} exact />)
            </>
          ) : (
            "later"
          )}
          .
        </>
      );
    case "backoff":
      return <>It failed, and waits for its next attempt{left ? <> for {left}</> : ""}.</>;
    case "expired":
      return <>It was not started before its time ran out.</>;
    case "parents":
      return <>It waits for other jobs{blocking.waits_for && <>: {job(blocking.waits_for)}</>}.</>;
    case "queue_paused":
      return (
        <>
          Its <a href={href(["queues", of.queue])}>queue {of.queue}</a> is paused
          {blocking.reason ? `: “${blocking.reason}”` : ""}.
        </>
      );
    case "type_paused":
      return (
        <>
          {of.type ? `Its type ${of.type}` : <>The {gate(blocking)}</>} is paused
          {blocking.reason ? `: “${blocking.reason}”` : ""}.
        </>
      );
    case "limit_paused":
      return (
        <>
          The {gate(blocking)} is paused{blocking.reason ? `: “${blocking.reason}”` : ""}
          {left ? `, for another ${left}` : ""}.
        </>
      );
    case "order":
      return (
        <>It has its turn after {blocking.waits_for ? job(blocking.waits_for) : "another job"} of the same order key.</>
      );
    case "limit_full":
      // For a queue, a limit by key has no single use and bound.
      if (!blocking.concurrency) return <>The {gate(blocking)} has no room left for some keys.</>;
      return (
        <>
          The {gate(blocking)} is full: {count(blocking.in_use ?? 0)} of {count(blocking.concurrency ?? 0)} in use
          {blocking.holders && blocking.holders.length > 0 && (
            <>
              {" "}
              by{" "}
              {blocking.holders.map((id, index) => (
                <>
                  {index > 0 && ", "}
                  {job(id)}
                </>
              ))}
              {blocking.more && " and others"}
            </>
          )}
          .
        </>
      );
    case "retry_rate":
      return (
        <>
          The retries of {gate(blocking)} have a budget; the next may start {left ? `in ${left}` : "soon"}.
        </>
      );
    case "breaker_open":
      return (
        <>
          The breaker of {gate(blocking)} is open: too many attempts failed.
          {left ? ` It lets probes through in ${left}.` : ""}
        </>
      );
    case "slow_down":
      return (
        <>
          A worker asked for less: {gate(blocking)} starts nothing{left ? ` for another ${left}` : ""}.
        </>
      );
    case "share":
      return (
        <>
          The {gate(blocking)} is in use on another shard
          {blocking.since ? (
            <>
              , since <Time at={blocking.since} />
            </>
          ) : (
            ""
          )}
          .
        </>
      );
    case "rate":
      return (
        <>
          The rate of {gate(blocking)} allows the next start {left ? `in ${left}` : "soon"}.
        </>
      );
    case "behind":
      return (
        <>
          {blocking.ahead === 1
            ? "1 job of its queue comes"
            : `${count(blocking.ahead ?? 0)}${blocking.more ? " or more" : ""} jobs of its queue come`}{" "}
          before it.
        </>
      );
    default:
      return <>{(blocking.code as string).replaceAll("_", " ")}</>;
  }
}

function remedy(blocking: Blocking, of: Job): ComponentChildren {
  if (!may("operate")) return null;
  const resume = (path: string, body: unknown) => (
    <Button size="tiny" icon="play" onClick={async () => (await post(path, body), toast("Resumed"))}>
      Resume
    </Button>
  );
  switch (blocking.code) {
    case "scheduled":
    case "backoff":
      return (
        <Button size="tiny" icon="play" onClick={() => runNow(of)}>
          Run now
        </Button>
      );
    case "queue_paused":
      return resume(`v1/queues/${segment(of.queue)}/resume`, undefined);
    case "slow_down":
    case "limit_paused":
      return blocking.limit && blocking.limit_kind !== "queue" && blocking.limit_kind !== "type"
        ? resume(`v1/limits/${segment(blocking.limit)}/resume`, blocking.key ? { key: blocking.key } : {})
        : null;
    default:
      return null;
  }
}

export function WhyPanel({
  of,
  title = "Why it is not running",
  actions,
}: {
  of: Job;
  title?: string;
  actions?: ComponentChildren;
}) {
  const why = useResource(
    `why ${of.id} ${of.version}`,
    (signal) => get<Why>(`v1/jobs/${segment(of.id)}/why`, {}, signal),
    { everyMs: 3000, keep: true },
  );
  return (
    <Panel title={title} actions={actions}>
      <div style={{ padding: "0.25rem 1rem" }}>
        <Shown of={why} height={3}>
          {(data) => (
            <ul class="why-list">
              {data.blocking.map((blocking, index) => (
                <li key={`${blocking.code}${index}`}>
                  <Icon
                    name={
                      blocking.code.endsWith("paused")
                        ? "pause"
                        : blocking.code === "limit_full" || blocking.code === "rate"
                          ? "limits"
                          : blocking.code === "behind"
                            ? "queues"
                            : "schedules"
                    }
                  />
                  <span class="grow">{words(blocking, of)}</span>
                  {remedy(blocking, of)}
                </li>
              ))}
              {data.notes.map((note) => (
                <li key={note.code}>
                  <Icon name="workers" class="bad" />
                  <span class="grow">
                    No worker has asked for jobs of this queue and type{" "}
                    {note.last_seen ? (
                      <>
                        since <Time at={note.last_seen} exact />
                      </>
                    ) : (
                      "lately"
                    )}
                    . Start one: <code>millrace work -q {of.queue} -- COMMAND</code>
                  </span>
                </li>
              ))}
              {data.blocking.length === 0 && data.notes.length === 0 && (
                <li>
                  <Icon name="check" class="good" />
                  <span>Nothing holds it: the next claim of its queue and type gets it.</span>
                </li>
              )}
            </ul>
          )}
        </Shown>
      </div>
    </Panel>
  );
}
