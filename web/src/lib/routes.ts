// The pages: their addresses, names and keys.

export interface PageEntry {
  path: string;
  name: string;
  icon: string;
  key: string; // after 'g'
  group: string;
  scope?: "admin";
}

export const pages: PageEntry[] = [
  { path: "", name: "Overview", icon: "overview", key: "o", group: "" },
  { path: "queues", name: "Queues", icon: "queues", key: "q", group: "" },
  { path: "jobs", name: "Jobs", icon: "jobs", key: "j", group: "" },
  { path: "workflows", name: "Workflows", icon: "workflows", key: "f", group: "" },
  { path: "errors", name: "Errors", icon: "failures", key: "e", group: "" },
  { path: "schedules", name: "Schedules", icon: "schedules", key: "s", group: "Work" },
  { path: "limits", name: "Limits", icon: "limits", key: "l", group: "Work" },
  { path: "workers", name: "Workers", icon: "workers", key: "w", group: "Work" },
  { path: "push", name: "Push targets", icon: "push", key: "p", group: "Work" },
  { path: "operations", name: "Operations", icon: "operations", key: "b", group: "Work" },
  { path: "events", name: "Events", icon: "events", key: "v", group: "Server" },
  { path: "audit", name: "Audit", icon: "audit", key: "a", group: "Server", scope: "admin" },
  { path: "nodes", name: "Nodes", icon: "nodes", key: "n", group: "Server", scope: "admin" },
  { path: "settings", name: "Settings", icon: "settings", key: "k", group: "Server" },
];
