// The overview: whether all is well, and if not, why, and the next step.
import { useState } from "preact/hooks";
import { get, getAll, may } from "../lib/api";
import { linkOf, resumeOf } from "../lib/findings";
import { compact, count, duration, rate } from "../lib/format";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import { type Findings, type JobState, type Queue, type Stats, type WorkerInfo, kStates } from "../lib/types";
import { Chart, type Mark, Spark } from "../ui/chart";
import { Icon } from "../ui/icons";
import { Big, Button, Empty, Panel, Segments, Shown, Trouble } from "../ui/parts";
import { Bar } from "../ui/shell";
import { StateShape } from "../ui/state";
import { Count, Table } from "../ui/table";
import { toast } from "../ui/toast";
import { Quickstart } from "./quickstart";

export const kWindows: [string, string, number, number][] = [
  ["15m", "15 min", 900_000, 5_000],
  ["1h", "1 h", 3_600_000, 20_000],
  ["6h", "6 h", 21_600_000, 120_000],
  ["24h", "24 h", 86_400_000, 600_000],
  ["7d", "7 d", 604_800_000, 3_600_000],
  ["30d", "30 d", 2_592_000_000, 14_400_000],
];
export function useWindow(): { key: string; windowMs: number; stepMs: number; chooser: preact.JSX.Element } {
  const chosen = kWindows.find(([key]) => key === place.value.query.get("window")) ?? kWindows[0]!;
  const chooser = (
    <Segments
      label="How far back"
      value={chosen[0]}
      options={kWindows.map(([key, text]) => [key, text])}
      onChange={(window) => setQuery({ window: window === "15m" ? undefined : window })}
      narrow
    />
  );
  return { key: chosen[0], windowMs: chosen[2], stepMs: chosen[3], chooser };
}

const kStartMs = 20_000;

// The times at which workers with a new version appeared. The first versions of the history do not count.
export function deploysOf(stats: Stats | undefined): Mark[] {
  if (!stats) return [];
  const first = Math.min(...stats.groups.map((group) => group.started.findIndex((n) => n > 0)).filter((at) => at >= 0));
  const begins = first > 0 ? new Date(stats.from).getTime() + (first + 1) * stats.step_ms + kStartMs : 0;
  return stats.deploys
    .map((deploy) => ({ at: new Date(deploy.at).getTime(), text: deploy.version }))
    .filter((mark) => mark.at > begins);
}

// Uses whole steps only: the last step has just begun and would look like a drop.
const perSecond = (column: number[], stepMs: number): (number | null)[] =>
  column.map((n, i) => (i === column.length - 1 ? null : (n * 1000) / stepMs));

export function Throughput({
  stats,
  group,
  marks,
}: {
  stats: Stats;
  group: Stats["groups"][number] | undefined;
  marks: Mark[];
}) {
  if (!group) return <Empty title="Nothing has happened in this window" />;
  return (
    <Chart
      label="Throughput, in jobs a second"
      fromMs={new Date(stats.from).getTime()}
      stepMs={stats.step_ms}
      marks={marks}
      format={rate}
      lines={[
        { name: "In /s", color: "--ready", values: perSecond(group.submitted, stats.step_ms), dash: "dashed" },
        { name: "Done /s", color: "--succeeded", values: perSecond(group.succeeded, stats.step_ms), fill: true },
        { name: "Failed /s", color: "--dead", values: perSecond(group.failed, stats.step_ms) },
      ]}
    />
  );
}

export function Percentiles({
  stats,
  group,
  what,
  marks,
}: {
  stats: Stats;
  group: Stats["groups"][number] | undefined;
  what: "wait_ms" | "run_ms";
  marks: Mark[];
}) {
  if (!group) return <Empty title="Nothing has run in this window" />;
  const columns = group[what];
  return (
    <Chart
      label={what === "wait_ms" ? "Time from due to started" : "Time from started to ended"}
      fromMs={new Date(stats.from).getTime()}
      stepMs={stats.step_ms}
      marks={marks}
      format={duration}
      times
      lines={[
        { name: "p50", color: "--text-2", values: columns.p50 },
        { name: "p95", color: "--accent", values: columns.p95, dash: "dashed" },
        { name: "p99", color: "--scheduled", values: columns.p99, dash: "dotted" },
      ]}
    />
  );
}

// The most of one code that are asked for.
const kOfACode = 100;

function Attention({ found }: { found: Findings }) {
  const [many, setMany] = useState(6);
  // A note is no fault.
  const items = found.items.filter(({ severity }) => severity !== "note");
  const left = found.more.reduce((all, more) => all + (more.severity === "note" ? 0 : more.count), 0);
  const shown = items.slice(0, many);
  if (items.length === 0) {
    return (
      <Panel title="Needs attention">
        <div class="row" style={{ padding: "0.75rem 1rem" }}>
          <Icon name="check" class="good" />
          <span>All is well: every queue is served, nothing is paused, full or broken.</span>
        </div>
      </Panel>
    );
  }
  return (
    <Panel title={`Needs attention (${count(items.length + left)})`}>
      <ul class="attention">
        {shown.map((finding) => {
          const link = linkOf(finding);
          const mend = resumeOf(finding);
          const next = finding.command ? finding.next.slice(0, -finding.command.length) : finding.next;
          return (
            <li key={`${finding.code} ${JSON.stringify(finding.about)}`}>
              <Icon name="warn" class={finding.severity} />
              <div class="grow">
                <p class="strong">{finding.what}</p>
                <p class="soft">
                  {finding.why} Next: {next}
                  {finding.command && <code>{finding.command}</code>}
                </p>
              </div>
              <div class="do">
                {mend && may("operate") && (
                  <Button size="tiny" icon="play" onClick={() => act(mend)}>
                    Resume
                  </Button>
                )}
                {link && (
                  <a class="btn tiny" href={link.href}>
                    {link.text}
                  </a>
                )}
              </div>
            </li>
          );
        })}
      </ul>
      {items.length > shown.length && (
        <div style={{ padding: "0.5rem 1rem" }}>
          <Button kind="quiet" size="tiny" onClick={() => setMany(many + 100)}>
            Show {count(Math.min(100, items.length - shown.length))} more
          </Button>
        </div>
      )}
      {items.length === shown.length && left > 0 && (
        <p class="soft" style={{ padding: "0.5rem 1rem" }}>
          And {count(left)} more like these.
        </p>
      )}
    </Panel>
  );
}

async function act({ name, resume }: NonNullable<ReturnType<typeof resumeOf>>): Promise<void> {
  await resume();
  toast(`${name} is resumed`);
}

export function totalsOf(queues: Queue[]): Record<JobState, number> {
  const totals = Object.fromEntries(kStates.map((state) => [state, 0])) as Record<JobState, number>;
  for (const queue of queues) for (const state of kStates) totals[state] += queue.counts[state];
  return totals;
}

export function Overview() {
  const window = useWindow();
  const queues = useResource("queues", (signal) => getAll<Queue>("v1/queues", {}, signal), { everyMs: 5000 });
  const parameters = { window_ms: window.windowMs, step_ms: window.stepMs };
  const stats = useResource(`stats ${window.key}`, (signal) => get<Stats>("v1/stats", parameters, signal), {
    everyMs: 5000,
    keep: true,
  });
  const byType = useResource(
    `stats type ${window.key}`,
    (signal) => get<Stats>("v1/stats", { ...parameters, step_ms: window.stepMs * 3, by: "type" }, signal),
    { everyMs: 10_000, keep: true },
  );
  const found = useResource("findings", (signal) => get<Findings>("v1/findings", { limit: kOfACode }, signal), {
    everyMs: 5000,
  });
  const workers = useResource("workers", (signal) => getAll<WorkerInfo>("v1/workers", {}, signal), { everyMs: 5000 });

  if (queues.data?.length === 0) return <Quickstart />;
  const totals = queues.data && totalsOf(queues.data);
  const group = stats.data?.groups[0];
  const marks = deploysOf(stats.data);
  const rates = { in: 0, out: 0, failed: 0 };
  let oldest: Queue | undefined;
  for (const queue of queues.data ?? []) {
    rates.in += queue.rates.submitted_per_s;
    rates.out += queue.rates.succeeded_per_s;
    rates.failed += queue.rates.failed_per_s;
    if ((queue.oldest_ready_age_ms ?? -1) > (oldest?.oldest_ready_age_ms ?? -1)) oldest = queue;
  }
  const share = rates.out + rates.failed > 0 ? (100 * rates.failed) / (rates.out + rates.failed) : 0;

  return (
    <>
      <Bar title="Overview">{window.chooser}</Bar>
      <div class="content" style={{ gap: "1rem" }}>
        <Trouble of={queues} />
        {totals ? (
          <div class="tiles eight">
            {(["ready", "running", "scheduled", "retrying", "dead"] as const).map((state) => (
              <a class="tile" key={state} href={href(["jobs"], { q: `state:${state}` })}>
                <span class="name">
                  <StateShape state={state} />
                  {state[0]!.toUpperCase() + state.slice(1)}
                </span>
                <span class={`value ${state === "dead" && totals.dead > 0 ? "bad" : ""}`} title={count(totals[state])}>
                  {totals[state] < 1_000_000 ? count(totals[state]) : compact(totals[state])}
                </span>
                <span class="under">
                  {state === "running" && workers.data
                    ? `on ${count(workers.data.filter((worker) => worker.running.length > 0).length)} of ${count(workers.data.length)} workers`
                    : ""}
                </span>
              </a>
            ))}
            <div class="tile">
              <span class="name">Oldest ready</span>
              <span class={`value ${(oldest?.oldest_ready_age_ms ?? 0) > 60_000 ? "warn" : ""}`}>
                {oldest?.oldest_ready_age_ms != null ? <Big text={duration(oldest.oldest_ready_age_ms)} /> : "–"}
              </span>
              <span class="under clip">{oldest?.oldest_ready_age_ms != null ? oldest.name : "nothing waits"}</span>
            </div>
            <div class="tile">
              <span class="name">Done a second</span>
              <span class="value">{rate(rates.out)}</span>
              <span class="under">{rate(rates.in)} come in</span>
            </div>
            <div class="tile">
              <span class="name">Failing</span>
              <span class={`value ${share >= 20 ? "bad" : share >= 5 ? "warn" : ""}`}>
                <Big text={`${share === 0 ? "0" : share < 0.1 ? "<0.1" : share.toFixed(share < 10 ? 1 : 0)} %`} />
              </span>
              <span class="under">of attempts, 1 min</span>
            </div>
          </div>
        ) : (
          <div class="skeleton" style={{ height: "5.5rem" }} />
        )}
        {found.data ? (
          <Attention found={found.data} />
        ) : (
          !found.error && <div class="skeleton" style={{ height: "5rem" }} />
        )}
        <Panel title="Throughput" class="charted" pad>
          <Shown of={stats} height={12}>
            {(data) => <Throughput stats={data} group={group} marks={marks} />}
          </Shown>
        </Panel>
        <div class="two">
          <Panel title="Wait" class="charted" pad>
            <Shown of={stats} height={12}>
              {(data) => <Percentiles stats={data} group={group} what="wait_ms" marks={marks} />}
            </Shown>
          </Panel>
          <Panel title="Run" class="charted" pad>
            <Shown of={stats} height={12}>
              {(data) => <Percentiles stats={data} group={group} what="run_ms" marks={marks} />}
            </Shown>
          </Panel>
        </div>
        <div class="two">
          <Panel title="Busiest types">
            <Shown of={byType}>{(data) => <Types stats={data} />}</Shown>
          </Panel>
          <Panel title="Longest queues" actions={<a href={href(["queues"])}>All queues</a>}>
            <Shown of={queues}>{(data) => <Longest queues={data} />}</Shown>
          </Panel>
        </div>
      </div>
    </>
  );
}

const sum = (column: number[]): number => column.reduce((a, b) => a + b, 0);
function last(column: (number | null)[]): number | null {
  for (let i = column.length - 1; i >= 0; --i) if (column[i] !== null) return column[i]!;
  return null;
}

function Types({ stats }: { stats: Stats }) {
  const groups = stats.groups
    .map((group) => ({
      group,
      name: group.others ? "all others" : (group.type ?? ""),
      started: sum(group.started),
      failed: sum(group.failed),
      succeeded: sum(group.succeeded),
    }))
    .filter((each) => each.started > 0 || each.failed > 0)
    .sort((a, b) => b.started - a.started)
    .slice(0, 8);
  return (
    <Table
      label="Busiest types"
      items={groups}
      id={(each) => each.name}
      empty={<Empty title="No job has started in this window" />}
      columns={[
        {
          name: "type",
          head: "Type",
          rowHead: true,
          class: "wide",
          cell: (each) =>
            each.group.others ? each.name : <a href={href(["jobs"], { q: `type:${each.name}` })}>{each.name}</a>,
        },
        {
          name: "spark",
          head: "Started",
          when: "lo",
          cell: (each) => <Spark label={`Starts of ${each.name}`} values={each.group.started.slice(0, -1)} />,
        },
        { name: "n", head: "Starts", right: true, cell: (each) => compact(each.started) },
        {
          name: "failed",
          head: "Failed",
          right: true,
          cell: (each) =>
            each.failed === 0 ? (
              <span class="zero">0 %</span>
            ) : (
              <span class="bad">{((100 * each.failed) / Math.max(1, each.failed + each.succeeded)).toFixed(1)} %</span>
            ),
        },
        {
          name: "p95",
          head: "Run p95",
          right: true,
          when: "lo",
          cell: (each) => ((value) => (value === null ? "–" : duration(value)))(last(each.group.run_ms.p95)),
        },
      ]}
    />
  );
}

function Longest({ queues }: { queues: Queue[] }) {
  const waiting = (queue: Queue): number => queue.counts.ready + queue.counts.retrying;
  const longest = [...queues]
    .sort((a, b) => waiting(b) - waiting(a) || b.rates.started_per_s - a.rates.started_per_s)
    .slice(0, 8);
  return (
    <Table
      label="Longest queues"
      items={longest}
      id={(queue) => queue.name}
      columns={[
        {
          name: "name",
          head: "Queue",
          rowHead: true,
          class: "wide",
          cell: (queue) => <a href={href(["queues", queue.name])}>{queue.name}</a>,
        },
        { name: "ready", head: "Ready", right: true, cell: (queue) => <Count n={queue.counts.ready} /> },
        { name: "running", head: "Running", right: true, cell: (queue) => <Count n={queue.counts.running} /> },
        {
          name: "age",
          head: "Oldest",
          right: true,
          when: "lo",
          cell: (queue) =>
            queue.oldest_ready_age_ms === null ? <span class="zero">–</span> : duration(queue.oldest_ready_age_ms),
        },
        { name: "rate", head: "Done /s", right: true, cell: (queue) => rate(queue.rates.succeeded_per_s) },
      ]}
    />
  );
}
