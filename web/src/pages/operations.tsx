// Long operations on many jobs: the progress and the rate of each.
import { useState } from "preact/hooks";
import { get, may, patch, post, segment } from "../lib/api";
import { count, duration, plural } from "../lib/format";
import { now } from "../lib/live";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Operation, Page } from "../lib/types";
import { Dialog, ask } from "../ui/dialog";
import { Button, Empty, Facts, Notice, Panel, Segments, Shown, TextField, Time, messageOf } from "../ui/parts";
import { Bar } from "../ui/shell";
import { Table } from "../ui/table";
import { toast } from "../ui/toast";

const badges: Record<Operation["state"], string> = {
  running: "",
  paused: "warn",
  completed: "good",
  cancelled: "",
  failed: "bad",
};
const isOver = (operation: Operation): boolean => !["running", "paused"].includes(operation.state);
// Rebuilding the models begins by deleting the old ones, so it can't be stopped.
const takesOrders = (operation: Operation): boolean =>
  !isOver(operation) && operation.kind !== "reproject" && may("operate");

export function titleOf(operation: Operation): string {
  const what = { retry: "Retry", cancel: "Cancel", delete: "Delete", reprioritize: "Reprioritize" }[
    operation.action ?? "delete"
  ];
  switch (operation.kind) {
    case "purge":
      return `Purge ${operation.queue ?? ""}`;
    case "error_group":
      return `${what} the jobs of an error`;
    case "reproject":
      return "Rebuild the read models";
    default:
      return `${what} jobs`;
  }
}

function About({ of }: { of: Operation }) {
  if (of.error_group)
    return (
      <a href={href(["errors", of.error_group])}>
        <code>{of.error_group}</code>
      </a>
    );
  if (of.query !== null)
    return (
      <a href={href(["jobs"], { q: of.query })}>
        <code>{of.query || "every job"}</code>
      </a>
    );
  if (of.queue) return <a href={href(["queues", of.queue])}>{of.queue}</a>;
  return <span class="zero">–</span>;
}

export function Progress({ of, inRow = false }: { of: Operation; inRow?: boolean }) {
  const part = of.matched ? Math.min(1, of.done / of.matched) : isOver(of) ? 1 : 0;
  return (
    <div class={inRow ? "row progress-row" : "stack tight"}>
      <div
        class="progress-line"
        role="progressbar"
        aria-label={titleOf(of)}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.round(100 * part)}
      >
        <span style={{ width: `${100 * part}%` }} />
      </div>
      <span class="small num soft nowrap">
        {count(of.done)}
        {of.matched !== null && ` of ${count(of.matched)}`}
        {of.failed > 0 && `, ${count(of.failed)} left as they were`}
      </span>
    </div>
  );
}

const left = (of: Operation): string | null =>
  of.estimated_end_at && of.state === "running"
    ? duration(Math.max(0, new Date(of.estimated_end_at).getTime() - now.value))
    : null;

function useActions(of: Operation, reload: () => void) {
  const path = `v1/operations/${segment(of.id)}`;
  const turn = async (verb: "pause" | "resume"): Promise<void> => {
    await post(`${path}/${verb}`);
    toast(verb === "pause" ? "Paused" : "It goes on");
    reload();
  };
  const cancel = (): void =>
    ask({
      title: `Cancel “${titleOf(of)}”?`,
      text: "What is done stays done; the rest is left alone.",
      yes: "Cancel the operation",
      danger: true,
      run: async () => {
        await post(`${path}/cancel`);
        toast("Cancelled");
        reload();
      },
    });
  return { path, turn, cancel };
}

function Buttons({ of, reload, size }: { of: Operation; reload: () => void; size?: "tiny" }) {
  const { turn, cancel } = useActions(of, reload);
  if (!takesOrders(of)) return null;
  return (
    <span class="row" style={{ justifyContent: "flex-end" }}>
      {of.state === "paused" ? (
        <Button {...(size ? { size } : {})} icon="play" label="Go on" onClick={() => turn("resume")} />
      ) : (
        <Button {...(size ? { size } : {})} icon="pause" label="Pause" onClick={() => turn("pause")} />
      )}
      <Button {...(size ? { size } : {})} icon="close" kind="danger" label="Cancel" onClick={cancel} />
    </span>
  );
}

export function Operations() {
  const state = place.value.query.get("state") ?? "";
  const operations = useResource(
    `operations ${state}`,
    (signal) => get<Page<Operation>>("v1/operations", { state: state || undefined, limit: 100 }, signal),
    { everyMs: 2000, keep: true },
  );
  return (
    <>
      <Bar title="Operations">
        <Segments
          label="State"
          value={state}
          options={[
            ["", "All"],
            ["running", "Running"],
            ["paused", "Paused"],
          ]}
          onChange={(next) => setQuery({ state: next || undefined })}
        />
      </Bar>
      <div class="content">
        <Shown of={operations} height={14}>
          {(page) => (
            <Panel>
              <Table
                label="Operations"
                items={page.items}
                id={(each) => each.id}
                open={(each) => href(["operations", each.id])}
                empty={
                  <Empty icon="operations" title="No operations">
                    <p>
                      What touches many jobs, at a rate or beyond 100,000, comes here: it goes on after a crash, and can
                      be paused.
                    </p>
                    <code>millrace job retry --query "state:dead" --rate 50</code>
                  </Empty>
                }
                columns={[
                  {
                    name: "what",
                    head: "Operation",
                    rowHead: true,
                    cell: (each) => <a href={href(["operations", each.id])}>{titleOf(each)}</a>,
                  },
                  { name: "of", head: "Of", class: "wide", when: "lo", cell: (each) => <About of={each} /> },
                  {
                    name: "state",
                    head: "State",
                    cell: (each) => <span class={`badge ${badges[each.state]}`}>{each.state}</span>,
                  },
                  { name: "progress", head: "Progress", cell: (each) => <Progress of={each} inRow /> },
                  {
                    name: "rate",
                    head: "At most /s",
                    right: true,
                    when: "mid",
                    cell: (each) => (each.rate_per_s === null ? <span class="zero">–</span> : count(each.rate_per_s)),
                  },
                  {
                    name: "began",
                    head: "Began",
                    right: true,
                    when: "lo",
                    cell: (each) => <Time at={each.created_at} />,
                  },
                  {
                    name: "act",
                    head: <span class="hidden-text">Actions</span>,
                    right: true,
                    cell: (each) => <Buttons of={each} reload={operations.reload} size="tiny" />,
                  },
                ]}
              />
            </Panel>
          )}
        </Shown>
      </div>
    </>
  );
}

export function OperationPage({ id }: { id: string }) {
  const operation = useResource(
    `operation ${id}`,
    (signal) => get<Operation>(`v1/operations/${segment(id)}`, {}, signal),
    { everyMs: 1000 },
  );
  const [turning, setTurning] = useState(false);
  const it = operation.data;
  return (
    <>
      <Bar title={it ? titleOf(it) : "Operation"} under={{ text: "Operations", href: href(["operations"]) }}>
        {it && takesOrders(it) && <Button onClick={() => setTurning(true)}>Rate</Button>}
        {it && <Buttons of={it} reload={operation.reload} />}
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {operation.error?.status === 404 ? (
          <Empty icon="operations" title="There is no such operation">
            <p>Ended ones are kept for a week.</p>
          </Empty>
        ) : (
          <Shown of={operation} height={12}>
            {(data) => (
              <>
                {data.state === "failed" && (
                  <Notice kind="bad" title="It did not go to its end">
                    <p>{data.reason}</p>
                  </Notice>
                )}
                <Panel pad>
                  <div class="stack">
                    <p class="row wrap">
                      <span class={`badge ${badges[data.state]}`}>{data.state}</span>
                      <span class="soft">
                        {left(data) ? (
                          `about ${left(data)} to go`
                        ) : isOver(data) && data.ended_at ? (
                          <>
                            ended <Time at={data.ended_at} />
                          </>
                        ) : (
                          ""
                        )}
                      </span>
                    </p>
                    <Progress of={data} />
                  </div>
                </Panel>
                <Panel title="Details" pad>
                  <Facts
                    items={[
                      ["Of", <About key="o" of={data} />],
                      data.kind === "reproject"
                        ? [
                            "Counted",
                            <span class="num" key="c">
                              {plural(data.changed, "row")} of the log
                            </span>,
                          ]
                        : [
                            "Changed",
                            <span class="num" key="c">
                              {plural(data.changed, "job")}
                            </span>,
                          ],
                      [
                        "Rate",
                        data.rate_per_s === null ? "as fast as it goes" : `at most ${count(data.rate_per_s)} a second`,
                      ],
                      ["Began", <Time key="b" at={data.created_at} exact />],
                      ["By", data.created_by ?? "somebody without a token"],
                      ["Reason", data.state === "failed" ? null : data.reason],
                      ["Id", <code key="i">{data.id}</code>],
                    ]}
                  />
                </Panel>
              </>
            )}
          </Shown>
        )}
      </div>
      {turning && it && <Rate of={it} onClose={() => setTurning(false)} onDone={operation.reload} />}
    </>
  );
}

function Rate({ of, onClose, onDone }: { of: Operation; onClose: () => void; onDone: () => void }) {
  const [rate, setRate] = useState(of.rate_per_s === null ? "" : String(of.rate_per_s));
  const [fault, setFault] = useState("");
  const run = async (): Promise<void> => {
    try {
      await patch(`v1/operations/${segment(of.id)}`, { rate_per_s: rate === "" ? null : Number(rate) });
      toast("Saved");
      onDone();
      onClose();
    } catch (error) {
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title="How fast"
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
        label="At most so many a second"
        type="number"
        value={rate}
        onInput={setRate}
        placeholder="as fast as it goes"
        focus
        fault={fault || undefined}
      />
    </Dialog>
  );
}
