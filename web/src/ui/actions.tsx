// The actions on a single job, for all pages that show it.
import { patch, post, remove, segment } from "../lib/api";
import { nameOf } from "../lib/graph";
import { go } from "../lib/router";
import type { Job } from "../lib/types";
import { type MenuItem, ask } from "./dialog";
import { retryMembers } from "./members";
import { kEnded } from "./state";
import { toast } from "./toast";

const path = (job: Job): string => `v1/jobs/${segment(job.id)}`;

// A member's job is retried by its workflow, and only if it has failed.
export const canRetry = (job: Job): boolean =>
  kEnded.includes(job.state) && (job.workflow?.role !== "member" || job.state !== "succeeded");
export const canCancel = (job: Job): boolean => !kEnded.includes(job.state) && !job.cancel_requested;
export const canDelete = (job: Job): boolean => job.state !== "running";
export const canEdit = (job: Job): boolean => ["scheduled", "ready", "retrying", "blocked"].includes(job.state);

export async function retryJob(job: Job): Promise<void> {
  const { workflow } = job;
  if (workflow && workflow.number !== null) {
    await retryMembers(workflow.id, [nameOf({ ref: workflow.ref, number: workflow.number })]);
    return;
  }
  await post(`${path(job)}/retry`, {});
  toast(`${job.type} will run again`);
}

export async function runNow(job: Job): Promise<void> {
  await patch(path(job), { run_at: new Date().toISOString() }, { "If-Match": `"${job.version}"` });
  toast(`${job.type} is due now`);
}

export function cancelJob(job: Job): void {
  ask({
    title: `Cancel this ${job.type}?`,
    text:
      job.state === "running"
        ? "It is running: its worker is told at its next heartbeat, and stops when it can."
        : "It does not run, and stays in the list as cancelled.",
    yes: "Cancel the job",
    danger: true,
    reason: "Reason (for the others)",
    run: async (reason) => {
      await post(`${path(job)}/cancel`, reason ? { reason } : {});
      toast(job.state === "running" ? "The worker is told to stop" : "Cancelled");
    },
  });
}

export function deleteJob(job: Job, then?: () => void): void {
  ask({
    title: `Delete this ${job.type}?`,
    text: "The job goes with its payload, attempts and log. This can't be undone.",
    yes: "Delete",
    danger: true,
    run: async () => {
      await remove(path(job));
      toast("Deleted");
      if (then) then();
      else go(["jobs"]);
    },
  });
}

export function itemsFor(
  job: Job,
  more: { edit: () => void; clone: () => void; curl: () => void },
  may: { operate: boolean; submit: boolean },
): (MenuItem | false)[] {
  return [
    may.operate && canEdit(job) && { text: "Edit", icon: "edit", run: more.edit },
    may.operate &&
      (job.state === "scheduled" || job.state === "retrying") && {
        text: "Run now",
        icon: "play",
        run: () => runNow(job),
      },
    may.submit && { text: "Clone, or edit and submit anew", icon: "copy", run: more.clone },
    { text: "As curl", icon: "link", run: more.curl },
    may.operate && canDelete(job) && { text: "Delete", icon: "trash", danger: true, run: () => deleteJob(job) },
  ];
}
