// Jobs selected by a filter, which is part of the address. Rows keep their places while they change;
// new ones wait above until they are requested.
import { useEffect, useRef, useState } from "preact/hooks";
import { getAll, may, post } from "../lib/api";
import { compact, count, duration, plural, shortId } from "../lib/format";
import { now, serverNow } from "../lib/live";
import { fieldOf, withField } from "../lib/query";
import { searches, setSearches } from "../lib/prefs";
import { go, href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import { useRows } from "../lib/rows";
import { type BulkAnswer, type Job, type Operation, type Queue, kStates } from "../lib/types";
import { Dialog, Menu } from "../ui/dialog";
import { FilterBar } from "../ui/filter";
import { Button, Copy, Empty, Panel, Tabs, TextField, Time, Trouble } from "../ui/parts";
import { Bar } from "../ui/shell";
import { StateMark, StateShape } from "../ui/state";
import { MoreRows, NewRows } from "../ui/table";
import { toast } from "../ui/toast";
import { totalsOf } from "./overview";

export function Jobs() {
  const q = place.value.query.get("q") ?? "";
  const list = useRows<Job>("v1/jobs", { q });
  const { of: first, rows: jobs, gone } = list;
  const queues = useResource("queues", (signal) => getAll<Queue>("v1/queues", {}, signal), { everyMs: 15_000 });
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [everything, setEverything] = useState(false);
  const lastClicked = useRef<number>(-1);
  useEffect(() => {
    setChosen(new Set());
    setEverything(false);
    lastClicked.current = -1;
  }, [q]);

  const state = fieldOf(q, "state");
  const totals = queues.data && totalsOf(queues.data);
  const onlyQueue = fieldOf(q, "queue");
  // The counts are exact if the filter is only a state, or a queue and a state.
  const rest = withField(withField(q, "state", ""), "queue", "");
  const counts =
    rest !== ""
      ? null
      : onlyQueue === null
        ? withField(q, "state", "") === ""
          ? totals
          : null
        : queues.data?.find((queue) => queue.name === onlyQueue)?.counts;
  const fault =
    first.error?.status === 422 ? ([...first.error.faults().values()][0] ?? first.error.message) : undefined;

  const choose = (index: number, on: boolean, range: boolean): void => {
    const next = new Set(chosen);
    const from = range && lastClicked.current >= 0 ? Math.min(lastClicked.current, index) : index;
    const to = range && lastClicked.current >= 0 ? Math.max(lastClicked.current, index) : index;
    for (let i = from; i <= to; ++i) {
      const id = jobs[i]?.id;
      if (id) on ? next.add(id) : next.delete(id);
    }
    lastClicked.current = index;
    setChosen(next);
    setEverything(false);
  };
  const allShown = jobs.length > 0 && jobs.every((job) => chosen.has(job.id));
  const operate = may("operate");

  return (
    <>
      <Bar title="Jobs">
        <Saved q={q} />
      </Bar>
      <div class="content" style={{ gap: "0.75rem" }}>
        <FilterBar value={q} onChange={(next) => setQuery({ q: next })} fault={fault} />
        <Tabs
          label="State"
          value={state ?? ""}
          onChange={(value) => setQuery({ q: withField(q, "state", value) })}
          options={[
            { value: "", text: "All" },
            ...kStates.map((each) => ({
              value: each as string,
              text: (
                <>
                  <StateShape state={each} />
                  {each[0]!.toUpperCase() + each.slice(1)}
                </>
              ),
              ...(counts ? { count: compact(counts[each]) } : {}),
            })),
          ]}
        />
        {first.error && !fault && <Trouble of={first} />}
        <Panel>
          <NewRows of={list} one="job" />
          {list.isEmpty ? (
            <Empty icon="jobs" title={q ? "No job matches" : "There are no jobs"}>
              <p>
                {q
                  ? "Ended jobs are kept for as long as their queue's retention says."
                  : "Submit one, and it shows here."}
              </p>
              {q && (
                <p>
                  <Button onClick={() => setQuery({ q: undefined })}>Clear the filter</Button>
                </p>
              )}
            </Empty>
          ) : (
            <div class="scroll" role="region" aria-label="Jobs" tabIndex={0} style={{ opacity: list.isOld ? 0.6 : 1 }}>
              <table class="jobs">
                <caption class="hidden-text">Jobs, newest first</caption>
                <thead>
                  <tr>
                    {operate && (
                      <th scope="col" style={{ width: "2.5rem" }}>
                        <input
                          type="checkbox"
                          aria-label="Choose all that are shown"
                          checked={allShown}
                          onChange={(event) => (
                            setChosen(event.currentTarget.checked ? new Set(jobs.map((job) => job.id)) : new Set()),
                            setEverything(false)
                          )}
                        />
                      </th>
                    )}
                    <th scope="col" class="state-head">
                      State
                    </th>
                    <th scope="col">Type</th>
                    <th scope="col" class="lo">
                      Queue
                    </th>
                    <th scope="col" class="r lo">
                      Attempt
                    </th>
                    <th scope="col" class="mid">
                      Detail
                    </th>
                    <th scope="col" class="r">
                      Created
                    </th>
                    <th scope="col" class="lo">
                      Id
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {jobs.map((job, index) => (
                    <tr
                      key={job.id}
                      class={gone.has(job.id) ? "gone" : ""}
                      aria-selected={operate ? chosen.has(job.id) : undefined}
                      data-row={href(["jobs", job.id])}
                      title={gone.has(job.id) ? "It no longer matches the filter" : undefined}
                    >
                      {operate && (
                        <td>
                          <input
                            type="checkbox"
                            data-choose
                            aria-label={`Choose ${job.type} ${shortId(job.id)}`}
                            checked={chosen.has(job.id)}
                            onClick={(event) => choose(index, event.currentTarget.checked, event.shiftKey)}
                          />
                        </td>
                      )}
                      <td>
                        <StateMark state={job.state} />
                      </td>
                      <th scope="row">
                        <a href={href(["jobs", job.id])}>{job.type}</a>
                        <span class="narrow-only under-type clip small">
                          {job.state} · {job.queue}
                          <span>
                            <What job={job} />
                          </span>
                        </span>
                      </th>
                      <td class="lo">
                        <a class="soft" href={href(["queues", job.queue])}>
                          {job.queue}
                        </a>
                      </td>
                      <td class="r lo">
                        <span class={job.attempt > 1 ? "" : "zero"}>
                          {job.attempt} of {job.max_attempts}
                        </span>
                      </td>
                      <td class="wide mid soft">
                        <What job={job} />
                      </td>
                      <td class="r">
                        <Time at={job.created_at} />
                      </td>
                      <td class="lo">
                        <span class="row" style={{ gap: 0 }}>
                          <code class="faint">{shortId(job.id)}</code>
                          <Copy text={job.id} label="Copy the id" />
                        </span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
              {!first.data && !first.error && (
                <div class="skeleton" style={{ height: "20rem" }} role="status" aria-label="Loading" />
              )}
            </div>
          )}
          <MoreRows of={list} one="job" />
          {chosen.size > 0 && (
            <Selection
              q={q}
              chosen={jobs.filter((job) => chosen.has(job.id))}
              everything={everything}
              canTakeAll={allShown && list.hasMore}
              takeAll={() => setEverything(true)}
              clear={() => (setChosen(new Set()), setEverything(false))}
            />
          )}
        </Panel>
      </div>
    </>
  );
}

// The most important fact about a job in its state.
function What({ job }: { job: Job }) {
  const at = now.value;
  if (job.state === "running") {
    const ran = job.started_at ? duration(at - new Date(job.started_at).getTime()) : "";
    const { percent = null, message = null } = job.progress ?? {};
    return (
      <>
        {percent !== null && `${Math.round(percent)} % `}
        {message} {ran} on {job.worker}
        {job.cancel_requested && <span class="badge warn">to be cancelled</span>}
      </>
    );
  }
  if (job.state === "scheduled" || job.state === "retrying") {
    return (
      <>
        due <Time at={job.run_at} />
        {job.last_error && job.state === "retrying" && `: ${job.last_error.type}: ${job.last_error.message}`}
      </>
    );
  }
  if (job.last_error && job.state !== "succeeded") return <>{`${job.last_error.type}: ${job.last_error.message}`}</>;
  if (job.finished_at && job.started_at)
    return <>ran {duration(new Date(job.finished_at).getTime() - new Date(job.started_at).getTime())}</>;
  return null;
}

function Saved({ q }: { q: string }) {
  const [naming, setNaming] = useState(false);
  const [name, setName] = useState("");
  const known = searches.value.find((each) => each.q === q);
  return (
    <>
      <Menu
        label="Saved searches"
        icon="star"
        text="Saved"
        items={[
          ...searches.value.map((each) => ({ text: each.name, icon: "filter", href: href(["jobs"], { q: each.q }) })),
          !known && q !== "" && { text: "Save this search…", icon: "plus", run: () => setNaming(true) },
          known && {
            text: `Forget “${known.name}”`,
            icon: "trash",
            danger: true,
            run: () => setSearches(searches.value.filter((each) => each !== known)),
          },
          searches.value.length === 0 && q === "" && { text: "Filter first, then save it here", icon: "info" },
        ].filter((item): item is Exclude<typeof item, false | undefined> => Boolean(item))}
      />
      {naming && (
        <Dialog
          title="Save this search"
          onClose={() => setNaming(false)}
          onSubmit={() => {
            if (!name.trim()) return;
            setSearches([...searches.value, { name: name.trim().slice(0, 60), q }]);
            setNaming(false);
            setName("");
          }}
          footer={
            <>
              <Button onClick={() => setNaming(false)}>Cancel</Button>
              <Button type="submit" kind="primary" disabled={!name.trim()}>
                Save
              </Button>
            </>
          }
        >
          <TextField label="Name" value={name} onInput={setName} focus hint="It is kept in this browser." />
          <p>
            <code>{q}</code>
          </p>
        </Dialog>
      )}
    </>
  );
}

type Action = "retry" | "cancel" | "delete" | "reprioritize";
const verbs: Record<Action, { title: string; yes: string; done: string; states: string }> = {
  retry: { title: "Retry", yes: "Retry", done: "will run again", states: "those that have ended" },
  cancel: { title: "Cancel", yes: "Cancel the jobs", done: "are cancelled", states: "those that have not ended" },
  delete: { title: "Delete", yes: "Delete", done: "are deleted", states: "those that do not run" },
  reprioritize: { title: "Set the priority of", yes: "Set", done: "have the new priority", states: "those that wait" },
};

function Selection(props: {
  q: string;
  chosen: Job[];
  everything: boolean;
  canTakeAll: boolean;
  takeAll: () => void;
  clear: () => void;
}) {
  const [bulk, setBulk] = useState<Action | null>(null);
  return (
    <div class="selection" role="region" aria-label="Chosen jobs">
      <span class="strong">{props.everything ? "All that match" : plural(props.chosen.length, "job")}</span>
      {props.canTakeAll && !props.everything && (
        <button type="button" class="link" onClick={props.takeAll}>
          Choose all that match
        </button>
      )}
      <button type="button" class="link" onClick={props.clear}>
        Clear
      </button>
      <span class="grow" />
      <Button icon="retry" onClick={() => setBulk("retry")}>
        Retry
      </Button>
      <Button icon="stop" onClick={() => setBulk("cancel")}>
        Cancel
      </Button>
      <Button onClick={() => setBulk("reprioritize")}>Priority</Button>
      <Button icon="trash" kind="danger" onClick={() => setBulk("delete")}>
        Delete
      </Button>
      {bulk && (
        <Bulk
          action={bulk}
          q={props.q}
          ids={props.everything ? null : props.chosen.map((job) => job.id)}
          onClose={() => setBulk(null)}
          onDone={props.clear}
        />
      )}
    </div>
  );
}

// Shows the number of jobs before the action, and its progress during it.
export function Bulk(props: {
  action: Action;
  q: string;
  ids: string[] | null;
  onClose: () => void;
  onDone: () => void;
}) {
  const { action, ids } = props;
  const verb = verbs[action];
  const [priority, setPriority] = useState("0");
  const [rate, setRate] = useState("");
  const [preview, setPreview] = useState<BulkAnswer | null>(null);
  const [fault, setFault] = useState("");
  const [progress, setProgress] = useState<{ changed: number; failed: number } | null>(null);
  const stopped = useRef(false);
  // Jobs submitted from now on are excluded.
  const before = useRef(new Date(serverNow()).toISOString());
  const base = (): Record<string, unknown> => ({
    action,
    ...(action === "reprioritize" ? { priority: Number(priority) } : {}),
    ...(rate && !ids ? { rate_per_s: Number(rate) } : {}),
    ...(ids ? { ids } : { filter: { ...(props.q ? { q: props.q } : {}), created_before: before.current } }),
  });
  useEffect(() => {
    post<BulkAnswer>("v1/jobs/bulk", { ...base(), dry_run: true }).then(setPreview, (error: Error) =>
      setFault(error.message),
    );
    return () => void (stopped.current = true);
  }, []);
  const run = async (): Promise<void> => {
    setFault("");
    let changed = 0;
    let failed = 0;
    setProgress({ changed, failed });
    try {
      for (;;) {
        const answer = await post<BulkAnswer | Operation>("v1/jobs/bulk", base());
        if ("kind" in answer) {
          // There are many jobs, or a rate, so the server continues by itself.
          props.onClose();
          go(["operations", answer.id]);
          return;
        }
        changed += answer.changed;
        failed += answer.failed;
        setProgress({ changed, failed });
        if (!answer.more || answer.changed === 0 || stopped.current) break;
      }
      toast(
        `${plural(changed, "job")} ${verb.done}${failed > 0 ? `; ${count(failed)} could not be changed` : ""}`,
        failed > 0 && changed === 0 ? "bad" : "good",
      );
      props.onDone();
      props.onClose();
    } catch (error) {
      setFault((error as Error).message);
      setProgress(null);
    }
  };
  const many = preview ? `${count(preview.matched)}${preview.more ? " or more" : ""}` : "…";
  const total = preview?.matched ?? 0;
  return (
    <Dialog
      title={`${verb.title} ${many} jobs`}
      onClose={props.onClose}
      onSubmit={run}
      footer={
        <>
          <Button onClick={props.onClose}>{progress ? "Stop" : "Cancel"}</Button>
          <Button
            type="submit"
            kind={action === "delete" || action === "cancel" ? "danger primary" : "primary"}
            disabled={!preview || progress !== null || total === 0}
          >
            {verb.yes}
          </Button>
        </>
      }
    >
      {!ids && (
        <p>
          All jobs that match <code>{props.q || "no filter: every job"}</code>, and were submitted before now.
        </p>
      )}
      <p>
        {preview ? (
          <>
            <span class="strong">{many}</span> jobs match. Of these, {verb.states} are changed.
          </>
        ) : (
          "Counting…"
        )}
      </p>
      {!ids && (
        <TextField
          label="At most so many a second"
          type="number"
          value={rate}
          onInput={setRate}
          placeholder="as fast as it goes"
        />
      )}
      {action === "reprioritize" && (
        <TextField
          label="Priority"
          type="number"
          value={priority}
          onInput={setPriority}
          hint="-32768 to 32767; lower runs first."
        />
      )}
      {progress && (
        <div class="stack tight" role="status">
          <div class="progress-line">
            <span
              style={{ width: `${total ? Math.min(100, (100 * (progress.changed + progress.failed)) / total) : 0}%` }}
            />
          </div>
          <p class="num">
            {count(progress.changed)} of {many} done
            {progress.failed > 0 && `, ${count(progress.failed)} left as they are`}
          </p>
        </div>
      )}
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}
