// Findings: the server judges, and says what to do; here they get their places in the dashboard.
import { post, segment } from "./api";
import { href } from "./router";
import type { Finding } from "./types";

export interface Link {
  text: string;
  href: string;
}

// The page where a finding is seen closely.
export function linkOf({ code, about }: Finding): Link | null {
  if (about.error_group) return { text: "Error", href: href(["errors", about.error_group]) };
  if (about.push_target) return { text: "Push target", href: href(["push", about.push_target]) };
  if (about.schedule) return { text: "Schedule", href: href(["schedules", about.schedule]) };
  if (about.limit) return { text: "Limit", href: href(["limits", about.limit]) };
  if (about.job) return { text: "Job", href: href(["jobs", about.job]) };
  if (about.worker || code === "queue_without_workers") return { text: "Workers", href: href(["workers"]) };
  if (about.queue) return { text: code === "queue_behind" ? "Why" : "Queue", href: href(["queues", about.queue]) };
  if (about.type && code.startsWith("gate_")) return { text: "Types", href: href(["limits"], { tab: "types" }) };
  if (about.type) return { text: "Errors", href: href(["errors"], { type: about.type }) };
  if (about.token) return { text: "Tokens", href: href(["settings"]) };
  if (about.check) return { text: "Checks", href: href(["settings"]) };
  if (about.node || code === "shard_without_leader" || code === "versions_differ")
    return { text: "Nodes", href: href(["nodes"]) };
  return code === "all_paused" ? { text: "Queues", href: href(["queues"]) } : null;
}

// What a button does about it: resume a thing that is paused.
export function resumeOf({ code, about }: Finding): { name: string; resume: () => Promise<unknown> } | null {
  const resume = (path: string, name: string, body?: object) => ({
    name,
    resume: () => post(`v1/${path}/${segment(name)}/resume`, body),
  });
  if (code === "queue_paused" && about.queue) return resume("queues", about.queue);
  if (code === "gate_paused" && about.limit) return resume("limits", about.limit, {});
  if (code === "schedule_paused" && about.schedule) return resume("schedules", about.schedule);
  if (code === "push_paused" && about.push_target) return resume("push-targets", about.push_target);
  return null;
}
