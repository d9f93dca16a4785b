// The members of a workflow, as a graph or as a table by state; and the chosen one.
import { useEffect, useState } from "preact/hooks";
import { get } from "../lib/api";
import { count } from "../lib/format";
import { nameOf } from "../lib/graph";
import { href, place, setQuery } from "../lib/router";
import type { GraphLine, Member, MemberState, Page, Workflow } from "../lib/types";
import { kMemberStates, signOf, useFollowing, useLines, workflowPath } from "../lib/workflow";
import { GraphView } from "../ui/graph";
import { JobOf, MemberPanel } from "../ui/member";
import { Button, Empty, Panel, Segments, Shown, Tabs, Trouble } from "../ui/parts";
import { StateMark, StateShape } from "../ui/state";
import { Table } from "../ui/table";

const kMostDrawn = 500;
const kPage = 50;
const kNeedsShown = 3;

export function Members({ of, reload }: { of: Workflow; reload: () => void }) {
  const { path, query } = place.value;
  const chosen = query.get("member");
  const canDraw = of.members > 0 && of.members <= kMostDrawn;
  const view = canDraw && query.get("view") !== "table" ? "graph" : "table";
  const lines = useLines(of);
  const states = useFollowing(canDraw ? `states ${of.id}` : null, signOf(of), async (signal) => {
    const page = await get<Page<Member>>(`${workflowPath(of.id)}/members`, { limit: 1000 }, signal);
    return new Map(page.items.map((member) => [member.number, member.state]));
  });
  // The rest of the address stays.
  const hrefOf = (member: string): string => href(path, { ...Object.fromEntries(query), member });
  const close = (): void => setQuery({ member: undefined });
  return (
    <div class={chosen === null ? "" : "main-and-side"}>
      <Panel
        title="Members"
        actions={
          canDraw ? (
            <Segments
              label="How the members are shown"
              value={view}
              options={[
                ["graph", "Graph"],
                ["table", "Table"],
              ]}
              onChange={(value) => setQuery({ view: value === "table" ? "table" : undefined })}
            />
          ) : (
            of.members > kMostDrawn && <span class="small faint">a graph is drawn of up to {count(kMostDrawn)}</span>
          )
        }
      >
        {of.members === 0 ? (
          <Empty icon="workflows" title="It has no members">
            <p>{of.open ? "It is open: they can be added until it is closed." : ""}</p>
          </Empty>
        ) : view === "graph" ? (
          <Shown of={lines} height={20}>
            {(data) => (
              <>
                <Trouble of={states} />
                <GraphView
                  lines={data}
                  stateOf={(line) => states.data?.get(line.number) ?? line.state}
                  chosen={chosen}
                  hrefOf={hrefOf}
                />
              </>
            )}
          </Shown>
        ) : (
          <List of={of} lines={lines.data} hrefOf={hrefOf} />
        )}
      </Panel>
      {chosen !== null && (
        <MemberPanel key={chosen} of={of} name={chosen} lines={lines.data} reload={reload} close={close} />
      )}
    </div>
  );
}

function List(props: { of: Workflow; lines: GraphLine[] | undefined; hrefOf: (member: string) => string }) {
  const { of, lines, hrefOf } = props;
  const state = place.value.query.get("state") ?? "";
  const [cursors, setCursors] = useState<string[]>([]);
  useEffect(() => setCursors([]), [state]);
  const cursor = cursors.at(-1);
  const page = useFollowing(`members ${of.id} ${state} ${cursor ?? ""}`, signOf(of), (signal) =>
    get<Page<Member>>(`${workflowPath(of.id)}/members`, { state, include: "job", limit: kPage, cursor }, signal),
  );
  // The lines are those of the first members, in the order of their numbers.
  const needsOf = (member: Member): string => {
    const refs = lines?.[member.number]?.needs.map((need) => need.ref) ?? [];
    return `${refs.slice(0, kNeedsShown).join(", ")}${refs.length > kNeedsShown ? ` and ${count(refs.length - kNeedsShown)} more` : ""}`;
  };
  return (
    <>
      <div style={{ padding: "0.25rem 0.75rem 0" }}>
        <Tabs
          label="State of the members"
          value={state}
          onChange={(value) => setQuery({ state: value })}
          options={[
            { value: "", text: "All", count: count(of.members) },
            ...kMemberStates.map((each: MemberState) => ({
              value: each as string,
              text: (
                <>
                  <StateShape state={each} />
                  {each[0]!.toUpperCase() + each.slice(1)}
                </>
              ),
              count: count(of.counts[each]),
            })),
          ]}
        />
      </div>
      <Shown of={page} height={14}>
        {(data) => (
          <>
            <Table
              label="Members"
              items={data.items}
              id={(each) => String(each.number)}
              open={(each) => hrefOf(nameOf(each))}
              empty={<Empty icon="workflows" title={state ? `None is ${state}` : "It has no members"} />}
              columns={[
                { name: "number", head: "No", right: true, when: "lo", cell: (each) => count(each.number) },
                {
                  name: "ref",
                  head: "Member",
                  rowHead: true,
                  class: "named",
                  cell: (each) => <a href={hrefOf(nameOf(each))}>{nameOf(each)}</a>,
                },
                {
                  name: "state",
                  head: "State",
                  cell: (each) => (
                    <>
                      <StateMark state={each.state} />
                      {each.reason && <span class="faint small"> {each.reason.replace("_", " ")}</span>}
                    </>
                  ),
                },
                {
                  name: "needs",
                  head: "Needs",
                  class: "wide soft",
                  when: "lo",
                  cell: (each) => needsOf(each) || <span class="zero">–</span>,
                },
                { name: "type", head: "Type", when: "mid", cell: (each) => each.job?.type ?? "" },
                { name: "job", head: "Job", cell: (each) => <JobOf member={each} /> },
              ]}
            />
            {(cursors.length > 0 || data.next_cursor) && (
              <div class="row apart" style={{ padding: "0.5rem 1rem" }}>
                <Button size="tiny" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
                  Back
                </Button>
                <Button
                  size="tiny"
                  disabled={!data.next_cursor}
                  onClick={() => setCursors([...cursors, data.next_cursor!])}
                >
                  Next
                </Button>
              </div>
            )}
          </>
        )}
      </Shown>
    </>
  );
}
