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
      return <path {...stroke} d="M7 1.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM7 4.300V7l1.900 1.300" />;
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
      return <path {...stroke} d="M12 7a5 5 0 1 1-1.500-3.600M12.200 1.600v2.600H9.600" />;
    case "blocked":
      return <path {...stroke} d="M2.500 2.500h9v9h-9zM5.300 5v4M8.700 5v4" />;
    case "succeeded":
      return (
        <>
          <circle fill="currentColor" cx="7" cy="7" r="6" />
          <path {...stroke} stroke="var(--surface)" d="M4.300 7.300l1.900 1.900 3.600-4" />
        </>
      );
    case "dead":
    case "failed":
      return (
        <>
          <path fill="currentColor" d="M4.500 1h5L13 4.500v5L9.500 13h-5L1 9.500v-5z" />
          <path {...stroke} stroke="var(--surface)" d="M5 5l4 4M9 5l-4 4" />
        </>
      );
    case "cancelled":
      return <path {...stroke} d="M7 1.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM3.200 10.800l7.600-7.600" />;
    case "expired":
      return (
        <path
          {...stroke}
          d="M3.500 1.500h7M3.500 12.500h7M4.500 1.500c0 3.500 5 3.500 5 5.500s-5 2-5 5.500M9.500 1.500c0 3.500-5 3.500-5 5.500s5 2 5 5.500"
        />
      );
    case "skipped":
      return <path {...stroke} d="M2 3.500L5.500 7 2 10.500M6 3.500L9.500 7 6 10.500M12 3v8" />;
    case "stopping":
      return (
        <path {...stroke} d="M7 1.500a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM5.300 5.300h3.400v3.400H5.300z" />
      );
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
