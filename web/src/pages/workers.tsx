// The workers: the jobs that each runs, and when the server last heard from it.
import { getAll, may, post, segment } from "../lib/api";
import { duration, plural } from "../lib/format";
import { now } from "../lib/live";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { WorkerInfo } from "../lib/types";
import { Menu, ask } from "../ui/dialog";
import { Code, Empty, Find, Panel, Shown, Time } from "../ui/parts";
import { Bar } from "../ui/shell";
import { Table } from "../ui/table";
import { toast } from "../ui/toast";

const kSilentMs = 45_000;

export function Workers() {
  const workers = useResource("workers", (signal) => getAll<WorkerInfo>("v1/workers", {}, signal), { everyMs: 2000 });
  const find = place.value.query.get("find") ?? "";
  const operate = may("operate");
  const silent = (worker: WorkerInfo): boolean => now.value - new Date(worker.last_seen_at).getTime() > kSilentMs;
  const tell = (worker: WorkerInfo, what: "quiet" | "stop"): void =>
    ask({
      title: what === "quiet" ? `Quiet ${worker.id}?` : `Stop ${worker.id}?`,
      text:
        what === "quiet"
          ? "It finishes what it runs, and takes no further job. It stays until it is stopped."
          : "It finishes what it runs, as far as its grace period allows, and ends.",
      yes: what === "quiet" ? "Quiet it" : "Stop it",
      danger: what === "stop",
      run: async () => {
        await post(`v1/workers/${segment(worker.id)}/${what}`);
        toast("It is told at its next call");
      },
    });
  const matches = (worker: WorkerInfo): boolean =>
    !find ||
    [worker.id, worker.host ?? "", worker.version ?? "", ...worker.queues].some((text) =>
      text.toLowerCase().includes(find.toLowerCase()),
    );
  return (
    <>
      <Bar title="Workers" />
      <div class="content">
        <Shown of={workers} height={16}>
          {(data) => (
            <Panel
              title={`${plural(data.length, "worker")}, ${plural(
                data.reduce((sum, worker) => sum + worker.running.length, 0),
                "running job",
              )}`}
              actions={
                <Find
                  label="Find a worker"
                  placeholder="Name, host, version or queue"
                  value={find}
                  onInput={(text) => setQuery({ find: text })}
                />
              }
            >
              <Table
                label="Workers"
                items={data.filter(matches)}
                id={(worker) => worker.id}
                sorting={{ by: "id", down: false }}
                empty={
                  <Empty
                    icon="workers"
                    title={data.length === 0 ? "No worker has been here in the last five minutes" : "No worker matches"}
                  >
                    {data.length === 0 && <Code text={"millrace work -q default -- COMMAND"} />}
                  </Empty>
                }
                columns={[
                  {
                    name: "id",
                    head: "Worker",
                    rowHead: true,
                    sort: (worker) => worker.id,
                    cell: (worker) => (
                      <span class="row">
                        <span class="clip" style={{ maxWidth: "18rem" }} title={worker.id}>
                          {worker.id}
                        </span>
                        {worker.state !== "active" && <span class="badge warn">{worker.state}</span>}
                        {silent(worker) && (
                          <span class={`badge ${worker.running.length > 0 ? "bad" : ""}`}>silent</span>
                        )}
                      </span>
                    ),
                  },
                  {
                    name: "running",
                    head: "Runs",
                    class: "wrap",
                    sort: (worker) => worker.running.length,
                    cell: (worker) =>
                      worker.running.length === 0 ? (
                        <span class="zero">idle</span>
                      ) : (
                        <span class="row wrap" style={{ gap: "0 0.75rem" }}>
                          {worker.running.slice(0, 4).map((job) => (
                            <span key={job.id} class="nowrap">
                              <a href={href(["jobs", job.id])}>{job.type}</a>{" "}
                              <span class="faint num">{duration(now.value - new Date(job.started_at).getTime())}</span>
                            </span>
                          ))}
                          {worker.running.length > 4 && <span class="soft">and {worker.running.length - 4} more</span>}
                        </span>
                      ),
                  },
                  {
                    name: "queues",
                    head: "Queues",
                    when: "mid",
                    cell: (worker) => (
                      <span class="soft">
                        {worker.queues.slice(0, 4).join(", ")}
                        {worker.queues.length > 4 ? ` and ${worker.queues.length - 4} more` : ""}
                      </span>
                    ),
                  },
                  {
                    name: "version",
                    head: "Version",
                    when: "lo",
                    sort: (worker) => worker.version ?? "",
                    cell: (worker) => worker.version ?? <span class="zero">–</span>,
                  },
                  {
                    name: "host",
                    head: "Host",
                    when: "mid",
                    sort: (worker) => worker.host ?? "",
                    cell: (worker) => (
                      <span
                        class="soft"
                        title={Object.entries(worker.labels)
                          .map(([name, value]) => `${name}=${value}`)
                          .join("\n")}
                      >
                        {worker.host}
                        {worker.pid !== null && ` (${worker.pid})`}
                      </span>
                    ),
                  },
                  {
                    name: "sdk",
                    head: "SDK",
                    when: "mid",
                    sort: (worker) => worker.sdk ?? "",
                    cell: (worker) => <span class="soft">{worker.sdk ?? "–"}</span>,
                  },
                  {
                    name: "seen",
                    head: "Last heard",
                    right: true,
                    when: "lo",
                    sort: (worker) => worker.last_seen_at,
                    cell: (worker) => <Time at={worker.last_seen_at} />,
                  },
                  ...(operate
                    ? [
                        {
                          name: "act",
                          head: <span class="hidden-text">Actions</span>,
                          right: true,
                          cell: (worker: WorkerInfo) => (
                            <Menu
                              label={`Actions for ${worker.id}`}
                              items={[
                                worker.state === "active" && {
                                  text: "Quiet",
                                  icon: "pause",
                                  run: () => tell(worker, "quiet"),
                                },
                                { text: "Stop", icon: "stop", danger: true, run: () => tell(worker, "stop") },
                              ]}
                            />
                          ),
                        },
                      ]
                    : []),
                ]}
              />
            </Panel>
          )}
        </Shown>
      </div>
    </>
  );
}
