// The live log of events. While this page is open, it follows the log itself; a paused page keeps its
// events.
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get } from "../lib/api";
import { count, timeOfDay, absolute, shortId } from "../lib/format";
import { liveState, paused } from "../lib/live";
import { names, wantNames } from "../lib/names";
import { href, place, setQuery } from "../lib/router";
import type { FeedEvent } from "../lib/types";
import { Button, Empty, Panel, TextField, Choice, messageOf, Notice } from "../ui/parts";
import { Bar, togglePaused } from "../ui/shell";
import { StateShape } from "../ui/state";

const kMost = 500;
const kinds: Record<string, string> = {
  "job.submitted": "ready",
  "job.started": "running",
  "job.succeeded": "succeeded",
  "job.retrying": "retrying",
  "job.snoozed": "scheduled",
  "job.released": "ready",
  "job.lease_expired": "expired",
  "job.timed_out": "expired",
  "job.dead": "dead",
  "job.expired": "expired",
  "job.cancel_requested": "cancelled",
  "job.cancelled": "cancelled",
  "workflow.succeeded": "succeeded",
  "workflow.failed": "failed",
  "workflow.cancelled": "cancelled",
  "workflow.stopping": "stopping",
};
const groups: Record<string, string[]> = {
  failures: ["job.retrying", "job.dead", "job.lease_expired", "job.timed_out", "job.expired"],
  ends: ["job.succeeded", "job.dead", "job.cancelled", "job.expired"],
  people: [
    "job.cancel_requested",
    "job.cancelled",
    "job.retried",
    "job.edited",
    "job.deleted",
    "queue.updated",
    "queue.paused",
    "queue.resumed",
    "queue.purged",
    "queue.deleted",
    "schedule.updated",
    "schedule.paused",
    "schedule.resumed",
    "schedule.deleted",
  ],
};

export function Events() {
  const { query } = place.value;
  const group = query.get("show") ?? "";
  const queue = query.get("queue") ?? "";
  const [events, setEvents] = useState<FeedEvent[]>([]);
  const [missed, setMissed] = useState(0);
  const [fault, setFault] = useState("");
  const seen = useRef(0);
  useEffect(() => void wantNames(), []);
  useEffect(() => {
    setEvents([]);
    setMissed(0);
    setFault("");
    const abort = new AbortController();
    const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    const follow = async (): Promise<void> => {
      let cursor = "end";
      while (!abort.signal.aborted) {
        if (paused.peek() || document.hidden) {
          await wait(300);
          continue;
        }
        try {
          const page: { items: FeedEvent[]; next_cursor: string } = await get(
            "v1/events",
            { cursor, wait_ms: 20_000, limit: 200, types: groups[group]?.join(","), queues: queue || undefined },
            abort.signal,
          );
          cursor = page.next_cursor;
          setFault("");
          if (paused.peek()) {
            setMissed((before) => before + page.items.length);
          } else if (page.items.length > 0) {
            seen.current += page.items.length;
            setEvents((before) => [...page.items.reverse(), ...before].slice(0, kMost));
          }
          // On a busy log it jumps ahead: nobody reads a thousand lines a second.
          if (page.items.length === 200) cursor = "end";
          await wait(400);
        } catch (error) {
          if (abort.signal.aborted) return;
          if (error instanceof ApiError && error.status === 410) cursor = "end";
          else setFault(messageOf(error));
          await wait(2000);
        }
      }
    };
    void follow();
    return () => abort.abort();
  }, [group, queue]);
  return (
    <>
      <Bar title="Events">
        <Button icon={paused.value ? "play" : "pause"} onClick={togglePaused}>
          {paused.value ? "Go on" : "Pause"}
        </Button>
      </Bar>
      <div class="content" style={{ gap: "0.75rem" }}>
        <div class="fields" style={{ maxWidth: "34rem" }}>
          <Choice
            label="Show"
            value={group}
            onChange={(value) => setQuery({ show: value })}
            options={[
              ["", "everything"],
              ["failures", "failures"],
              ["ends", "ends of jobs"],
              ["people", "what people did"],
            ]}
          />
          <TextField
            label="Queue"
            value={queue}
            onInput={(value) => setQuery({ queue: value })}
            list={names.value.queues}
            placeholder="all"
          />
        </div>
        {fault && liveState.value !== "lost" && <Notice kind="warn">{fault}</Notice>}
        <Panel
          title="Newest first"
          actions={
            <span class="small faint">
              {missed > 0 ? `${count(missed)} came while paused` : `the last ${count(kMost)} stay here`}
            </span>
          }
        >
          {events.length === 0 ? (
            <Empty icon="events" title="Nothing has happened since you came">
              <p>What happens from now on shows here.</p>
            </Empty>
          ) : (
            <div class="scroll" role="region" aria-label="Events" tabIndex={0}>
              <table>
                <thead>
                  <tr>
                    <th scope="col">At</th>
                    <th scope="col">Event</th>
                    <th scope="col">Of</th>
                    <th scope="col" class="lo">
                      Queue
                    </th>
                    <th scope="col" class="mid">
                      Worker
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {events.map((event) => (
                    <tr key={event.id}>
                      <td class="num soft">
                        <time dateTime={event.at} title={absolute(event.at)}>
                          {timeOfDay(event.at)}
                        </time>
                      </td>
                      <td>
                        <span class={`state ${kinds[event.type] ?? ""}`}>
                          <StateShape state={kinds[event.type] ?? ""} />
                          {event.type.replace("job.", "").replaceAll("_", " ").replace(".", " ")}
                        </span>
                      </td>
                      <td class="wide">
                        {event.job_id ? (
                          <a href={href(["jobs", event.job_id])}>{event.job_type}</a>
                        ) : typeof event.data.workflow === "string" ? (
                          <a href={href(["workflows", event.data.workflow])}>
                            {typeof event.data.name === "string" ? event.data.name : shortId(event.data.workflow)}
                          </a>
                        ) : (
                          <span class="soft">{event.queue ?? ""}</span>
                        )}
                      </td>
                      <td class="lo">
                        {event.queue && (
                          <a class="soft" href={href(["queues", event.queue])}>
                            {event.queue}
                          </a>
                        )}
                      </td>
                      <td class="mid soft">{event.worker}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </Panel>
      </div>
    </>
  );
}
