// The states of jobs, workflows and their members, each with a colour and a shape.
import type { JobState } from "../lib/types";

// The states that a job leaves only by a retry.
export const kEnded: readonly JobState[] = ["succeeded", "dead", "cancelled", "expired"];

const stroke = {
  fill: "none",
  stroke: "currentColor",
  "stroke-width": 1.7,
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
} as const;

function Shape({ state }: { state: string }) {
  switch (state) {
    case "scheduled":
      return <path {...stroke} d="M7 1.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM7 4.3V7l1.9 1.3" />;
    case "ready":
      return <circle {...stroke} cx="7" cy="7" r="5" />;
    case "running":
    case "active":
      return (
        <>
          <circle {...stroke} cx="7" cy="7" r="5" />
          <path fill="currentColor" d="M7 2a5 5 0 0 1 0 10z" />
        </>
      );
    case "retrying":
      return <path {...stroke} d="M12 7a5 5 0 1 1-1.5-3.6M12.2 1.6v2.6H9.6" />;
    case "blocked":
      return <path {...stroke} d="M2.5 2.5h9v9h-9zM5.3 5v4M8.7 5v4" />;
    case "succeeded":
      return (
        <>
          <circle fill="currentColor" cx="7" cy="7" r="6" />
          <path {...stroke} stroke="var(--surface)" d="M4.3 7.3l1.9 1.9 3.6-4" />
        </>
      );
    case "dead":
    case "failed":
      return (
        <>
          <path fill="currentColor" d="M4.5 1h5L13 4.5v5L9.5 13h-5L1 9.5v-5z" />
          <path {...stroke} stroke="var(--surface)" d="M5 5l4 4M9 5l-4 4" />
        </>
      );
    case "cancelled":
      return <path {...stroke} d="M7 1.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM3.2 10.8l7.6-7.6" />;
    case "expired":
      return (
        <path
          {...stroke}
          d="M3.5 1.5h7M3.5 12.5h7M4.5 1.5c0 3.5 5 3.5 5 5.5s-5 2-5 5.5M9.5 1.5c0 3.5-5 3.5-5 5.5s5 2 5 5.5"
        />
      );
    case "skipped":
      return <path {...stroke} d="M2 3.5L5.5 7 2 10.5M6 3.5L9.5 7 6 10.5M12 3v8" />;
    case "stopping":
      return <path {...stroke} d="M7 1.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM5.3 5.3h3.4v3.4H5.3z" />;
    default:
      return <circle {...stroke} cx="7" cy="7" r="2" />;
  }
}

export function StateShape({ state }: { state: string }) {
  return (
    <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" focusable="false" class={`c-${state}`}>
      <Shape state={state} />
    </svg>
  );
}

export function StateMark({ state, label }: { state: JobState | string; label?: string }) {
  return (
    <span class={`state ${state}`}>
      <StateShape state={state} />
      {label ?? state}
    </span>
  );
}

// Maps the outcome of an attempt to the job state that it is shown as.
export const stateOfOutcome: Record<string, string> = {
  running: "running",
  succeeded: "succeeded",
  failed: "retrying",
  snoozed: "scheduled",
  released: "ready",
  cancelled: "cancelled",
  dead: "dead",
  lease_expired: "expired",
  timed_out: "expired",
};
