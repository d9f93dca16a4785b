// One queue: its numbers and charts, the gates that hold it back, and its settings.
import { useState } from "preact/hooks";
import { ApiError, get, getAll, may, patch, post, request, address, segment } from "../lib/api";
import { count, duration, durationInput, exactly, plural, rate } from "../lib/format";
import { serverNow } from "../lib/live";
import { go, href } from "../lib/router";
import { useResource } from "../lib/resource";
import {
  type Job,
  type Limit,
  type Operation,
  type Page,
  type PushTarget,
  type Queue,
  type QueueSettings,
  type Rate,
  type RetryPolicy,
  type Share,
  type Stats,
  type WorkerInfo,
  kStates,
} from "../lib/types";
import { Dialog, Menu, ask } from "../ui/dialog";
import {
  Button,
  Choice,
  Empty,
  Facts,
  Meter,
  Notice,
  Panel,
  Shown,
  TextField,
  Time,
  Trouble,
  faultsOf,
  messageOf,
} from "../ui/parts";
import {
  BreakerFields,
  FormFault,
  RateFields,
  breakerText,
  breakerWords,
  durationText,
  readBreaker,
  numberText,
  rateText,
  readDuration,
  readNumber,
  readRate,
} from "../ui/settings-form";
import { Icon } from "../ui/icons";
import { Bar, enqueueWith } from "../ui/shell";
import { StateShape } from "../ui/state";
import { Count, Table } from "../ui/table";
import { toast } from "../ui/toast";
import { GateWords, WhyPanel } from "../ui/why";
import { Percentiles, Throughput, deploysOf, useWindow } from "./overview";

const spans: Record<number, string> = {
  1000: "a second",
  60_000: "a minute",
  3_600_000: "an hour",
  86_400_000: "a day",
};
// "a second, bursts of 10"
export const rateUnit = (given: Rate): string =>
  `${spans[given.per_ms] ?? `in ${exactly(given.per_ms)}`}${given.burst ? `, bursts of ${count(given.burst)}` : ""}`;
export const rateWords = (given: Rate | null): string =>
  given ? `${count(given.limit)} ${rateUnit(given)}` : "no bound";
export function retryWords(retry: RetryPolicy): string {
  if (retry.strategy === "list") return retry.delays_ms.map(exactly).join(", ");
  const jitter = retry.jitter ? `, ±${Math.round(100 * retry.jitter)} %` : "";
  if (retry.strategy === "fixed") return `after ${exactly(retry.base_ms ?? 0)}${jitter}`;
  return `${retry.strategy}, from ${exactly(retry.base_ms ?? 0)} to ${exactly(retry.max_ms ?? 0)}${jitter}`;
}
// Returns a ready job that is about as old as the oldest. Lists begin with the newest job, so the list
// is cut at the age of the oldest.
async function longWaiting(name: string, signal: AbortSignal): Promise<Job | null> {
  const queue = await get<Queue>(`v1/queues/${segment(name)}`, {}, signal);
  const age = queue.oldest_ready_age_ms;
  if (age === null) return null;
  const before = new Date(serverNow() - age + Math.max(1000, age / 50)).toISOString();
  const page = await get<Page<Job>>(
    "v1/jobs",
    { queue: name, state: "ready", created_before: before, limit: 100 },
    signal,
  );
  return page.items.reduce<Job | null>(
    (first, job) => (first === null || job.run_at < first.run_at ? job : first),
    null,
  );
}

function readWeights(text: string): Record<string, number> {
  const weights: Record<string, number> = {};
  for (const line of text.split("\n").filter((each) => each.trim() !== "")) {
    const mark = line.lastIndexOf("=");
    const weight = Number(line.slice(mark + 1));
    if (mark < 1 || !Number.isInteger(weight)) throw new FormFault("/fair/weights", "must be lines of KEY=WEIGHT");
    weights[line.slice(0, mark).trim()] = weight;
  }
  return weights;
}

const kept = (ms: number | null): string => (ms === null ? "for ever" : ms === 0 ? "not at all" : exactly(ms));

export function QueuePage({ name }: { name: string }) {
  const path = `v1/queues/${segment(name)}`;
  const queue = useResource(`queue ${name}`, (signal) => get<Queue>(path, {}, signal), {
    when: (change) => change.queues.has(name),
    everyMs: 3000,
  });
  const window = useWindow();
  const stats = useResource(
    `stats queue ${window.key}`,
    (signal) => get<Stats>("v1/stats", { window_ms: window.windowMs, step_ms: window.stepMs, by: "queue" }, signal),
    { everyMs: 5000, keep: true },
  );
  const around = useResource(
    `around ${name}`,
    async (signal) => {
      const [workers, targets, limits, oldest] = await Promise.all([
        getAll<WorkerInfo>("v1/workers", {}, signal),
        getAll<PushTarget>("v1/push-targets", {}, signal).catch((): PushTarget[] => []),
        getAll<Limit>("v1/limits", {}, signal).catch((): Limit[] => []),
        longWaiting(name, signal),
      ]);
      return {
        workers: workers.filter((worker) => worker.queues.includes(name)),
        targets: targets.filter((target) => target.queues.includes(name)),
        limits,
        oldest,
      };
    },
    { everyMs: 10_000 },
  );
  const [editing, setEditing] = useState(false);
  const operate = may("operate");
  const data = queue.data;
  const group = stats.data?.groups.find((each) => each.queue === name);
  // Deploys of other queues' workers do not concern this queue.
  const versions = new Set(around.data?.workers.map((worker) => worker.version));

  const pause = (): void =>
    ask({
      title: `Pause ${name}?`,
      text: "No job of it is handed out until it is resumed. Jobs that run go on, and new ones are taken in.",
      yes: "Pause",
      reason: "Reason (the others see it)",
      run: async (reason) => {
        await post(`${path}/pause`, reason ? { reason } : {});
        toast(`${name} is paused`);
      },
    });
  const resume = async (): Promise<void> => {
    await post(`${path}/resume`);
    toast(`${name} is resumed`);
  };
  const [purging, setPurging] = useState(false);
  const drop = (): void =>
    ask({
      title: `Delete the queue ${name}?`,
      text: "Its settings and all its jobs go, also those that have ended. Running jobs prevent it. This can't be undone.",
      yes: "Delete the queue",
      danger: true,
      type: name,
      run: async () => {
        await request(address(path, { force: true }), { method: "DELETE" });
        toast(`${name} is deleted`);
        go(["queues"]);
      },
    });

  return (
    <>
      <Bar title={name} under={{ text: "Queues", href: href(["queues"]) }}>
        {window.chooser}
        {operate &&
          data &&
          (data.paused ? (
            <Button icon="play" kind="primary" onClick={resume}>
              Resume
            </Button>
          ) : (
            <Button icon="pause" onClick={pause}>
              Pause
            </Button>
          ))}
        <Menu
          label="More"
          items={[
            operate && { text: "Edit settings", icon: "edit", run: () => setEditing(true) },
            may("submit") && {
              text: "Enqueue a job here",
              icon: "plus",
              run: () => (enqueueWith.value = { queue: name }),
            },
            operate && { text: "Purge…", icon: "trash", danger: true, run: () => setPurging(true) },
            operate && { text: "Delete the queue…", icon: "trash", danger: true, run: drop },
          ]}
        />
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {queue.error?.status === 404 ? (
          <Empty icon="queues" title="There is no such queue">
            <p>The first job that is submitted to it makes it.</p>
          </Empty>
        ) : (
          <Shown of={queue} height={16}>
            {(it) => (
              <>
                {it.paused && (
                  <Notice kind="warn" title="This queue is paused">
                    <p>{it.pause_reason ? `“${it.pause_reason}”` : "No reason was given."}</p>
                  </Notice>
                )}
                <div class="tiles">
                  {kStates
                    .filter((state) => it.counts[state] > 0 || ["ready", "running", "dead"].includes(state))
                    .map((state) => (
                      <a class="tile" key={state} href={href(["jobs"], { q: `state:${state} queue:${name}` })}>
                        <span class="name">
                          <StateShape state={state} />
                          {state[0]!.toUpperCase() + state.slice(1)}
                        </span>
                        <span class={`value ${state === "dead" && it.counts.dead > 0 ? "bad" : ""}`}>
                          {count(it.counts[state])}
                        </span>
                        <span class="under">
                          {state === "ready" && it.oldest_ready_age_ms !== null
                            ? `oldest ${duration(it.oldest_ready_age_ms)}`
                            : state === "running"
                              ? `${rate(it.rates.started_per_s)} starts a second`
                              : ""}
                        </span>
                      </a>
                    ))}
                </div>
                <div class="main-and-side">
                  <div class="stack" style={{ gap: "1rem" }}>
                    <HeldBack queue={it} />
                    {around.data?.oldest && it.counts.ready > 0 && (
                      <WhyPanel
                        of={around.data.oldest}
                        title="Why its oldest waits"
                        actions={
                          <p class="small soft">
                            <a href={href(["jobs", around.data.oldest.id])}>{around.data.oldest.type}</a>, due{" "}
                            <Time at={around.data.oldest.run_at} />
                          </p>
                        }
                      />
                    )}
                    <Panel title="Throughput" class="charted" pad>
                      <Shown of={stats} height={12}>
                        {(all) => (
                          <Throughput
                            stats={all}
                            group={group}
                            marks={deploysOf(all).filter((mark) => versions.has(mark.text))}
                          />
                        )}
                      </Shown>
                    </Panel>
                    <div class="two">
                      <Panel title="Wait" class="charted" pad>
                        <Shown of={stats} height={12}>
                          {(all) => <Percentiles stats={all} group={group} what="wait_ms" marks={[]} />}
                        </Shown>
                      </Panel>
                      <Panel title="Run" class="charted" pad>
                        <Shown of={stats} height={12}>
                          {(all) => <Percentiles stats={all} group={group} what="run_ms" marks={[]} />}
                        </Shown>
                      </Panel>
                    </div>
                  </div>
                  <div class="stack" style={{ gap: "1rem" }}>
                    <Panel title="Served by" pad>
                      <Trouble of={around} />
                      {around.data && around.data.workers.length + around.data.targets.length === 0 ? (
                        <div class="stack tight">
                          <p class="bad strong">No worker asks for it</p>
                          <code class="small">millrace work -q {name} -- COMMAND</code>
                        </div>
                      ) : (
                        <ul class="stack tight">
                          {around.data?.workers.slice(0, 12).map((worker) => (
                            <li key={worker.id} class="row">
                              <a class="clip grow" href={href(["workers"], { find: worker.id })}>
                                {worker.id}
                              </a>
                              {worker.state !== "active" && <span class="badge warn">{worker.state}</span>}
                              <span class="small soft nowrap">
                                {worker.running.length > 0 ? `runs ${worker.running.length}` : "idle"}
                              </span>
                            </li>
                          ))}
                          {around.data?.targets.map((target) => (
                            <li key={target.name}>
                              push target <a href={href(["push", target.name])}>{target.name}</a>
                            </li>
                          ))}
                          {(around.data?.workers.length ?? 0) > 12 && (
                            <li class="soft">and {plural((around.data?.workers.length ?? 0) - 12, "other")}</li>
                          )}
                        </ul>
                      )}
                    </Panel>
                    {it.settings.fair && <Shares name={name} />}
                    <Panel
                      title="Settings"
                      actions={
                        operate && (
                          <Button size="tiny" icon="edit" onClick={() => setEditing(true)}>
                            Edit
                          </Button>
                        )
                      }
                      pad
                    >
                      <Settings queue={it} />
                    </Panel>
                  </div>
                </div>
              </>
            )}
          </Shown>
        )}
      </div>
      {editing && data && (
        <EditQueue
          queue={data}
          limits={around.data?.limits ?? []}
          onClose={() => setEditing(false)}
          onDone={queue.reload}
        />
      )}
      {purging && data && <Purge queue={data} onClose={() => setPurging(false)} />}
    </>
  );
}

// The gates that hold ready jobs back, and the number of jobs that wait at each.
function HeldBack({ queue }: { queue: Queue }) {
  const gates = queue.blocked_by ?? [];
  if (gates.length === 0) return null;
  return (
    <Panel title="What holds it back">
      <ul class="attention">
        {gates.map((each, index) => (
          <li key={`${each.code} ${each.limit ?? ""}${index}`}>
            <Icon name={each.code.endsWith("paused") ? "pause" : "limits"} class="warn" />
            <span class="grow">
              <GateWords of={each} queue={queue.name} />
            </span>
            {each.waiting !== undefined && (
              <span class="num soft nowrap">
                {plural(each.waiting, "job")}
                {each.more && " or more"}
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Shares({ name }: { name: string }) {
  const shares = useResource(
    `shares ${name}`,
    (signal) => get<Page<Share>>(`v1/queues/${segment(name)}/shares`, { order: "waiting" }, signal),
    { everyMs: 5000 },
  );
  return (
    <Panel title="Fair keys">
      <Shown of={shares}>
        {(page) => (
          <Table
            label="Fair keys"
            items={page.items.slice(0, 20)}
            id={(share) => share.key}
            sorting={{ by: "waiting", down: true }}
            empty={<Empty title="No key has jobs" />}
            columns={[
              {
                name: "key",
                head: "Key",
                rowHead: true,
                class: "wide",
                sort: (share) => share.key,
                cell: (share) => (
                  <span title={`weight ${share.weight}`}>
                    {share.key ? (
                      <a href={href(["jobs"], { q: `queue:${name} fair:${share.key}` })}>
                        <code>{share.key}</code>
                      </a>
                    ) : (
                      <span class="faint">none</span>
                    )}
                    {share.weight !== 1 && <span class="faint"> ×{count(share.weight)}</span>}
                  </span>
                ),
              },
              {
                name: "running",
                head: "Run",
                right: true,
                sort: (share) => share.running,
                cell: (share) => <Count n={share.running} />,
              },
              {
                name: "waiting",
                head: "Wait",
                right: true,
                sort: (share) => share.waiting,
                cell: (share) => <Count n={share.waiting} />,
              },
              {
                name: "share",
                head: "Share",
                right: true,
                sort: (share) => share.share,
                cell: (share) => <span class="num">{Math.round(100 * share.share)} %</span>,
              },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Settings({ queue }: { queue: Queue }) {
  const { settings } = queue;
  return (
    <Facts
      items={[
        [
          "Concurrency",
          settings.concurrency === null ? (
            "no bound"
          ) : (
            <span class="row" key="c">
              {count(queue.counts.running)} of {count(settings.concurrency)}
              <Meter value={queue.counts.running} of={settings.concurrency} label="Concurrency in use" />
            </span>
          ),
        ],
        ["Rate", rateWords(settings.rate)],
        [
          "Limits",
          settings.limits.length === 0
            ? "none"
            : settings.limits.map((limit) => (
                <a key={limit.name} href={href(["limits", limit.name])}>
                  {limit.name}{" "}
                </a>
              )),
        ],
        ["Breaker", breakerWords(settings.breaker)],
        [
          "Order",
          settings.fair === null
            ? "by priority, then by age"
            : `fairly, by ${settings.fair.by === "time" ? "running time" : "starts"}`,
        ],
        settings.ageing_ms === null ? ["", null] : ["Ageing", `${exactly(settings.ageing_ms)} a step of priority`],
        settings.max_ready_per_key === null ? ["", null] : ["Most ready a key", count(settings.max_ready_per_key)],
        ["Attempts", count(settings.max_attempts)],
        ["Lost workers", settings.max_crashes === null ? "as attempts" : count(settings.max_crashes)],
        ["Retries", retryWords(settings.retry)],
        ["Lease", exactly(settings.lease_ms)],
        ["Most ready", settings.max_ready === null ? "no bound" : count(settings.max_ready)],
        ["Succeeded", `kept ${kept(settings.retention.succeeded_ms)}`],
        ["Dead", `kept ${kept(settings.retention.dead_ms)}`],
        ["Cancelled", `kept ${kept(settings.retention.cancelled_ms)}`],
        ["Expired", `kept ${kept(settings.retention.expired_ms)}`],
      ]}
    />
  );
}

function EditQueue({
  queue,
  limits,
  onClose,
  onDone,
}: {
  queue: Queue;
  limits: Limit[];
  onClose: () => void;
  onDone: () => void;
}) {
  const [begun] = useState(queue);
  const { settings } = begun;
  const [concurrency, setConcurrency] = useState(numberText(settings.concurrency));
  const [rateOf, setRate] = useState(rateText(settings.rate));
  const [breaker, setBreaker] = useState(breakerText(settings.breaker));
  const [fair, setFair] = useState<"" | "time" | "starts">(settings.fair?.by ?? "");
  const [weights, setWeights] = useState(
    Object.entries(settings.fair?.weights ?? {})
      .map(([key, weight]) => `${key}=${weight}`)
      .join("\n"),
  );
  const [ageing, setAgeing] = useState(durationText(settings.ageing_ms));
  const [perKey, setPerKey] = useState(numberText(settings.max_ready_per_key));
  const [named, setNamed] = useState(settings.limits.map((limit) => limit.name).join(" "));
  const [attempts, setAttempts] = useState(numberText(settings.max_attempts));
  const [crashes, setCrashes] = useState(numberText(settings.max_crashes));
  const [strategy, setStrategy] = useState(settings.retry.strategy);
  const backoff = settings.retry.strategy === "list" ? undefined : settings.retry;
  const listed = settings.retry.strategy === "list" ? settings.retry.delays_ms : [];
  const [base, setBase] = useState(durationText(backoff?.base_ms ?? 5000));
  const [top, setTop] = useState(durationText(backoff?.max_ms ?? 300_000));
  const [jitter, setJitter] = useState(numberText(backoff?.jitter ?? 0.2));
  const [delays, setDelays] = useState(listed.map(durationInput).join(", "));
  const [lease, setLease] = useState(durationText(settings.lease_ms));
  const [ready, setReady] = useState(numberText(settings.max_ready));
  const [keep, setKeep] = useState({
    succeeded_ms: durationText(settings.retention.succeeded_ms),
    dead_ms: durationText(settings.retention.dead_ms),
    cancelled_ms: durationText(settings.retention.cancelled_ms),
    expired_ms: durationText(settings.retention.expired_ms),
  });
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const [conflict, setConflict] = useState(false);

  const read = (): Partial<QueueSettings> => {
    const retry: RetryPolicy =
      strategy === "list"
        ? { strategy, delays_ms: delays.split(",").map((each) => readDuration(each, "/retry/delays_ms") ?? 0) }
        : {
            strategy,
            base_ms: readDuration(base, "/retry/base_ms") ?? 0,
            max_ms: readDuration(top, "/retry/max_ms") ?? 0,
            jitter: readNumber(jitter, "/retry/jitter") ?? 0,
          };
    const lengths = named.split(/\s+/).filter(Boolean);
    return {
      concurrency: readNumber(concurrency, "/concurrency"),
      rate: readRate(rateOf),
      limits: lengths.map((name) => settings.limits.find((limit) => limit.name === name) ?? { name }),
      breaker: readBreaker(breaker),
      fair:
        fair === ""
          ? null
          : { by: fair, default_weight: settings.fair?.default_weight ?? 1, weights: readWeights(weights) },
      ageing_ms: fair === "" ? readDuration(ageing, "/ageing_ms") : null,
      max_ready_per_key: readNumber(perKey, "/max_ready_per_key"),
      ...(attempts === "" ? {} : { max_attempts: readNumber(attempts, "/max_attempts") ?? 5 }),
      max_crashes: readNumber(crashes, "/max_crashes"),
      retry,
      ...(lease === "" ? {} : { lease_ms: readDuration(lease, "/lease_ms") ?? 30_000 }),
      max_ready: readNumber(ready, "/max_ready"),
      retention: {
        succeeded_ms: readDuration(keep.succeeded_ms, "/retention/succeeded_ms"),
        dead_ms: readDuration(keep.dead_ms, "/retention/dead_ms"),
        cancelled_ms: readDuration(keep.cancelled_ms, "/retention/cancelled_ms"),
        expired_ms: readDuration(keep.expired_ms, "/retention/expired_ms"),
      },
    };
  };
  const save = async (anyway: boolean): Promise<void> => {
    setFault("");
    try {
      await patch(`v1/queues/${segment(queue.name)}`, read(), anyway ? {} : { "If-Match": `"${begun.version}"` });
      toast("Saved");
      onDone();
      onClose();
    } catch (error) {
      if (error instanceof FormFault) setFaults(new Map([[error.at, error.message]]));
      else setFaults(faultsOf(error));
      setConflict(error instanceof ApiError && error.status === 412);
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title={`Settings of ${queue.name}`}
      class="drawer"
      onClose={onClose}
      onSubmit={() => save(false)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          {conflict && <Button onClick={() => save(true)}>Save over it</Button>}
          <Button type="submit" kind="primary">
            Save
          </Button>
        </>
      }
    >
      {conflict && (
        <Notice kind="warn" title="Somebody has changed the queue meanwhile">
          <p>Close to see what it is now, or save over it.</p>
        </Notice>
      )}
      <fieldset class="stack">
        <h3>How many at a time</h3>
        <TextField
          label="Concurrency"
          type="number"
          value={concurrency}
          onInput={setConcurrency}
          placeholder="no bound"
          fault={faults.get("/concurrency")}
          hint="At most so many of its jobs run at a time."
        />
        <RateFields value={rateOf} onChange={setRate} faults={faults} />
        <TextField
          label="Limits"
          value={named}
          onInput={setNamed}
          list={limits.map((limit) => limit.name)}
          fault={faults.get("/limits")}
          hint="Names of limits that each of its new jobs must pass, separated by spaces."
        />
        <TextField
          label="Most ready jobs"
          type="number"
          value={ready}
          onInput={setReady}
          placeholder="no bound"
          fault={faults.get("/max_ready")}
          hint="Beyond it, submissions are refused."
        />
      </fieldset>
      <fieldset class="stack">
        <h3>Who comes first</h3>
        <Choice
          label="Among jobs of one priority"
          value={fair}
          onChange={setFair}
          options={[
            ["", "the one that is due first"],
            ["time", "fair keys share the running time"],
            ["starts", "fair keys share the starts"],
          ]}
        />
        {fair === "" ? (
          <TextField
            label="Ageing"
            value={ageing}
            onInput={setAgeing}
            placeholder="priority always wins"
            fault={faults.get("/ageing_ms")}
            hint="Waiting so long is worth one step of priority."
          />
        ) : (
          <TextField
            label="Weights"
            value={weights}
            onInput={setWeights}
            lines={3}
            mono
            placeholder={"acme=3"}
            fault={faults.get("/fair/weights") ?? faults.get("/fair")}
            hint="A line for each key that gets more than the others' 1."
          />
        )}
        <TextField
          label="Most ready jobs a fair key"
          type="number"
          value={perKey}
          onInput={setPerKey}
          placeholder="no bound"
          fault={faults.get("/max_ready_per_key")}
        />
      </fieldset>
      <fieldset class="stack">
        <h3>When its jobs fail</h3>
        <BreakerFields value={breaker} onChange={setBreaker} faults={faults} />
      </fieldset>
      <fieldset class="stack">
        <h3>Retries</h3>
        <div class="fields">
          <TextField
            label="Attempts"
            type="number"
            value={attempts}
            onInput={setAttempts}
            fault={faults.get("/max_attempts")}
          />
          <TextField
            label="Lost workers"
            type="number"
            value={crashes}
            onInput={setCrashes}
            placeholder="as attempts"
            fault={faults.get("/max_crashes")}
          />
          <TextField label="Lease" value={lease} onInput={setLease} fault={faults.get("/lease_ms")} />
        </div>
        <Choice
          label="Delay between them"
          value={strategy}
          onChange={setStrategy}
          options={[
            ["exponential", "doubles each time"],
            ["linear", "grows evenly"],
            ["fixed", "always the same"],
            ["list", "as listed"],
          ]}
        />
        {strategy === "list" ? (
          <TextField
            label="Delays"
            value={delays}
            onInput={setDelays}
            fault={faults.get("/retry/delays_ms") ?? faults.get("/retry")}
            placeholder="10s, 1m, 10m"
          />
        ) : (
          <div class="fields" style={{ gridTemplateColumns: "repeat(3, minmax(0, 1fr))" }}>
            <TextField label="From" value={base} onInput={setBase} fault={faults.get("/retry/base_ms")} />
            <TextField label="At most" value={top} onInput={setTop} fault={faults.get("/retry/max_ms")} />
            <TextField label="Jitter, 0 to 1" value={jitter} onInput={setJitter} fault={faults.get("/retry/jitter")} />
          </div>
        )}
      </fieldset>
      <fieldset class="stack">
        <h3>How long ended jobs are kept</h3>
        <div class="fields">
          {(["succeeded_ms", "dead_ms", "cancelled_ms", "expired_ms"] as const).map((state) => (
            <TextField
              key={state}
              label={state.replace("_ms", "").replace(/^./, (c) => c.toUpperCase())}
              value={keep[state]}
              onInput={(value) => setKeep({ ...keep, [state]: value })}
              placeholder="for ever"
              fault={faults.get(`/retention/${state}`)}
            />
          ))}
        </div>
        <p class="small faint">0 keeps none. New bounds count for jobs that are there, too.</p>
      </fieldset>
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}

function Purge({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const [states, setStates] = useState<Set<string>>(new Set(["scheduled", "ready", "retrying", "blocked"]));
  const [typed, setTyped] = useState("");
  const offered = kStates.filter((state) => state !== "running");
  const many = offered.reduce((sum, state) => sum + (states.has(state) ? queue.counts[state] : 0), 0);
  const run = async (): Promise<void> => {
    const answer = await post<{ deleted: number } | Operation>(`v1/queues/${segment(queue.name)}/purge`, {
      states: [...states],
    });
    onClose();
    if ("kind" in answer) go(["operations", answer.id]);
    else toast(`${plural(answer.deleted, "job")} deleted`);
  };
  return (
    <Dialog
      title={`Purge ${queue.name}`}
      onClose={onClose}
      onSubmit={() => (typed === queue.name && states.size > 0 ? run() : undefined)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="danger primary" disabled={typed !== queue.name || states.size === 0}>
            Delete {plural(many, "job")}
          </Button>
        </>
      }
    >
      <p>Deletes the queue's jobs in these states. Running ones stay. This can't be undone.</p>
      <div class="fields" style={{ gap: "0.25rem" }}>
        {offered.map((state) => (
          <label class="check" key={state}>
            <input
              type="checkbox"
              checked={states.has(state)}
              onChange={(event) => {
                const next = new Set(states);
                event.currentTarget.checked ? next.add(state) : next.delete(state);
                setStates(next);
              }}
            />
            <StateShape state={state} />
            {state} <span class="faint num">{count(queue.counts[state])}</span>
          </label>
        ))}
      </div>
      <TextField label={`Type ${queue.name} to go on`} value={typed} onInput={setTyped} />
    </Dialog>
  );
}
