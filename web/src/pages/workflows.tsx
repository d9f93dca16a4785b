// Workflows, newest first, with how far their members have come. The filter is part of the address.
import { useState } from "preact/hooks";
import { count } from "../lib/format";
import { names, wantNames } from "../lib/names";
import { href, place, setQuery } from "../lib/router";
import { useRows } from "../lib/rows";
import type { Workflow, WorkflowState } from "../lib/types";
import { MemberBar, doneOf, titleOf } from "../ui/members";
import { Button, Empty, Panel, Tabs, TextField, Time, Trouble } from "../ui/parts";
import { Bar } from "../ui/shell";
import { StateMark, StateShape } from "../ui/state";
import { MoreRows, NewRows, Table } from "../ui/table";

const kStates: WorkflowState[] = ["running", "stopping", "succeeded", "failed", "cancelled"];

export function Workflows() {
  const { query } = place.value;
  const filter = Object.fromEntries(["state", "queue", "name", "tag"].map((name) => [name, query.get(name) ?? ""]));
  const { state = "", queue = "", name = "", tag = "" } = filter;
  const key = `${queue}\n${name}\n${tag}`;
  const [typed, setTyped] = useState({ key, queue, name, tag });
  // A link has changed the filter.
  if (typed.key !== key) setTyped({ key, queue, name, tag });
  const list = useRows<Workflow>("v1/workflows", filter);
  const faults = list.of.error?.faults() ?? new Map<string, string>();
  const isRefused = list.of.error?.status === 422;
  const isFiltered = Object.values(filter).some((value) => value !== "");
  const field = (label: string, of: "queue" | "name" | "tag", more: object = {}) => (
    <TextField
      label={label}
      value={typed[of]}
      onInput={(value) => setTyped({ ...typed, [of]: value.trim() })}
      fault={faults.get(of)}
      {...more}
    />
  );
  const apply = (event: Event): void => {
    event.preventDefault();
    setQuery({ queue: typed.queue, name: typed.name, tag: typed.tag });
  };
  return (
    <>
      <Bar title="Workflows" />
      <div class="content" style={{ gap: "0.75rem" }}>
        <form class="fields filters" onSubmit={apply} onFocusIn={() => void wantNames()}>
          {field("Name", "name")}
          {field("Queue", "queue", { list: names.value.queues })}
          {field("Tag", "tag")}
          <Button type="submit" icon="search">
            Find
          </Button>
        </form>
        <Tabs
          label="State"
          value={state}
          onChange={(value) => setQuery({ state: value })}
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
            })),
          ]}
        />
        {list.of.error && !(isRefused && faults.size > 0) && <Trouble of={list.of} />}
        <Panel>
          <NewRows of={list} one="workflow" />
          {list.isEmpty ? (
            <Empty icon="workflows" title={isFiltered ? "No workflow matches" : "There are no workflows"}>
              <p>
                {isFiltered
                  ? "Ended ones are kept for as long as their queue's retention says."
                  : "A workflow is a list of jobs that need each other. Create one, and it shows here."}
              </p>
              {isFiltered ? (
                <p>
                  <Button onClick={() => setQuery({ state: "", queue: "", name: "", tag: "" })}>
                    Clear the filter
                  </Button>
                </p>
              ) : (
                <code>millrace workflow create FILE</code>
              )}
            </Empty>
          ) : list.of.data || list.rows.length > 0 ? (
            <div style={{ opacity: list.isOld ? 0.6 : 1 }}>
              <List rows={list.rows} gone={list.gone} />
            </div>
          ) : (
            !list.of.error && <div class="skeleton" style={{ height: "20rem" }} role="status" aria-label="Loading" />
          )}
          <MoreRows of={list} one="workflow" />
        </Panel>
      </div>
    </>
  );
}

function List({ rows, gone }: { rows: Workflow[]; gone: Set<string> }) {
  return (
    <Table
      label="Workflows, newest first"
      items={rows}
      id={(each) => each.id}
      open={(each) => href(["workflows", each.id])}
      rowClass={(each) => (gone.has(each.id) ? "gone" : "")}
      first={1_000_000}
      columns={[
        {
          name: "name",
          head: "Workflow",
          rowHead: true,
          class: "wide named",
          cell: (each) => (
            <>
              <a href={href(["workflows", each.id])}>{titleOf(each)}</a>
              <span class="narrow-only">
                <MemberBar of={each} />
              </span>
            </>
          ),
        },
        {
          name: "state",
          head: "State",
          cell: (each) => (
            <>
              <StateMark state={each.state} />
              {each.open && <span class="badge lo">open</span>}
            </>
          ),
        },
        {
          name: "queue",
          head: "Queue",
          when: "lo",
          cell: (each) => (
            <a class="soft" href={href(["queues", each.queue])}>
              {each.queue}
            </a>
          ),
        },
        { name: "bar", head: "Members", when: "lo", cell: (each) => <MemberBar of={each} /> },
        {
          name: "done",
          head: "Done",
          right: true,
          cell: (each) => (
            <>
              {count(doneOf(each.counts))}
              <span class="faint"> of {count(each.members)}</span>
            </>
          ),
        },
        { name: "created", head: "Created", right: true, when: "lo", cell: (each) => <Time at={each.created_at} /> },
        { name: "ended", head: "Ended", right: true, when: "mid", cell: (each) => <Time at={each.ended_at} /> },
      ]}
    />
  );
}
