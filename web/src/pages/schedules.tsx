// Schedules in words, with their next instants, and the form that shows both while the user types.
import { useEffect, useState } from "preact/hooks";
import { ApiError, get, getAll, getText, may, post, put, remove, segment } from "../lib/api";
import {
  absolute,
  dayAndTime,
  durationInput,
  exactly,
  inZone,
  localZone,
  parseDuration,
  plural,
  shortId,
} from "../lib/format";
import { faultOf, membersOf } from "../lib/json";
import { names, wantNames } from "../lib/names";
import { go, href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { PreviewAnswer, Run, Schedule } from "../lib/types";
import { Dialog, Menu, ask } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { Json } from "../ui/json";
import {
  Button,
  Choice,
  Empty,
  Facts,
  Find,
  Notice,
  Panel,
  Segments,
  Shown,
  TextField,
  Time,
  faultsOf,
  messageOf,
} from "../ui/parts";
import { Bar } from "../ui/shell";
import { Table } from "../ui/table";
import { toast } from "../ui/toast";

function ScheduleState({ schedule }: { schedule: Schedule }) {
  const kinds = { active: "good", paused: "warn", ended: "", broken: "bad" };
  return <span class={`badge ${kinds[schedule.state]}`}>{schedule.state}</span>;
}
// A schedule makes jobs or workflows.
function madeBy({ job, workflow }: Schedule): { what: string; queue: string } {
  if (workflow) return { what: workflow.name ?? "a workflow", queue: workflow.queue };
  return { what: job.type, queue: job.queue };
}
const timing = (schedule: Schedule): string => schedule.cron ?? `every ${exactly(schedule.every_ms ?? 0)}`;

export function Schedules() {
  const schedules = useResource("schedules", (signal) => getAll<Schedule>("v1/schedules", {}, signal), {
    everyMs: 5000,
  });
  const find = place.value.query.get("find") ?? "";
  const [making, setMaking] = useState(false);
  return (
    <>
      <Bar title="Schedules">
        {may("operate") && (
          <Button icon="plus" onClick={() => setMaking(true)}>
            New schedule
          </Button>
        )}
      </Bar>
      <div class="content">
        <Shown of={schedules} height={16}>
          {(data) => (
            <Panel
              title={plural(data.length, "schedule")}
              actions={<Find label="Find a schedule" value={find} onInput={(text) => setQuery({ find: text })} />}
            >
              <Table
                label="Schedules"
                items={data.filter(
                  (schedule) =>
                    !find || `${schedule.name} ${madeBy(schedule).what}`.toLowerCase().includes(find.toLowerCase()),
                )}
                id={(schedule) => schedule.name}
                open={(schedule) => href(["schedules", schedule.name])}
                sorting={{ by: "name", down: false }}
                empty={
                  <Empty icon="schedules" title={data.length === 0 ? "There are no schedules" : "No schedule matches"}>
                    {data.length === 0 && (
                      <p>A schedule submits a job at each of its instants: every night at half past two, say.</p>
                    )}
                  </Empty>
                }
                columns={[
                  {
                    name: "name",
                    head: "Schedule",
                    rowHead: true,
                    sort: (schedule) => schedule.name,
                    cell: (schedule) => (
                      <span class="row">
                        <a href={href(["schedules", schedule.name])}>{schedule.name}</a>
                        {schedule.state !== "active" && <ScheduleState schedule={schedule} />}
                      </span>
                    ),
                  },
                  {
                    name: "when",
                    head: "When",
                    class: "wide",
                    when: "lo",
                    cell: (schedule) => <span title={timing(schedule)}>{schedule.description}</span>,
                  },
                  {
                    name: "job",
                    head: "Job",
                    when: "mid",
                    sort: (schedule) => madeBy(schedule).what,
                    cell: (schedule) => (
                      <span class="soft">
                        {madeBy(schedule).what} in {madeBy(schedule).queue}
                      </span>
                    ),
                  },
                  {
                    name: "last",
                    head: "Last",
                    right: true,
                    when: "mid",
                    sort: (schedule) => schedule.last_scheduled_at ?? "",
                    cell: (schedule) =>
                      schedule.last_workflow_id ? (
                        <a href={href(["workflows", schedule.last_workflow_id])}>
                          <Time at={schedule.last_scheduled_at} />
                        </a>
                      ) : schedule.last_job_id ? (
                        <a href={href(["jobs", schedule.last_job_id])}>
                          <Time at={schedule.last_scheduled_at} />
                        </a>
                      ) : (
                        <Time at={schedule.last_scheduled_at} />
                      ),
                  },
                  {
                    name: "next",
                    head: "Next",
                    right: true,
                    sort: (schedule) => schedule.next[0] ?? "~",
                    cell: (schedule) =>
                      schedule.state === "active" ? (
                        <Time at={schedule.next[0] ?? null} />
                      ) : (
                        <span class="zero">–</span>
                      ),
                  },
                ]}
              />
            </Panel>
          )}
        </Shown>
      </div>
      {making && <ScheduleForm schedule={null} onClose={() => setMaking(false)} onDone={schedules.reload} />}
    </>
  );
}

const outcomes: Record<Run["outcome"], [string, string]> = {
  submitted: ["good", "submitted"],
  replaced: ["", "replaced the one before"],
  skipped_overlap: ["warn", "skipped: the one before still ran"],
  skipped_missed: ["warn", "missed"],
  refused: ["bad", "refused"],
};

export function SchedulePage({ name }: { name: string }) {
  const path = `v1/schedules/${segment(name)}`;
  const schedule = useResource(
    `schedule ${name}`,
    async (signal) => {
      const text = await getText(path, {}, signal);
      return {
        schedule: JSON.parse(text) as Schedule,
        raw: text,
        payload: membersOf(membersOf(text).get("job") ?? "{}").get("payload"),
      };
    },
    { everyMs: 5000 },
  );
  const runs = useResource(`runs ${name}`, (signal) => get<{ items: Run[] }>(`${path}/runs`, {}, signal), {
    everyMs: 10_000,
  });
  const [editing, setEditing] = useState(false);
  const [filling, setFilling] = useState(false);
  const operate = may("operate");
  const it = schedule.data?.schedule;
  const pause = (): void =>
    ask({
      title: `Pause ${name}?`,
      text: "It makes no jobs until it is resumed. What it misses meanwhile is decided by its rule for missed instants.",
      yes: "Pause",
      reason: "Reason (the others see it)",
      run: async (reason) => {
        await post(`${path}/pause`, reason ? { reason } : {});
        toast(`${name} is paused`);
      },
    });
  const trigger = async (): Promise<void> => {
    const job = await post<{ id: string }>(`${path}/trigger`, {});
    toast("Submitted", "good", { text: "Show the job", run: () => go(["jobs", job.id]) });
  };
  const drop = (): void =>
    ask({
      title: `Delete the schedule ${name}?`,
      text: "Jobs that it has made stay. This can't be undone.",
      yes: "Delete",
      danger: true,
      run: async () => {
        await remove(path);
        toast("Deleted");
        go(["schedules"]);
      },
    });
  return (
    <>
      <Bar title={name} under={{ text: "Schedules", href: href(["schedules"]) }}>
        {operate && it && (
          <>
            <Button icon="play" onClick={trigger}>
              Run now
            </Button>
            {it.paused ? (
              <Button kind="primary" onClick={async () => (await post(`${path}/resume`), toast("Resumed"))}>
                Resume
              </Button>
            ) : (
              <Button icon="pause" onClick={pause}>
                Pause
              </Button>
            )}
            <Menu
              label="More"
              items={[
                // The form is for jobs; workflows are set from a file.
                ...(schedule.data?.schedule.workflow
                  ? []
                  : [{ text: "Edit", icon: "edit" as const, run: () => setEditing(true) }]),
                { text: "Backfill…", icon: "retry", run: () => setFilling(true) },
                { text: "Delete…", icon: "trash", danger: true, run: drop },
              ]}
            />
          </>
        )}
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {schedule.error?.status === 404 ? (
          <Empty icon="schedules" title="There is no such schedule" />
        ) : (
          <Shown of={schedule} height={16}>
            {({ schedule: s, payload }) => (
              <>
                {s.state === "broken" && (
                  <Notice
                    kind="bad"
                    title="It is broken, and makes no jobs"
                    actions={
                      operate &&
                      !s.workflow && (
                        <Button icon="edit" onClick={() => setEditing(true)}>
                          Edit
                        </Button>
                      )
                    }
                  >
                    <p>{s.error}</p>
                  </Notice>
                )}
                {s.state === "paused" && (
                  <Notice kind="warn" title="It is paused">
                    <p>{s.reason ? `“${s.reason}”` : "No reason was given."}</p>
                  </Notice>
                )}
                {s.warnings?.map((warning) => (
                  <Notice key={warning} kind="warn">
                    {warning}
                  </Notice>
                ))}
                {s.managed_by && (
                  <Notice>
                    It belongs to <code>{s.managed_by}</code>. What you change here is overwritten when that set is
                    applied again.
                  </Notice>
                )}
                <div class="main-and-side">
                  <div class="stack" style={{ gap: "1rem" }}>
                    <Panel
                      title={<span style={{ fontSize: "var(--t-l)" }}>{s.description}</span>}
                      actions={<ScheduleState schedule={s} />}
                    >
                      <Instants instants={s.next} zone={s.timezone} />
                    </Panel>
                    <Panel title="Recent runs">
                      <Shown of={runs}>
                        {(data) => (
                          <Table
                            label="Runs"
                            items={data.items}
                            id={(run) => `${run.scheduled_at} ${run.at} ${run.outcome} ${run.job_id}`}
                            empty={<Empty title="None has come yet" />}
                            columns={[
                              { name: "for", head: "Scheduled for", cell: (run) => absolute(run.scheduled_at) },
                              {
                                name: "outcome",
                                head: "Outcome",
                                cell: (run) => (
                                  <span class={`badge ${outcomes[run.outcome]?.[0] ?? ""}`}>
                                    {outcomes[run.outcome]?.[1] ?? run.outcome}
                                    {run.count && run.count > 1 ? `, ${run.count} of them` : ""}
                                  </span>
                                ),
                              },
                              {
                                name: "job",
                                head: "Job",
                                class: "wide",
                                cell: (run) =>
                                  run.workflow_id ? (
                                    <a href={href(["workflows", run.workflow_id])} title={run.workflow_id}>
                                      <code>{shortId(run.workflow_id)}</code>
                                    </a>
                                  ) : run.job_id ? (
                                    <a href={href(["jobs", run.job_id])} title={run.job_id}>
                                      <code>{shortId(run.job_id)}</code>
                                    </a>
                                  ) : (
                                    <span class="soft">{run.error ?? "–"}</span>
                                  ),
                              },
                              {
                                name: "at",
                                head: "Decided",
                                right: true,
                                when: "lo",
                                cell: (run) => <Time at={run.at} />,
                              },
                            ]}
                          />
                        )}
                      </Shown>
                    </Panel>
                    {payload !== "null" && (
                      <Panel title="Payload of each job">
                        {payload === undefined ? (
                          <Empty title="None, or this token may not see it" />
                        ) : (
                          <Json text={payload} name="the payload" />
                        )}
                      </Panel>
                    )}
                  </div>
                  <Panel title="Details" pad>
                    <Facts
                      items={[
                        ["When", <code key="w">{timing(s)}</code>],
                        ["Zone", s.timezone],
                        [
                          s.workflow ? "Workflow" : "Job",
                          <a key="j" href={href(["jobs"], { q: `schedule:${s.name}` })}>
                            {madeBy(s).what}
                          </a>,
                        ],
                        [
                          "Queue",
                          <a key="q" href={href(["queues", madeBy(s).queue])}>
                            {madeBy(s).queue}
                          </a>,
                        ],
                        s.start_at ? ["From", absolute(s.start_at)] : ["", null],
                        s.end_at ? ["Until", absolute(s.end_at)] : ["", null],
                        [
                          "Missed",
                          { skip: "skipped", one: "the latest runs", all: `all run, up to ${s.missed_limit}` }[
                            s.missed
                          ],
                        ],
                        [
                          "While one runs",
                          {
                            allow: "the next runs beside it",
                            skip: "the next is skipped",
                            queue: "the next waits",
                            replace: "it is replaced",
                          }[s.overlap],
                        ],
                        s.jitter_ms > 0 ? ["Jitter", exactly(s.jitter_ms)] : ["", null],
                        s.cron
                          ? ["Skipped by DST", s.dst_gap === "run" ? "runs at the gap's end" : "is skipped"]
                          : ["", null],
                        s.cron
                          ? ["Repeated by DST", s.dst_overlap === "once" ? "runs once" : "runs twice"]
                          : ["", null],
                        ["Changed", <Time key="c" at={s.updated_at} />],
                      ]}
                    />
                  </Panel>
                </div>
              </>
            )}
          </Shown>
        )}
      </div>
      {editing && schedule.data && (
        <ScheduleForm
          schedule={schedule.data.schedule}
          raw={schedule.data.raw}
          onClose={() => setEditing(false)}
          onDone={schedule.reload}
        />
      )}
      {filling && it && <Backfill schedule={it} onClose={() => setFilling(false)} />}
    </>
  );
}

function Instants({ instants, zone }: { instants: string[]; zone: string }) {
  if (instants.length === 0) return <Empty title="It has no instant left" />;
  const same = zone === localZone();
  return (
    <div class="scroll" role="region" aria-label="The next instants" tabIndex={0}>
      <table class="times">
        <thead>
          <tr>
            <th scope="col">In {zone}</th>
            {!same && (
              <th scope="col" class="lo">
                In your zone ({localZone()})
              </th>
            )}
            <th scope="col" class="r">
              From now
            </th>
          </tr>
        </thead>
        <tbody>
          {instants.map((at) => (
            <tr key={at}>
              <td>{inZone(at, zone)}</td>
              {!same && <td class="soft lo">{dayAndTime(at)}</td>}
              <td class="r soft">
                <Time at={at} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ScheduleForm({
  schedule,
  raw,
  onClose,
  onDone,
}: {
  schedule: Schedule | null;
  raw?: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const jobText = raw ? (membersOf(raw).get("job") ?? "{}") : "{}";
  const jobMembers = membersOf(jobText);
  const [name, setName] = useState(schedule?.name ?? "");
  const [kind, setKind] = useState<"cron" | "every">(schedule && schedule.cron === null ? "every" : "cron");
  const [cron, setCron] = useState(schedule?.cron ?? "30 2 * * *");
  const [every, setEvery] = useState(schedule?.every_ms ? durationInput(schedule.every_ms) : "5m");
  const [zone, setZone] = useState(schedule?.timezone ?? localZone());
  const [type, setType] = useState(schedule?.job?.type ?? "");
  const [queue, setQueue] = useState(schedule?.job?.queue ?? "default");
  const [payload, setPayload] = useState(jobMembers.get("payload") ?? "null");
  const [missed, setMissed] = useState(schedule?.missed ?? "one");
  const [overlap, setOverlap] = useState(schedule?.overlap ?? "allow");
  const [gap, setGap] = useState(schedule?.dst_gap ?? "run");
  const [twice, setTwice] = useState(schedule?.dst_overlap ?? "once");
  const [preview, setPreview] = useState<PreviewAnswer | null>(null);
  const [wrong, setWrong] = useState("");
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  useEffect(() => void wantNames(), []);

  useEffect(() => {
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      const everyMs = parseDuration(every);
      if (kind === "every" && everyMs === null) {
        setPreview(null);
        return setWrong("must be a duration like 30s, 5m, 2h or 7d");
      }
      try {
        const body = {
          ...(kind === "cron" ? { cron } : { every_ms: everyMs }),
          timezone: zone,
          count: 5,
          dst_gap: gap,
          dst_overlap: twice,
        };
        const made = await post<PreviewAnswer>("v1/schedules/preview", body);
        if (abort.signal.aborted) return;
        setPreview(made);
        setWrong("");
      } catch (error) {
        if (abort.signal.aborted) return;
        setPreview(null);
        const told = faultsOf(error);
        setWrong(
          told.get("/timezone") ? `Zone: ${told.get("/timezone")}` : ([...told.values()][0] ?? messageOf(error)),
        );
      }
    }, 200);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [kind, cron, every, zone, gap, twice]);

  const save = async (): Promise<void> => {
    setFault("");
    const bad = faultOf(payload);
    if (bad) return setFaults(new Map([["/job/payload", bad]]));
    // Members that this form does not show are kept byte for byte.
    const job = new Map(jobMembers);
    job.set("type", JSON.stringify(type));
    job.set("queue", JSON.stringify(queue));
    job.set("payload", payload);
    job.delete("redacted");
    const members = new Map<string, string>([
      ["job", `{${[...job].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`],
    ]);
    if (kind === "cron") members.set("cron", JSON.stringify(cron));
    else members.set("every_ms", String(parseDuration(every)));
    members.set("timezone", JSON.stringify(zone));
    members.set("missed", JSON.stringify(missed));
    members.set("overlap", JSON.stringify(overlap));
    members.set("dst_gap", JSON.stringify(gap));
    members.set("dst_overlap", JSON.stringify(twice));
    const before = raw ? membersOf(raw) : new Map<string, string>();
    for (const kept of ["start_at", "end_at", "jitter_ms", "missed_after_ms", "missed_limit", "paused", "managed_by"]) {
      const value = before.get(kept);
      if (value !== undefined) members.set(kept, value);
    }
    const body = `{${[...members].map(([key, value]) => `${JSON.stringify(key)}:${value}`).join(",")}}`;
    try {
      await put(`v1/schedules/${segment(name)}`, body, schedule ? { "If-Match": `"${schedule.version}"` } : {});
      toast("Saved");
      onDone();
      onClose();
      if (!schedule) go(["schedules", name]);
    } catch (error) {
      setFaults(faultsOf(error));
      setFault(
        error instanceof ApiError && error.status === 412
          ? "Somebody has changed it meanwhile. Close to see what it is now."
          : messageOf(error),
      );
    }
  };
  return (
    <Dialog
      title={schedule ? `Edit ${schedule.name}` : "New schedule"}
      class="drawer"
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!name || !type || preview === null}>
            Save
          </Button>
        </>
      }
    >
      {!schedule && (
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          focus
          fault={faults.get("/name")}
          hint="A to Z, digits and . _ : / -"
        />
      )}
      <div class="stack">
        <Segments
          label="How it is given"
          value={kind}
          options={[
            ["cron", "Cron"],
            ["every", "Interval"],
          ]}
          onChange={setKind}
        />
        <div class="fields">
          {kind === "cron" ? (
            <TextField
              label="Expression"
              value={cron}
              onInput={setCron}
              mono
              fault={wrong && !wrong.startsWith("Zone:") ? wrong : undefined}
              hint="minute hour day month weekday"
            />
          ) : (
            <TextField label="Every" value={every} onInput={setEvery} mono fault={wrong || undefined} />
          )}
          <TextField
            label="Zone"
            value={zone}
            onInput={setZone}
            fault={wrong.startsWith("Zone:") ? wrong.slice(6) : undefined}
            list={Intl.supportedValuesOf("timeZone")}
          />
        </div>
      </div>
      <div class="panel" aria-live="polite">
        {preview ? (
          <>
            <p class="strong" style={{ padding: "0.625rem 1rem" }}>
              {preview.description}
            </p>
            <Instants instants={preview.next} zone={zone} />
            {preview.warnings?.map((warning) => (
              <p key={warning} class="warn small row" style={{ padding: "0.375rem 1rem" }}>
                <Icon name="warn" />
                <span>{warning}</span>
              </p>
            ))}
          </>
        ) : (
          <p class="soft" style={{ padding: "0.75rem 1rem" }}>
            The next instants show here once the expression can be read.
          </p>
        )}
      </div>
      <div class="fields">
        <TextField
          label="Type of the job"
          value={type}
          onInput={setType}
          list={names.value.types}
          fault={faults.get("/job/type")}
        />
        <TextField
          label="Queue"
          value={queue}
          onInput={setQueue}
          list={names.value.queues}
          fault={faults.get("/job/queue")}
        />
      </div>
      <TextField
        label="Payload"
        value={payload}
        onInput={setPayload}
        lines={4}
        fault={faults.get("/job/payload")}
        hint="JSON, the same for each job."
      />
      <div class="fields">
        <Choice
          label="Missed instants"
          value={missed}
          onChange={setMissed}
          options={[
            ["skip", "are skipped"],
            ["one", "the latest runs"],
            ["all", "all run"],
          ]}
        />
        <Choice
          label="While one runs, the next"
          value={overlap}
          onChange={setOverlap}
          options={[
            ["allow", "runs beside it"],
            ["skip", "is skipped"],
            ["queue", "waits for it"],
            ["replace", "replaces it"],
          ]}
        />
        {kind === "cron" && (
          <Choice
            label="A time that DST skips"
            value={gap}
            onChange={setGap}
            options={[
              ["run", "runs at the gap's end"],
              ["skip", "is skipped"],
            ]}
          />
        )}
        {kind === "cron" && (
          <Choice
            label="A time that DST repeats"
            value={twice}
            onChange={setTwice}
            options={[
              ["once", "runs once"],
              ["twice", "runs twice"],
            ]}
          />
        )}
      </div>
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}

interface Filled {
  submitted: number;
  existing: number;
  more: boolean;
}

function Backfill({ schedule, onClose }: { schedule: Schedule; onClose: () => void }) {
  // A little less than a day, the default retention of ended jobs: older instants can't be judged.
  const before = (ms: number): string => new Date(Date.now() - ms).toISOString().replace(/\.\d+/, "");
  const [from, setFrom] = useState(before(23 * 3_600_000));
  const [to, setTo] = useState(before(60_000));
  const [rerun, setRerun] = useState(false);
  const [preview, setPreview] = useState<Filled | null>(null);
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const path = `v1/schedules/${segment(schedule.name)}/backfill`;
  const body = { from, to, rerun };
  useEffect(() => {
    let late = false;
    const timer = setTimeout(async () => {
      try {
        const answer = await post<Filled>(path, { ...body, dry_run: true });
        if (late) return;
        setPreview(answer);
        setFaults(new Map());
        setFault("");
      } catch (error) {
        if (late) return;
        setPreview(null);
        setFaults(faultsOf(error));
        setFault(messageOf(error));
      }
    }, 300);
    return () => {
      late = true;
      clearTimeout(timer);
    };
  }, [from, to, rerun]);
  const run = async (): Promise<void> => {
    let submitted = 0;
    for (;;) {
      const answer = await post<Filled>(path, body);
      submitted += answer.submitted;
      if (!answer.more || answer.submitted === 0) break;
    }
    toast(`${plural(submitted, "job")} submitted`);
    onClose();
  };
  return (
    <Dialog
      title={`Backfill ${schedule.name}`}
      onClose={onClose}
      onSubmit={run}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!preview || preview.submitted === 0}>
            Submit{" "}
            {preview ? (preview.more ? `${preview.submitted} or more jobs` : plural(preview.submitted, "job")) : "jobs"}
          </Button>
        </>
      }
    >
      <p>
        Submits the jobs of the instants of a past range, oldest first. Instants whose job is still there are left out.
      </p>
      <TextField label="From" value={from} onInput={setFrom} mono fault={faults.get("/from")} />
      <TextField label="To (not with it)" value={to} onInput={setTo} mono fault={faults.get("/to")} />
      <label class="check">
        <input type="checkbox" checked={rerun} onChange={(event) => setRerun(event.currentTarget.checked)} />
        Also instants from before what the queue keeps
      </label>
      <p role="status">
        {preview ? (
          `${preview.more ? `${preview.submitted} or more jobs` : plural(preview.submitted, "job")} would be submitted; ${preview.existing} of that time ${preview.existing === 1 ? "is" : "are"} there already.`
        ) : faults.size > 0 ? (
          ""
        ) : fault ? (
          <span class="bad">{fault}</span>
        ) : (
          "Counting…"
        )}
      </p>
    </Dialog>
  );
}
