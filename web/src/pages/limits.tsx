// Limits and types: their use and bounds, and the jobs that hold or wait for them.
import { useState } from "preact/hooks";
import { ApiError, address, get, getAll, may, patch, post, put, request, segment } from "../lib/api";
import { count, duration, plural, shortId } from "../lib/format";
import { now } from "../lib/live";
import { go, href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Gate, Limit, LimitHolder, LimitKey, Page, TypeGate } from "../lib/types";
import { Dialog, Menu, ask } from "../ui/dialog";
import {
  Button,
  Empty,
  Facts,
  Meter,
  Notice,
  Panel,
  Shown,
  Tabs,
  TextField,
  Time,
  faultsOf,
  messageOf,
} from "../ui/parts";
import {
  BreakerFields,
  FormFault,
  RateFields,
  breakerText,
  breakerWords,
  numberText,
  rateText,
  readBreaker,
  readDuration,
  readNumber,
  readRate,
} from "../ui/settings-form";
import { Bar } from "../ui/shell";
import { type Column, Count, Table } from "../ui/table";
import { toast } from "../ui/toast";
import { rateUnit, rateWords } from "./queue";

function GateBadge({ of }: { of: Gate }) {
  const left = (until: string | null) =>
    until && ` for ${duration(Math.max(0, new Date(until).getTime() - now.value))}`;
  if (of.paused)
    return (
      <span class="badge warn" title={of.pause_reason ?? undefined}>
        paused{left(of.paused_until)}
      </span>
    );
  if (of.breaker_state === "open") return <span class="badge bad">breaker open{left(of.open_until)}</span>;
  if (of.breaker_state === "half_open") return <span class="badge warn">breaker half open</span>;
  if (of.blocked_until) return <span class="badge warn">slowed{left(of.blocked_until)}</span>;
  // No word is shown, as “open” would mean the breaker's state.
  return <span class="zero">–</span>;
}

const gateColumns = <T extends Gate>(perKey: (gate: T) => boolean): Column<T>[] => [
  {
    name: "use",
    head: "In use",
    sort: (gate) => gate.in_use,
    class: "nowrap",
    cell: (gate) => (
      <span class="row">
        <span class="num in-use">
          {count(gate.in_use)}
          {gate.concurrency !== null && (
            <span class="faint">
              {" "}
              of {count(gate.concurrency)}
              {perKey(gate) ? " per key" : ""}
            </span>
          )}
        </span>
        {gate.concurrency !== null && !perKey(gate) && (
          <Meter value={gate.in_use} of={gate.concurrency} label="In use" />
        )}
      </span>
    ),
  },
  {
    name: "waiting",
    head: "Waiting",
    right: true,
    sort: (gate) => gate.waiting,
    cell: (gate) => <Count n={gate.waiting} class={gate.paused ? "warn" : ""} />,
  },
  {
    name: "rate",
    head: "Rate",
    when: "lo",
    cell: (gate) => (gate.rate ? rateWords(gate.rate) : <span class="zero">–</span>),
  },
  {
    name: "next",
    head: "Next start",
    right: true,
    when: "mid",
    cell: (gate) => (gate.next_token_at ? <Time at={gate.next_token_at} /> : <span class="zero">–</span>),
  },
  { name: "state", head: "State", when: "lo", cell: (gate) => <GateBadge of={gate} /> },
];

export function Limits() {
  const tab = place.value.query.get("tab") === "types" ? "types" : "limits";
  const limits = useResource("limits", (signal) => getAll<Limit>("v1/limits", {}, signal), { everyMs: 3000 });
  const types = useResource("types", (signal) => getAll<TypeGate>("v1/types", {}, signal), { everyMs: 3000 });
  const [making, setMaking] = useState<"limit" | "type" | null>(null);
  const [editing, setEditing] = useState<TypeGate | null>(null);
  const operate = may("operate");
  return (
    <>
      <Bar title="Limits">
        {operate && (
          <Button icon="plus" onClick={() => setMaking(tab === "types" ? "type" : "limit")}>
            New {tab === "types" ? "bound of a type" : "limit"}
          </Button>
        )}
      </Bar>
      <div class="content" style={{ gap: "0.75rem" }}>
        <Tabs
          label="Kind"
          value={tab}
          onChange={(value) => setQuery({ tab: value === "types" ? value : undefined })}
          options={[
            { value: "limits", text: "Limits", count: limits.data ? String(limits.data.length) : "" },
            { value: "types", text: "Types", count: types.data ? String(types.data.length) : "" },
          ]}
        />
        {tab === "limits" ? (
          <Shown of={limits} height={14}>
            {(data) => (
              <Panel>
                <Table
                  label="Limits"
                  items={data}
                  id={(limit) => limit.name}
                  open={(limit) => href(["limits", limit.name])}
                  sorting={{ by: "name", down: false }}
                  empty={
                    <Empty icon="limits" title="There are no limits">
                      <p>
                        A limit says how many jobs that name it run together, or start in a time: all calls of one
                        partner, say, over all queues.
                      </p>
                    </Empty>
                  }
                  columns={[
                    {
                      name: "name",
                      head: "Limit",
                      rowHead: true,
                      sort: (limit) => limit.name,
                      cell: (limit) => (
                        <span class="row">
                          <a href={href(["limits", limit.name])}>{limit.name}</a>
                          {limit.per_key && limit.concurrency === null && <span class="badge">per key</span>}
                        </span>
                      ),
                    },
                    ...gateColumns<Limit>((limit) => limit.per_key),
                  ]}
                />
              </Panel>
            )}
          </Shown>
        ) : (
          <Shown of={types} height={14}>
            {(data) => (
              <Panel>
                <Table
                  label="Types"
                  items={data}
                  id={(type) => type.type}
                  sorting={{ by: "name", down: false }}
                  empty={
                    <Empty icon="limits" title="No type has bounds">
                      <p>A type of job can be bounded or paused over all queues.</p>
                    </Empty>
                  }
                  columns={[
                    {
                      name: "name",
                      head: "Type",
                      rowHead: true,
                      sort: (type) => type.type,
                      cell: (type) => <a href={href(["jobs"], { q: `type:${type.type}` })}>{type.type}</a>,
                    },
                    ...gateColumns<TypeGate>(() => false),
                    ...(operate
                      ? [
                          {
                            name: "act",
                            head: <span class="hidden-text">Actions</span>,
                            right: true,
                            cell: (type: TypeGate) => (
                              <Button size="tiny" icon="edit" onClick={() => setEditing(type)}>
                                Edit
                              </Button>
                            ),
                          },
                        ]
                      : []),
                  ]}
                />
              </Panel>
            )}
          </Shown>
        )}
      </div>
      {making === "limit" && <LimitForm limit={null} onClose={() => setMaking(null)} onDone={limits.reload} />}
      {making === "type" && <TypeForm type={null} onClose={() => setMaking(null)} onDone={types.reload} />}
      {editing && <TypeForm type={editing} onClose={() => setEditing(null)} onDone={types.reload} />}
    </>
  );
}

function PauseForm({ name, path, onClose }: { name: string; path: string; onClose: () => void }) {
  const [reason, setReason] = useState("");
  const [length, setLength] = useState("");
  const [key, setKey] = useState("");
  const [fault, setFault] = useState("");
  const run = async (): Promise<void> => {
    try {
      const ms = readDuration(length, "/for_ms");
      await post(`${path}/pause`, {
        ...(reason ? { reason } : {}),
        ...(ms === null ? {} : { for_ms: ms }),
        ...(key ? { key } : {}),
      });
      toast(`${name} is paused`);
      onClose();
    } catch (error) {
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title={`Pause ${name}?`}
      onClose={onClose}
      onSubmit={run}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Pause
          </Button>
        </>
      }
    >
      <p>No job that must pass it starts until it is resumed. Jobs that run go on.</p>
      <TextField label="Reason (the others see it)" value={reason} onInput={setReason} focus />
      <div class="fields">
        <TextField label="For" value={length} onInput={setLength} placeholder="until it is resumed" hint="30m, 2h" />
        <TextField label="Key" value={key} onInput={setKey} placeholder="the whole limit" />
      </div>
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}

export function LimitPage({ name }: { name: string }) {
  const path = `v1/limits/${segment(name)}`;
  const limit = useResource(`limit ${name}`, (signal) => get<Limit>(path, {}, signal), { everyMs: 2000 });
  const keys = useResource(
    limit.data?.per_key ? `keys ${name}` : null,
    (signal) => get<Page<LimitKey>>(`${path}/keys`, { limit: 200 }, signal),
    { everyMs: 3000 },
  );
  const holders = useResource(
    `holders ${name}`,
    (signal) => get<Page<LimitHolder>>(`${path}/holders`, { limit: 100 }, signal),
    { everyMs: 3000 },
  );
  const [editing, setEditing] = useState(false);
  const [pausing, setPausing] = useState(false);
  const operate = may("operate");
  const it = limit.data;
  const drop = (): void =>
    ask({
      title: `Delete the limit ${name}?`,
      text: "Jobs that name it go free. This can't be undone.",
      yes: "Delete",
      danger: true,
      run: async () => {
        await request(address(path, { force: true }), { method: "DELETE" });
        toast("Deleted");
        go(["limits"]);
      },
    });
  const resume = async (key?: string): Promise<void> => {
    await post(`${path}/resume`, key ? { key } : {});
    toast("Resumed");
  };
  return (
    <>
      <Bar title={name} under={{ text: "Limits", href: href(["limits"]) }}>
        {operate && it && (
          <>
            {it.paused ? (
              <Button icon="play" kind="primary" onClick={() => resume()}>
                Resume
              </Button>
            ) : (
              <Button icon="pause" onClick={() => setPausing(true)}>
                Pause
              </Button>
            )}
            <Menu
              label="More"
              items={[
                { text: "Edit", icon: "edit", run: () => setEditing(true) },
                { text: "Delete…", icon: "trash", danger: true, run: drop },
              ]}
            />
          </>
        )}
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {limit.error?.status === 404 ? (
          <Empty icon="limits" title="There is no such limit" />
        ) : (
          <Shown of={limit} height={14}>
            {(data) => (
              <>
                {data.paused && (
                  <Notice kind="warn" title="It is paused">
                    <p>
                      {data.pause_reason ? `“${data.pause_reason}”` : "No reason was given."}{" "}
                      {data.paused_until && (
                        <>
                          It resumes by itself <Time at={data.paused_until} />.
                        </>
                      )}
                    </p>
                  </Notice>
                )}
                {data.breaker_state !== null && data.breaker_state !== "closed" && (
                  <Notice
                    kind={data.breaker_state === "open" ? "bad" : "warn"}
                    title={data.breaker_state === "open" ? "Its breaker is open" : "Its breaker tries"}
                  >
                    <p>
                      {data.breaker_state === "open" ? (
                        <>
                          Too many attempts failed, so nothing starts
                          {data.open_until && (
                            <>
                              {" "}
                              until <Time at={data.open_until} exact />
                            </>
                          )}
                          .
                        </>
                      ) : (
                        `At most ${plural(data.breaker?.probes ?? 1, "probe")} at a time; it closes when they go well.`
                      )}
                    </p>
                  </Notice>
                )}
                {!data.paused && data.blocked_until && (
                  <Notice
                    kind="warn"
                    title="A worker asked for less"
                    actions={
                      operate && (
                        <Button size="tiny" icon="play" onClick={() => resume()}>
                          Resume
                        </Button>
                      )
                    }
                  >
                    <p>
                      Nothing starts until <Time at={data.blocked_until} exact />.
                    </p>
                  </Notice>
                )}
                <div class="tiles">
                  <div class="tile">
                    <span class="name">In use</span>
                    <span class="value">{count(data.in_use)}</span>
                    <span class="under">
                      {data.concurrency === null
                        ? "no bound"
                        : `of ${count(data.concurrency)}${data.per_key ? " per key" : ""}`}
                    </span>
                  </div>
                  <div class="tile">
                    <span class="name">Waiting</span>
                    <span class={`value ${data.waiting > 0 && data.paused ? "warn" : ""}`}>{count(data.waiting)}</span>
                    <span class="under">ready jobs</span>
                  </div>
                  <div class="tile">
                    <span class="name">Rate</span>
                    <span class="value">{data.rate ? count(data.rate.limit) : "–"}</span>
                    <span class="under">{data.rate ? rateUnit(data.rate) : "no bound"}</span>
                  </div>
                  <div class="tile">
                    <span class="name">Next start</span>
                    <span class="value">
                      {!data.rate ? "–" : data.next_token_at ? <Time at={data.next_token_at} /> : "now"}
                    </span>
                    <span class="under">{data.rate ? "as its rate allows" : "no rate"}</span>
                  </div>
                  {data.breaker && (
                    <div class="tile">
                      <span class="name">Breaker</span>
                      <span
                        class={`value ${data.breaker_state === "open" ? "bad" : data.breaker_state === "half_open" ? "warn" : ""}`}
                      >
                        {(data.breaker_state ?? "closed").replace("_", " ")}
                      </span>
                      <span class="under">{breakerWords(data.breaker)}</span>
                    </div>
                  )}
                  {data.retry_rate && (
                    <div class="tile">
                      <span class="name">Retries</span>
                      <span class="value">{count(data.retry_rate.limit)}</span>
                      <span class="under">{rateUnit(data.retry_rate)}</span>
                    </div>
                  )}
                </div>
                <div class="two">
                  {data.per_key && (
                    <Panel title="Keys">
                      <Shown of={keys}>
                        {(page) => (
                          <Table
                            label="Keys"
                            items={page.items}
                            id={(key) => key.key}
                            sorting={{ by: "waiting", down: true }}
                            first={20}
                            empty={<Empty title="No key is in use" />}
                            columns={[
                              {
                                name: "key",
                                head: "Key",
                                rowHead: true,
                                class: "wide",
                                sort: (key) => key.key,
                                cell: (key) => <code>{key.key}</code>,
                              },
                              {
                                name: "use",
                                head: "In use",
                                right: true,
                                sort: (key) => key.in_use,
                                cell: (key) => <Count n={key.in_use} />,
                              },
                              {
                                name: "waiting",
                                head: "Waiting",
                                right: true,
                                sort: (key) => key.waiting,
                                cell: (key) => <Count n={key.waiting} />,
                              },
                              {
                                name: "state",
                                head: "",
                                right: true,
                                cell: (key) =>
                                  key.breaker_state === "open" ? (
                                    <span class="badge bad">breaker open</span>
                                  ) : (
                                    (key.paused || key.blocked_until) &&
                                    (operate ? (
                                      <Button size="tiny" icon="play" onClick={() => resume(key.key)}>
                                        Resume
                                      </Button>
                                    ) : (
                                      <span class="badge warn">paused</span>
                                    ))
                                  ),
                              },
                            ]}
                          />
                        )}
                      </Shown>
                    </Panel>
                  )}
                  <Panel title="Held by">
                    <Shown of={holders}>
                      {(page) => (
                        <Table
                          label="Holders"
                          items={page.items}
                          id={(holder) => holder.id}
                          empty={<Empty title="No job holds it" />}
                          columns={[
                            {
                              name: "job",
                              head: "Job",
                              rowHead: true,
                              class: "wide",
                              cell: (holder) => (
                                <a href={href(["jobs", holder.id])} title={holder.id}>
                                  <code>{shortId(holder.id)}</code>
                                </a>
                              ),
                            },
                            ...(data.per_key
                              ? [{ name: "key", head: "Key", cell: (holder: LimitHolder) => <code>{holder.key}</code> }]
                              : []),
                            { name: "worker", head: "Worker", when: "lo", cell: (holder) => holder.worker },
                            { name: "since", head: "Since", right: true, cell: (holder) => <Time at={holder.since} /> },
                          ]}
                        />
                      )}
                    </Shown>
                  </Panel>
                  {Object.keys(data.keys).length > 0 && (
                    <Panel title="Bounds of some keys" pad>
                      <Facts
                        items={Object.entries(data.keys).map(([key, bounds]) => [
                          <code key={key}>{key}</code>,
                          `${bounds.concurrency == null ? "" : `${count(bounds.concurrency)} together`} ${bounds.rate ? rateWords(bounds.rate) : ""}`,
                        ])}
                      />
                    </Panel>
                  )}
                </div>
              </>
            )}
          </Shown>
        )}
      </div>
      {editing && it && <LimitForm limit={it} onClose={() => setEditing(false)} onDone={limit.reload} />}
      {pausing && <PauseForm name={name} path={path} onClose={() => setPausing(false)} />}
    </>
  );
}

function useGateForm(gate: Gate | null) {
  const [concurrency, setConcurrency] = useState(numberText(gate?.concurrency));
  const [rate, setRate] = useState(rateText(gate?.rate));
  const [breaker, setBreaker] = useState(breakerText(gate?.breaker));
  const [retries, setRetries] = useState(rateText(gate?.retry_rate));
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const fields = (
    <>
      <TextField
        label="Concurrency"
        type="number"
        value={concurrency}
        onInput={setConcurrency}
        placeholder="no bound"
        fault={faults.get("/concurrency")}
        hint="At most so many jobs hold it at a time."
      />
      <RateFields value={rate} onChange={setRate} faults={faults} />
      <BreakerFields value={breaker} onChange={setBreaker} faults={faults} />
      <h3>Attempts after the first</h3>
      <RateFields
        value={retries}
        onChange={setRetries}
        faults={
          new Map(
            [...faults].flatMap(([at, text]) =>
              at.startsWith("/retry_rate") ? [[at.replace("/retry_rate", "/rate"), text]] : [],
            ),
          )
        }
      />
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </>
  );
  const read = () => ({
    concurrency: readNumber(concurrency, "/concurrency"),
    rate: readRate(rate),
    breaker: readBreaker(breaker),
    retry_rate: readRate(retries, "/retry_rate"),
  });
  const failed = (error: unknown): void => {
    setFaults(error instanceof FormFault ? new Map([[error.at, error.message]]) : faultsOf(error));
    setFault(
      error instanceof ApiError && error.status === 412
        ? "Somebody has changed it meanwhile. Close to see what it is now."
        : messageOf(error),
    );
  };
  return { fields, read, failed };
}

function LimitForm({ limit, onClose, onDone }: { limit: Limit | null; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(limit?.name ?? "");
  const [perKey, setPerKey] = useState(limit?.per_key ?? false);
  const form = useGateForm(limit);
  const save = async (): Promise<void> => {
    try {
      const path = `v1/limits/${segment(name)}`;
      if (limit) await patch(path, form.read(), { "If-Match": `"${limit.version}"` });
      else await put(path, { ...form.read(), per_key: perKey });
      toast("Saved");
      onDone();
      onClose();
    } catch (error) {
      form.failed(error);
    }
  };
  return (
    <Dialog
      title={limit ? `Edit ${limit.name}` : "New limit"}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!name}>
            Save
          </Button>
        </>
      }
    >
      {!limit && <TextField label="Name" value={name} onInput={setName} focus />}
      {!limit && (
        <label class="check">
          <input type="checkbox" checked={perKey} onChange={(event) => setPerKey(event.currentTarget.checked)} />
          Each key has slots and a rate of its own
        </label>
      )}
      {form.fields}
    </Dialog>
  );
}

function TypeForm({ type, onClose, onDone }: { type: TypeGate | null; onClose: () => void; onDone: () => void }) {
  const [name, setName] = useState(type?.type ?? "");
  const [paused, setPaused] = useState(type?.paused ?? false);
  const [reason, setReason] = useState(type?.pause_reason ?? "");
  const form = useGateForm(type);
  const save = async (): Promise<void> => {
    try {
      await put(
        `v1/types/${segment(name)}`,
        { ...form.read(), paused, ...(paused && reason ? { pause_reason: reason } : {}) },
        type ? { "If-Match": `"${type.version}"` } : {},
      );
      toast("Saved");
      onDone();
      onClose();
    } catch (error) {
      form.failed(error);
    }
  };
  return (
    <Dialog
      title={type ? `Bounds of type ${type.type}` : "New bound of a type"}
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!name}>
            Save
          </Button>
        </>
      }
    >
      {!type && <TextField label="Type" value={name} onInput={setName} focus />}
      {form.fields}
      <label class="check">
        <input type="checkbox" checked={paused} onChange={(event) => setPaused(event.currentTarget.checked)} />
        Paused: no job of it starts
      </label>
      {paused && <TextField label="Reason (the others see it)" value={reason} onInput={setReason} />}
    </Dialog>
  );
}
