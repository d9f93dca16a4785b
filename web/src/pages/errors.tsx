// Failures by error: groups of attempts whose errors look alike, with the actions on a group.
import { useState } from "preact/hooks";
import { get, may, patch, post, segment } from "../lib/api";
import { absolute, compact, count, plural, shortId } from "../lib/format";
import { go, href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { ErrorGroup, ErrorGroupStatus, Job, Operation, Page } from "../lib/types";
import { Spark } from "../ui/chart";
import { Dialog, Menu } from "../ui/dialog";
import { Button, Empty, Facts, Notice, Panel, Segments, Shown, TextField, Time, messageOf } from "../ui/parts";
import { readDuration } from "../ui/settings-form";
import { Bar } from "../ui/shell";
import { StateMark } from "../ui/state";
import { Count, Table } from "../ui/table";
import { toast } from "../ui/toast";

type Order = "last_seen" | "count" | "first_seen";
const statuses: [ErrorGroupStatus, string][] = [
  ["open", "Open"],
  ["muted", "Muted"],
  ["resolved", "Resolved"],
];
const orders: [Order, string][] = [
  ["last_seen", "Last seen"],
  ["count", "Most failures"],
  ["first_seen", "First seen"],
];
const textOf = (group: ErrorGroup): string => group.message ?? "(its text needs the scope “payload”)";
const where = (names: string[], one: string): string =>
  names.length === 1 ? `${one} ${names[0]}` : plural(names.length, one);

export function Errors() {
  const { query } = place.value;
  const status = statuses.find(([each]) => each === query.get("status"))?.[0] ?? "open";
  const order = orders.find(([each]) => each === query.get("order"))?.[0] ?? "last_seen";
  const type = query.get("type") ?? "";
  const queue = query.get("queue") ?? "";
  const [cursors, setCursors] = useState<string[]>([]);
  const key = `errors ${status} ${order} ${type} ${queue} ${cursors.at(-1) ?? ""}`;
  const groups = useResource(
    key,
    (signal) =>
      get<Page<ErrorGroup>>(
        "v1/error-groups",
        { status, order, type: type || undefined, queue: queue || undefined, limit: 50, cursor: cursors.at(-1) },
        signal,
      ),
    { everyMs: 5000, keep: true },
  );
  const turn = (changes: Record<string, string | undefined>): void => {
    setCursors([]);
    setQuery(changes);
  };
  return (
    <>
      <Bar title="Errors">
        <Segments
          label="Order"
          value={order}
          options={orders}
          onChange={(next) => turn({ order: next === "last_seen" ? undefined : next })}
          narrow
        />
        <Segments
          label="Status"
          value={status}
          options={statuses}
          onChange={(next) => turn({ status: next === "open" ? undefined : next })}
        />
      </Bar>
      <div class="content" style={{ gap: "0.75rem" }}>
        {(type || queue) && (
          <p class="row">
            {type && <span class="badge">type {type}</span>}
            {queue && <span class="badge">queue {queue}</span>}
            <button type="button" class="link" onClick={() => turn({ type: undefined, queue: undefined })}>
              Show all
            </button>
          </p>
        )}
        <Shown of={groups} height={16}>
          {(page) => (
            <Panel>
              <Table
                label="Errors"
                items={page.items}
                id={(group) => group.id}
                open={(group) => href(["errors", group.id])}
                empty={
                  <Empty
                    icon="check"
                    title={
                      status === "open"
                        ? "No open errors"
                        : status === "muted"
                          ? "Nothing is muted"
                          : "Nothing is resolved"
                    }
                  >
                    <p>
                      Attempts that fail come here, grouped by their error. A resolved group opens again when its error
                      comes back.
                    </p>
                  </Empty>
                }
                columns={[
                  {
                    name: "error",
                    head: "Error",
                    rowHead: true,
                    class: "wide",
                    cell: (group) => (
                      <div class="stack" style={{ gap: "0.125rem", padding: "0.375rem 0" }}>
                        <span class="row">
                          <a class="bad strong clip" href={href(["errors", group.id])}>
                            {group.error_type || "Error"}
                          </a>
                          {group.reopened_at && group.status === "open" && <span class="badge warn">came back</span>}
                          {group.canary && <Canary of={group.canary} />}
                        </span>
                        <span class="soft clip" title={textOf(group)}>
                          {textOf(group)}
                        </span>
                        <span class="small faint clip">
                          {where(group.types, "type")}, {where(group.queues, "queue")}
                          {group.note && ` · ${group.note}`}
                        </span>
                      </div>
                    ),
                  },
                  {
                    name: "trend",
                    head: "Last 24 h",
                    when: "lo",
                    cell: (group) => (
                      <Spark
                        values={group.trend}
                        label={`Failures an hour, a day long: ${group.trend.join(", ")}`}
                        color="--dead"
                      />
                    ),
                  },
                  {
                    name: "dead",
                    head: "Dead",
                    right: true,
                    cell: (group) => <Count n={group.dead} class={group.dead > 0 ? "bad" : ""} />,
                  },
                  {
                    name: "total",
                    head: "Failures",
                    right: true,
                    when: "lo",
                    cell: (group) => (
                      <span class="num" title={count(group.total)}>
                        {compact(group.total)}
                      </span>
                    ),
                  },
                  {
                    name: "first",
                    head: "First seen",
                    right: true,
                    when: "mid",
                    cell: (group) => <Time at={group.first_seen} />,
                  },
                  { name: "last", head: "Last seen", right: true, cell: (group) => <Time at={group.last_seen} /> },
                ]}
              />
              {(cursors.length > 0 || page.next_cursor) && (
                <div class="row apart" style={{ padding: "0.5rem 1rem" }}>
                  <Button size="tiny" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
                    Before
                  </Button>
                  <Button
                    size="tiny"
                    disabled={!page.next_cursor}
                    onClick={() => setCursors([...cursors, page.next_cursor!])}
                  >
                    More
                  </Button>
                </div>
              )}
            </Panel>
          )}
        </Shown>
      </div>
    </>
  );
}

function Canary({ of }: { of: NonNullable<ErrorGroup["canary"]> }) {
  const kind = of.state === "succeeded" ? "good" : of.state === "failed" ? "bad" : "";
  const text = of.state === "succeeded" ? "canary went well" : of.state === "failed" ? "canary failed" : "canary runs";
  return <span class={`badge ${kind}`}>{text}</span>;
}

export function ErrorPage({ id }: { id: string }) {
  const path = `v1/error-groups/${segment(id)}`;
  const group = useResource(`error ${id}`, (signal) => get<ErrorGroup>(path, {}, signal), { everyMs: 2000 });
  const [doing, setDoing] = useState<"retry" | "delete" | "mute" | "note" | null>(null);
  const it = group.data;
  const operate = may("operate");
  const set = async (changes: object, said: string): Promise<void> => {
    await patch(path, changes);
    toast(said);
    group.reload();
  };
  const canary = async (): Promise<void> => {
    await post(`${path}/retry`, { mode: "canary" });
    toast("One of its jobs runs again");
    group.reload();
  };
  return (
    <>
      <Bar title={it?.error_type || "Error"} under={{ text: "Errors", href: href(["errors"]) }}>
        {operate && it && (
          <>
            {it.status === "open" ? (
              <Button
                icon="check"
                onClick={() => set({ status: "resolved" }, "Resolved; it opens again when the error comes back")}
              >
                Resolve
              </Button>
            ) : (
              <Button onClick={() => set({ status: "open" }, "Open again")}>Open again</Button>
            )}
            <Menu
              label="More"
              items={[
                it.status === "open" && { text: "Mute…", icon: "pause", run: () => setDoing("mute") },
                { text: it.note ? "Edit the note…" : "Add a note…", icon: "edit", run: () => setDoing("note") },
                it.dead > 0 && {
                  text: "Delete its dead jobs…",
                  icon: "trash",
                  danger: true,
                  run: () => setDoing("delete"),
                },
              ]}
            />
          </>
        )}
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {group.error?.status === 404 ? (
          <Empty icon="failures" title="There is no such group of errors">
            <p>The server keeps the ten thousand that were seen last.</p>
          </Empty>
        ) : (
          <Shown of={group} height={16}>
            {(data) => (
              <>
                <Notice kind={data.status === "open" ? "bad" : ""}>
                  <p style={{ overflowWrap: "anywhere" }}>{textOf(data)}</p>
                </Notice>
                {data.status === "muted" && (
                  <Notice kind="warn" title="It is muted">
                    <p>
                      {data.muted_until ? (
                        <>
                          Until <Time at={data.muted_until} exact />; then it is open again.
                        </>
                      ) : (
                        "Until somebody opens it."
                      )}
                    </p>
                  </Notice>
                )}
                {data.note && (
                  <Notice title="Note">
                    <p style={{ overflowWrap: "anywhere", whiteSpace: "pre-wrap" }}>{data.note}</p>
                  </Notice>
                )}
                <div class="tiles">
                  <a class="tile" href={href(["jobs"], { q: `state:dead error:${data.id}` })}>
                    <span class="name">Dead jobs</span>
                    <span class={`value ${data.dead > 0 ? "bad" : ""}`}>{count(data.dead)}</span>
                    <span class="under">of {count(data.waiting)} that have it now</span>
                  </a>
                  <div class="tile">
                    <span class="name">Failures</span>
                    <span class="value">{compact(data.total)}</span>
                    <span class="under">failed attempts in all</span>
                  </div>
                  <div class="tile">
                    <span class="name">Last seen</span>
                    <span class="value">
                      <Time at={data.last_seen} />
                    </span>
                    <span class="under">
                      {data.reopened_at ? (
                        <>
                          came back <Time at={data.reopened_at} />
                        </>
                      ) : (
                        <>
                          first <Time at={data.first_seen} />
                        </>
                      )}
                    </span>
                  </div>
                  <div class="tile">
                    <span class="name">Last 24 h</span>
                    <span class="value">
                      <Spark values={data.trend} label={`Failures an hour: ${data.trend.join(", ")}`} color="--dead" />
                    </span>
                    <span class="under">{count(data.trend.at(-1) ?? 0)} in this hour</span>
                  </div>
                </div>
                {operate && data.dead > 0 && <Mend group={data} onCanary={canary} onAll={() => setDoing("retry")} />}
                <div class="main-and-side">
                  <Sample ids={data.sample} />
                  <div class="stack" style={{ gap: "1rem" }}>
                    <Panel title="Where" pad>
                      <Facts
                        items={[
                          [
                            "Types",
                            data.types.map((type) => (
                              <a key={type} href={href(["jobs"], { q: `type:${type}` })}>
                                {type}{" "}
                              </a>
                            )),
                          ],
                          [
                            "Queues",
                            data.queues.map((queue) => (
                              <a key={queue} href={href(["queues", queue])}>
                                {queue}{" "}
                              </a>
                            )),
                          ],
                          ["Fingerprint", <code key="f">{data.id}</code>],
                        ]}
                      />
                    </Panel>
                    <Panel title="Versions of workers">
                      <Table
                        label="Versions"
                        items={data.versions}
                        id={(each) => each.version}
                        empty={<Empty title="The workers told no version" />}
                        columns={[
                          { name: "version", head: "Version", rowHead: true, cell: (each) => each.version || "–" },
                          { name: "count", head: "Failures", right: true, cell: (each) => count(each.count) },
                          {
                            name: "last",
                            head: "Last seen",
                            right: true,
                            cell: (each) => (
                              <span title={`first seen ${absolute(each.first_seen)}`}>
                                <Time at={each.last_seen} />
                              </span>
                            ),
                          },
                        ]}
                      />
                    </Panel>
                  </div>
                </div>
              </>
            )}
          </Shown>
        )}
      </div>
      {it && doing === "mute" && <Mute path={path} onClose={() => setDoing(null)} onDone={group.reload} />}
      {it && doing === "note" && (
        <Note path={path} note={it.note ?? ""} onClose={() => setDoing(null)} onDone={group.reload} />
      )}
      {it && (doing === "retry" || doing === "delete") && (
        <All action={doing} path={path} group={it} onClose={() => setDoing(null)} />
      )}
    </>
  );
}

// The newest jobs with this error, each with its own message.
function Sample({ ids }: { ids: string[] }) {
  const jobs = useResource(
    `sample ${ids.join()}`,
    (signal) => Promise.all(ids.map((id) => get<Job>(`v1/jobs/${segment(id)}`, {}, signal).catch((): null => null))),
    { everyMs: 5000, keep: true },
  );
  return (
    <Panel title="Newest jobs">
      <Shown of={jobs} height={10}>
        {(all) => (
          <Table
            label="Newest jobs"
            items={all.filter((job): job is Job => job !== null)}
            id={(job) => job.id}
            open={(job) => href(["jobs", job.id], { tab: "attempts" })}
            empty={<Empty title="None is left" />}
            columns={[
              {
                name: "job",
                head: "Job",
                rowHead: true,
                cell: (job) => (
                  <a href={href(["jobs", job.id], { tab: "attempts" })} title={job.id}>
                    <code>{shortId(job.id)}</code>
                  </a>
                ),
              },
              { name: "state", head: "State", cell: (job) => <StateMark state={job.state} /> },
              {
                name: "error",
                head: "Its error",
                class: "wide",
                when: "lo",
                cell: (job) => (
                  <span class="soft" title={job.last_error?.message}>
                    {job.last_error?.message ?? "–"}
                  </span>
                ),
              },
              {
                name: "attempt",
                head: "Attempt",
                right: true,
                cell: (job) => (
                  <span class="num">
                    {job.attempt} of {job.max_attempts}
                  </span>
                ),
              },
              {
                name: "at",
                head: "Failed",
                right: true,
                when: "lo",
                cell: (job) => <Time at={job.last_error?.at ?? null} />,
              },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

// Retries first one job, which shows whether the cause is fixed, and then all.
function Mend({ group, onCanary, onAll }: { group: ErrorGroup; onCanary: () => Promise<void>; onAll: () => void }) {
  const { canary } = group;
  const link = canary && <a href={href(["jobs", canary.job])}>The canary</a>;
  return (
    <Panel title="Is it mended?">
      <div class="row wrap" style={{ padding: "0.75rem 1rem" }}>
        <span class="grow">
          {!canary && "Retry one of its dead jobs as a canary; when it goes well, retry them all."}
          {canary?.state === "running" && (
            <span class="row">
              <StateMark state="running" label="" />
              {link} runs, since <Time at={canary.at} />.
            </span>
          )}
          {canary?.state === "succeeded" && (
            <span class="row">
              <StateMark state="succeeded" label="" />
              {link} went well <Time at={canary.at} />. The others may follow.
            </span>
          )}
          {canary?.state === "failed" && (
            <span class="row">
              <StateMark state="dead" label="" />
              {link} failed again <Time at={canary.at} />.
            </span>
          )}
        </span>
        <Button icon="play" onClick={onCanary} disabled={canary?.state === "running"}>
          Retry one
        </Button>
        <Button icon="retry" kind={canary?.state === "succeeded" ? "primary" : "quiet"} onClick={onAll}>
          Retry all {count(group.dead)}…
        </Button>
      </div>
    </Panel>
  );
}

function All({
  action,
  path,
  group,
  onClose,
}: {
  action: "retry" | "delete";
  path: string;
  group: ErrorGroup;
  onClose: () => void;
}) {
  const [rate, setRate] = useState("");
  const run = async (): Promise<void> => {
    const body = { ...(action === "retry" ? { mode: "all" } : {}), ...(rate ? { rate_per_s: Number(rate) } : {}) };
    const operation = await post<Operation>(`${path}/${action}`, body);
    toast(action === "retry" ? "They are being retried" : "They are being deleted");
    onClose();
    go(["operations", operation.id]);
  };
  const yes = action === "retry" ? "Retry them" : "Delete them";
  return (
    <Dialog
      title={`${action === "retry" ? "Retry" : "Delete"} ${plural(group.dead, "dead job")}`}
      onClose={onClose}
      onSubmit={run}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind={action === "delete" ? "danger primary" : "primary"}>
            {yes}
          </Button>
        </>
      }
    >
      <p>
        All dead jobs whose last error is of this group: <span class="bad">{group.error_type}</span>.{" "}
        {action === "delete"
          ? "They go with their payloads and logs. This can't be undone."
          : "Each gets its attempts anew."}
      </p>
      <TextField
        label="At most so many a second"
        type="number"
        value={rate}
        onInput={setRate}
        placeholder="as fast as it goes"
        hint="The rate can be changed while it runs."
        focus
      />
    </Dialog>
  );
}

function Mute({ path, onClose, onDone }: { path: string; onClose: () => void; onDone: () => void }) {
  const [length, setLength] = useState("1d");
  const [fault, setFault] = useState("");
  const run = async (): Promise<void> => {
    try {
      const ms = readDuration(length, "/muted_until");
      await patch(path, { status: "muted", muted_until: ms === null ? null : new Date(Date.now() + ms).toISOString() });
      toast("Muted");
      onDone();
      onClose();
    } catch (error) {
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title="Mute this error"
      onClose={onClose}
      onSubmit={run}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Mute
          </Button>
        </>
      }
    >
      <p>It does not ask for attention while it is muted. It is counted all the same.</p>
      <TextField
        label="For"
        value={length}
        onInput={setLength}
        placeholder="until somebody opens it"
        hint="2h, 1d, 2w"
        focus
        fault={fault || undefined}
      />
    </Dialog>
  );
}

function Note({
  path,
  note,
  onClose,
  onDone,
}: {
  path: string;
  note: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const [text, setText] = useState(note);
  const run = async (): Promise<void> => {
    await patch(path, { note: text.trim() === "" ? null : text });
    toast("Saved");
    onDone();
    onClose();
  };
  return (
    <Dialog
      title="Note"
      onClose={onClose}
      onSubmit={run}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Save
          </Button>
        </>
      }
    >
      <TextField
        label="For whoever comes next"
        value={text}
        onInput={setText}
        lines={4}
        focus
        hint="A ticket, a cause, who looks after it."
      />
    </Dialog>
  );
}
