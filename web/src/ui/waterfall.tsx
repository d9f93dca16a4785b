// A job's history on a timeline: waiting, attempts, and the outcome of each.
import { duration, timeOfDay } from "../lib/format";
import { now } from "../lib/live";
import type { Attempt, Job } from "../lib/types";
import { StateShape, kEnded, stateOfOutcome } from "./state";

const kMostLanes = 40;

interface Piece {
  from: number;
  to: number;
  kind: "wait" | "run";
  state: string;
  title: string;
  open?: boolean;
}
interface Lane {
  key: string;
  what: string;
  state: string;
  pieces: Piece[];
  took: string;
}

const ms = (at: string): number => new Date(at).getTime();
const outcomes: Record<string, string> = { lease_expired: "lost its lease", timed_out: "ran out of time" };

export function lanesOf(
  job: Job,
  attempts: Attempt[],
  at: number,
): { lanes: Lane[]; from: number; to: number; left: number } {
  const from = ms(job.created_at);
  const ended = kEnded.includes(job.state);
  const to = Math.max(from + 1, ended && job.finished_at ? ms(job.finished_at) : at);
  const lanes: Lane[] = [];
  let since = from;
  const shown = attempts.slice(-kMostLanes);
  for (const attempt of shown) {
    const started = ms(attempt.started_at);
    const finished = attempt.finished_at ? ms(attempt.finished_at) : Math.max(started, at);
    const state = stateOfOutcome[attempt.outcome] ?? "ready";
    const word = outcomes[attempt.outcome] ?? attempt.outcome;
    lanes.push({
      key: String(attempt.n),
      what: `${attempt.n}. ${word}`,
      state,
      took: duration(finished - started),
      pieces: [
        {
          from: Math.min(since, started),
          to: started,
          kind: "wait",
          state: "blocked",
          title: `waited ${duration(started - since)}`,
        },
        {
          from: started,
          to: finished,
          kind: "run",
          state,
          title: `${word}: ${duration(finished - started)}${attempt.worker ? ` on ${attempt.worker}` : ""}`,
          open: attempt.finished_at === null,
        },
      ],
    });
    since = finished;
  }
  if (!ended && job.state !== "running") {
    lanes.push({
      key: "now",
      what: job.state,
      state: job.state,
      took: duration(at - since),
      pieces: [
        {
          from: since,
          to: at,
          kind: "wait",
          state: job.state,
          title: `${job.state} for ${duration(at - since)}`,
          open: true,
        },
      ],
    });
  } else if (ended && shown.length === 0) {
    lanes.push({
      key: "end",
      what: job.state,
      state: job.state,
      took: duration(to - from),
      pieces: [{ from, to, kind: "wait", state: job.state, title: `${job.state} after ${duration(to - from)}` }],
    });
  }
  return { lanes, from, to, left: attempts.length - shown.length };
}

export function Waterfall({ job, attempts }: { job: Job; attempts: Attempt[] }) {
  const { lanes, from, to, left } = lanesOf(job, attempts, now.value);
  const span = to - from;
  return (
    <div class="waterfall" role="group" aria-label="Attempts over time">
      <div class="lane axis">
        <span>{left > 0 ? `${left} earlier ones` : ""}</span>
        <span class="row apart">
          <span>{timeOfDay(from)}</span>
          <span>{kEnded.includes(job.state) ? timeOfDay(to) : "now"}</span>
        </span>
        <span style={{ textAlign: "right" }}>{duration(span)}</span>
      </div>
      {lanes.map((lane) => (
        <div class="lane" key={lane.key}>
          <span class="what">
            <StateShape state={lane.state} />
            <span class="clip">{lane.what}</span>
          </span>
          <span class="track">
            {lane.pieces
              .filter((piece) => piece.to > piece.from || piece.kind === "run")
              .map((piece) => (
                <span
                  key={piece.kind}
                  class={`bar-piece ${piece.kind} c-${piece.state} ${piece.open ? "now" : ""}`}
                  title={piece.title}
                  role="img"
                  aria-label={piece.title}
                  style={{
                    left: `${(100 * (piece.from - from)) / span}%`,
                    width: `${(100 * (piece.to - piece.from)) / span}%`,
                  }}
                />
              ))}
          </span>
          <span class="num soft" style={{ textAlign: "right" }}>
            {lane.took}
          </span>
        </div>
      ))}
    </div>
  );
}
