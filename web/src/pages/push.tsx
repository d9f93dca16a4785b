// Push targets: receivers that the server calls, and their state.
import { useState } from "preact/hooks";
import { getAll, get, may, post, put, remove, segment } from "../lib/api";
import { count, duration, exactly, plural, shortId } from "../lib/format";
import { go, href } from "../lib/router";
import { names } from "../lib/names";
import { useResource } from "../lib/resource";
import type { PushTarget } from "../lib/types";
import { Dialog, Menu, ask } from "../ui/dialog";
import { Button, Empty, Facts, Notice, Panel, Shown, TextField, Time, faultsOf, messageOf } from "../ui/parts";
import { FormFault, durationText, numberText, readDuration, readNumber } from "../ui/settings-form";
import { Bar } from "../ui/shell";
import { Table } from "../ui/table";
import { toast } from "../ui/toast";

const latency = (ms: number | null): string => (ms === null ? "–" : duration(ms));

function Health({ target }: { target: PushTarget }) {
  if (target.paused) return <span class="badge warn">paused</span>;
  if (!target.health) return <span class="badge">served elsewhere</span>;
  const { breaker } = target.health;
  return (
    <span class={`badge ${breaker === "closed" ? "good" : breaker === "open" ? "bad" : "warn"}`}>
      {breaker === "closed" ? "healthy" : breaker === "open" ? "failing" : "probing"}
    </span>
  );
}

export function PushTargets() {
  const [making, setMaking] = useState(false);
  const targets = useResource("push", (signal) => getAll<PushTarget>("v1/push-targets", {}, signal), { everyMs: 3000 });
  return (
    <>
      <Bar title="Push targets">
        {may("admin") && (
          <Button icon="plus" onClick={() => setMaking(true)}>
            New push target
          </Button>
        )}
      </Bar>
      <div class="content">
        <Shown of={targets} height={12}>
          {(data) => (
            <Panel title={plural(data.length, "push target")}>
              <Table
                label="Push targets"
                items={data}
                id={(target) => target.name}
                open={(target) => href(["push", target.name])}
                sorting={{ by: "name", down: false }}
                empty={
                  <Empty icon="push" title="There are no push targets">
                    <p>Instead of running a worker, let the server call a URL of yours for each job of some queues.</p>
                    <code>millrace push-target set NAME --url https://… -q QUEUE</code>
                  </Empty>
                }
                columns={[
                  {
                    name: "name",
                    head: "Target",
                    rowHead: true,
                    sort: (target) => target.name,
                    cell: (target) => <a href={href(["push", target.name])}>{target.name}</a>,
                  },
                  { name: "state", head: "State", cell: (target) => <Health target={target} /> },
                  {
                    name: "url",
                    head: "URL",
                    class: "wide",
                    when: "lo",
                    cell: (target) => <span class="soft">{target.url}</span>,
                  },
                  { name: "queues", head: "Queues", when: "mid", cell: (target) => target.queues.join(", ") },
                  {
                    name: "running",
                    head: "Calls",
                    right: true,
                    cell: (target) => (
                      <span>
                        {count(target.health?.running ?? 0)} <span class="faint">of {count(target.concurrency)}</span>
                      </span>
                    ),
                  },
                  {
                    name: "failed",
                    head: "Failed",
                    right: true,
                    sort: (target) => target.health?.totals.failed ?? 0,
                    cell: (target) => (
                      <span class={(target.health?.totals.failed ?? 0) > 0 ? "bad" : "zero"}>
                        {count(target.health?.totals.failed ?? 0)}
                      </span>
                    ),
                  },
                  {
                    name: "p95",
                    head: "p95",
                    right: true,
                    when: "lo",
                    cell: (target) => latency(target.health?.latency.p95_ms ?? null),
                  },
                ]}
              />
            </Panel>
          )}
        </Shown>
      </div>
      {making && <TargetForm target={null} onClose={() => setMaking(false)} onDone={targets.reload} />}
    </>
  );
}

export function PushTargetPage({ name }: { name: string }) {
  const path = `v1/push-targets/${segment(name)}`;
  const target = useResource(`push ${name}`, (signal) => get<PushTarget>(path, {}, signal), { everyMs: 2000 });
  const [editing, setEditing] = useState(false);
  const it = target.data;
  const pause = (): void =>
    ask({
      title: `Pause ${name}?`,
      text: "The server makes no further calls to it. Calls under way go on.",
      yes: "Pause",
      reason: "Reason (the others see it)",
      run: async (reason) => {
        await post(`${path}/pause`, reason ? { reason } : {});
        toast(`${name} is paused`);
      },
    });
  const test = async (): Promise<void> => {
    const done = await post<{ ok: boolean; status: number | null; took_ms: number; error: string | null }>(
      `${path}/test`,
    );
    toast(
      done.ok
        ? `It answered ${done.status} in ${duration(done.took_ms)}`
        : `It did not go well: ${done.error ?? `status ${done.status}`}`,
      done.ok ? "good" : "bad",
    );
  };
  const drop = (): void =>
    ask({
      title: `Delete the push target ${name}?`,
      text: "Jobs of its queues wait for workers. This can't be undone.",
      yes: "Delete",
      danger: true,
      run: async () => {
        await remove(path);
        toast("Deleted");
        go(["push"]);
      },
    });
  return (
    <>
      <Bar title={name} under={{ text: "Push targets", href: href(["push"]) }}>
        {may("operate") && it && (
          <>
            <Button onClick={test}>Test call</Button>
            {it.paused ? (
              <Button icon="play" kind="primary" onClick={async () => (await post(`${path}/resume`), toast("Resumed"))}>
                Resume
              </Button>
            ) : (
              <Button icon="pause" onClick={pause}>
                Pause
              </Button>
            )}
            {may("admin") && (
              <Menu
                label="More"
                items={[
                  { text: "Edit", icon: "edit", run: () => setEditing(true) },
                  { text: "Delete…", icon: "trash", danger: true, run: drop },
                ]}
              />
            )}
          </>
        )}
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {target.error?.status === 404 ? (
          <Empty icon="push" title="There is no such push target" />
        ) : (
          <Shown of={target} height={14}>
            {(data) => (
              <>
                {data.paused && (
                  <Notice kind="warn" title="It is paused">
                    <p>{data.pause_reason ? `“${data.pause_reason}”` : "No reason was given."}</p>
                  </Notice>
                )}
                {data.health?.breaker === "open" && (
                  <Notice kind="bad" title={`${plural(data.health.failures_in_a_row, "call")} in a row have failed`}>
                    <p>
                      The server waits before it calls again
                      {data.health.calls_again_in_ms !== null && `, for ${duration(data.health.calls_again_in_ms)}`}.
                      Press “Test call” to see what the receiver says now.
                    </p>
                  </Notice>
                )}
                {data.health && (
                  <div class="tiles">
                    {(["succeeded", "accepted", "failed", "dead", "snoozed"] as const).map((outcome, index) => (
                      <div class="tile" key={outcome}>
                        <span class="name">{outcome[0]!.toUpperCase() + outcome.slice(1)}</span>
                        <span
                          class={`value ${(outcome === "failed" || outcome === "dead") && data.health!.totals[outcome] > 0 ? "bad" : ""}`}
                        >
                          {count(data.health!.totals[outcome])}
                        </span>
                        <span class="under">{index === 0 && "since this node serves it"}</span>
                      </div>
                    ))}
                  </div>
                )}
                <div class="main-and-side">
                  <Panel title="The last calls">
                    <Table
                      label="The last calls"
                      items={data.health?.last ?? []}
                      id={(call) => `${call.job} ${call.at}`}
                      empty={<Empty title="None yet" />}
                      columns={[
                        { name: "at", head: "At", cell: (call) => <Time at={call.at} /> },
                        {
                          name: "outcome",
                          head: "Outcome",
                          cell: (call) => (
                            <span
                              class={`badge ${call.outcome === "succeeded" || call.outcome === "accepted" ? "good" : call.outcome === "snoozed" ? "" : "bad"}`}
                            >
                              {call.outcome}
                            </span>
                          ),
                        },
                        { name: "status", head: "Status", right: true, cell: (call) => call.status ?? "–" },
                        { name: "took", head: "Took", right: true, when: "lo", cell: (call) => duration(call.took_ms) },
                        {
                          name: "job",
                          head: "Job",
                          class: "wide",
                          cell: (call) => (
                            <>
                              <a href={href(["jobs", call.job])} title={call.job}>
                                <code>{shortId(call.job)}</code>
                              </a>{" "}
                              {call.error && <span class="bad">{call.error}</span>}
                            </>
                          ),
                        },
                      ]}
                    />
                  </Panel>
                  <Panel title="Details" pad>
                    <Facts
                      items={[
                        ["URL", <code key="u">{data.url}</code>],
                        [
                          "Queues",
                          data.queues.map((queue) => (
                            <a key={queue} href={href(["queues", queue])}>
                              {queue}{" "}
                            </a>
                          )),
                        ],
                        ["Types", data.types.length === 0 ? "any" : data.types.join(", ")],
                        ["Calls at a time", count(data.concurrency)],
                        ["Time-out", exactly(data.timeout_ms)],
                        ["Signed", data.secret ? (data.previous_secret ? "yes, with two secrets" : "yes") : "no"],
                        ["Headers", data.header_names.length === 0 ? "none" : data.header_names.join(", ")],
                        [
                          "Latency",
                          data.health
                            ? `p50 ${latency(data.health.latency.p50_ms)}, p95 ${latency(data.health.latency.p95_ms)}, p99 ${latency(data.health.latency.p99_ms)}`
                            : "–",
                        ],
                        data.served_by ? ["Served by", data.served_by] : ["", null],
                      ]}
                    />
                  </Panel>
                </div>
              </>
            )}
          </Shown>
        )}
      </div>
      {editing && it && <TargetForm target={it} onClose={() => setEditing(false)} onDone={target.reload} />}
    </>
  );
}

function TargetForm({
  target,
  onClose,
  onDone,
}: {
  target: PushTarget | null;
  onClose: () => void;
  onDone: () => void;
}) {
  const [name, setName] = useState(target?.name ?? "");
  const [url, setUrl] = useState(target?.url ?? "");
  const [queues, setQueues] = useState(target?.queues.join(" ") ?? "");
  const [types, setTypes] = useState(target?.types.join(" ") ?? "");
  const [concurrency, setConcurrency] = useState(numberText(target?.concurrency ?? 10));
  const [timeout, setTimeout] = useState(durationText(target?.timeout_ms ?? 10_000));
  const [secret, setSecret] = useState("");
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const words = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
  const save = async (): Promise<void> => {
    try {
      await put(
        `v1/push-targets/${segment(name)}`,
        {
          url,
          queues: words(queues),
          types: words(types),
          concurrency: readNumber(concurrency, "/concurrency") ?? 10,
          timeout_ms: readDuration(timeout, "/timeout_ms") ?? 10_000,
          ...(secret ? { secret } : {}),
        },
        target ? { "If-Match": `"${target.version}"` } : {},
      );
      toast("Saved");
      onDone();
      onClose();
      if (!target) go(["push", name]);
    } catch (error) {
      setFaults(error instanceof FormFault ? new Map([[error.at, error.message]]) : faultsOf(error));
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title={target ? `Edit ${target.name}` : "New push target"}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!name || !url}>
            Save
          </Button>
        </>
      }
    >
      {!target && <TextField label="Name" value={name} onInput={setName} focus />}
      <TextField
        label="URL"
        value={url}
        onInput={setUrl}
        placeholder="https://…"
        fault={faults.get("/url")}
        hint="The server sends each job there as a POST. An address that is not public must be permitted in the server's configuration (push.allow)."
      />
      <TextField
        label="Queues"
        value={queues}
        onInput={setQueues}
        list={names.value.queues}
        fault={faults.get("/queues")}
        hint="Separated by spaces."
      />
      <TextField label="Types" value={types} onInput={setTypes} placeholder="all" fault={faults.get("/types")} />
      <div class="fields">
        <TextField
          label="Calls at a time"
          type="number"
          value={concurrency}
          onInput={setConcurrency}
          fault={faults.get("/concurrency")}
        />
        <TextField label="Time for a call" value={timeout} onInput={setTimeout} fault={faults.get("/timeout_ms")} />
      </div>
      <TextField
        label="Secret"
        type="password"
        value={secret}
        onInput={setSecret}
        placeholder={target?.secret ? "stays as it is" : "none: calls are not signed"}
        fault={faults.get("/secret")}
        hint="It signs each call: whsec_ and base64 of 24 to 64 bytes."
      />
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}
