// Draws the graph of a workflow. Of a node that is pointed at or has the focus, it shows the path: all that it needs
// and all that needs it. One node is a stop of the Tab key; the arrows move along the needs and within a column.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../lib/format";
import { type Graph, type GraphNode, graphOf, kNodeWidth, nameOf, pathThrough } from "../lib/graph";
import type { GraphLine, MemberState, NeedOn } from "../lib/types";
import { kMemberStates } from "../lib/workflow";
import { countsText, parts } from "./members";
import { Button, Empty } from "./parts";
import { StateShape } from "./state";

const kZooms = [0.35, 0.5, 0.7, 1, 1.4];
const kLongest = 19;
const kOn: NeedOn[] = ["succeeded", "failed", "ended"];

const clip = (text: string): string => (text.length <= kLongest ? text : `${text.slice(0, 10)}…${text.slice(-8)}`);

// The accessible name has what is seen, and all of it.
const spoken = (text: string): string => (clip(text) === text ? text : `${clip(text)}, ${text}`);

interface Drawing {
  lines: GraphLine[];
  stateOf: (line: GraphLine) => MemberState;
  chosen: string | null; // a member's name
  hrefOf: (name: string) => string;
}

// The states of the members of a fold.
function within({ lines, stateOf }: Drawing, node: GraphNode): Record<MemberState, number> {
  const counts = { succeeded: 0, failed: 0, skipped: 0, active: 0, blocked: 0 };
  for (const place of node.members) ++counts[stateOf(lines[place]!)];
  return counts;
}

function Node({ node, of, attributes }: { node: GraphNode; of: Drawing; attributes: Record<string, unknown> }) {
  const line = of.lines[node.members[0]!]!;
  const state = of.stateOf(line);
  const needs = line.needs.map((need) => need.ref);
  const label = `${spoken(node.label)}, ${state}${needs.length > 0 ? `, needs ${needs.slice(0, 10).join(", ")}` : ""}`;
  return (
    <a
      {...(attributes as object)}
      href={of.hrefOf(nameOf(line))}
      aria-label={label}
      aria-current={of.chosen === nameOf(line) ? "true" : undefined}
    >
      <title>{`${node.label}: ${state}`}</title>
      <rect class="box" width={kNodeWidth} height={node.height} rx="5" />
      <g transform={`translate(9 ${node.height / 2 - 7})`} class={`c-${state}`}>
        <StateShape state={state} />
      </g>
      <svg x="30" width={kNodeWidth - 36} height={node.height}>
        <text y={node.height / 2} dy="0.34em">
          {clip(node.label)}
        </text>
      </svg>
    </a>
  );
}

function Fold({
  node,
  of,
  attributes,
  unfold,
}: {
  node: GraphNode;
  of: Drawing;
  attributes: Record<string, unknown>;
  unfold: () => void;
}) {
  const counts = within(of, node);
  const text = `${count(node.members.length)} members ${spoken(node.label)}: ${countsText(counts)}`;
  let x = 9;
  return (
    <g
      {...(attributes as object)}
      role="button"
      aria-label={`${text}. Show each`}
      aria-expanded={false}
      onClick={unfold}
      onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        unfold();
      }}
    >
      <title>{text}</title>
      <rect class="box under" x="4" y="4" width={kNodeWidth} height={node.height} rx="5" />
      <rect class="box" width={kNodeWidth} height={node.height} rx="5" />
      <text x="9" y="15" dy="0.34em">
        {clip(node.label)}
      </text>
      <text x={kNodeWidth - 9} y="15" dy="0.34em" class="many">
        ×{count(node.members.length)}
      </text>
      <rect class="track" x="9" y="29" width={kNodeWidth - 18} height="7" rx="2" />
      {parts(counts, node.members.length, kNodeWidth - 18).map(({ state, width }) => {
        x += width;
        return <rect key={state} class={`part c-${state}`} x={x - width} y="29" width={width} height="7" />;
      })}
    </g>
  );
}

// The node that an arrow key leads to.
function nodeBeside(graph: Graph, at: number, key: string): number | undefined {
  const column = graph.columns.find((each) => each.includes(at))!;
  const place = column.indexOf(at);
  if (key === "ArrowUp") return column[place - 1];
  if (key === "ArrowDown") return column[place + 1];
  const near = graph.edges
    .filter((edge) => (key === "ArrowRight" ? edge.from : edge.to) === at)
    .map((edge) => (key === "ArrowRight" ? edge.to : edge.from));
  const far = (node: number): number => Math.abs(graph.nodes[node]!.y - graph.nodes[at]!.y);
  return near.sort((a, b) => far(a) - far(b))[0];
}

export function GraphView(of: Drawing) {
  const [unfolded, setUnfolded] = useState<Set<number> | "all">(new Set());
  const [zoom, setZoom] = useState(1);
  const [lit, setLit] = useState<number | null>(null);
  const [stop, setStop] = useState(0); // the key of the node that Tab reaches
  const box = useRef<HTMLDivElement>(null);
  const graph = useMemo(
    () => graphOf(of.lines, (key) => unfolded === "all" || unfolded.has(key)),
    [of.lines, unfolded],
  );
  const place = of.chosen === null ? -1 : of.lines.findIndex((line) => nameOf(line) === of.chosen);
  const chosen = graph?.nodes.findIndex((node) => node.members.includes(place)) ?? -1;
  useEffect(() => {
    if (chosen >= 0)
      box.current?.querySelector(`[data-node="${chosen}"]`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [of.chosen]);
  const shown = lit !== null && graph && lit < graph.nodes.length ? lit : chosen >= 0 ? chosen : null;
  const path = useMemo(() => (graph && shown !== null ? pathThrough(graph.edges, shown) : null), [graph, shown]);
  if (!graph)
    return (
      <Empty icon="workflows" title="There are too many needs to draw">
        <p>The table shows its members.</p>
      </Empty>
    );
  const hasFolds = graph.nodes.some((node) => node.members.length > 1);
  const stopAt = Math.max(
    0,
    graph.nodes.findIndex((node) => node.key === stop),
  );
  const focus = (node: number): void => {
    setStop(graph.nodes[node]!.key);
    box.current?.querySelector<SVGElement>(`[data-node="${node}"]`)?.focus();
  };
  const keys = (event: KeyboardEvent): void => {
    const from = (event.target as Element).closest("[data-node]")?.getAttribute("data-node");
    if (!from || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    const next = nodeBeside(graph, Number(from), event.key);
    if (next !== undefined) focus(next);
  };
  // The ground can be dragged; a finger scrolls it anyway.
  const drag = (event: PointerEvent): void => {
    const view = box.current!;
    if (event.pointerType !== "mouse" || event.button !== 0 || (event.target as Element).closest("[data-node]")) return;
    const begun = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
    const move = (moved: PointerEvent): void => {
      view.scrollLeft = begun.x - moved.clientX;
      view.scrollTop = begun.y - moved.clientY;
    };
    const end = (): void => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  };
  const step = (by: number): void =>
    setZoom(kZooms[Math.max(0, Math.min(kZooms.length - 1, kZooms.findIndex((each) => each >= zoom) + by))]!);
  const fit = (): void => setZoom(Math.max(0.2, Math.min(1, (box.current!.clientWidth - 2) / graph.width)));
  const drawn = (edges: Graph["edges"], on: NeedOn, name: string) => {
    const text = edges.flatMap((edge) => (edge.on === on ? [edge.path] : [])).join("");
    return text && <path key={`${name} ${on}`} class={`edge ${name} on-${on}`} d={text} />;
  };
  const onPath = path ? graph.edges.filter((edge) => path.has(edge.from) && path.has(edge.to)) : [];
  return (
    <>
      <div
        class="graph"
        role="region"
        aria-label="Graph of the members"
        tabIndex={0}
        ref={box}
        onKeyDown={keys}
        onPointerDown={drag}
        onPointerLeave={() => setLit(null)}
      >
        <svg
          viewBox={`0 0 ${graph.width} ${graph.height}`}
          width={graph.width * zoom}
          height={graph.height * zoom}
          class={path ? "with-path" : ""}
        >
          <g aria-hidden="true">
            {kOn.map((on) => drawn(graph.edges, on, "all"))}
            {kOn.map((on) => drawn(onPath, on, "of-path"))}
          </g>
          {graph.nodes.map((node, index) => {
            const attributes = {
              class: `node ${path && !path.has(index) ? "dim" : ""} ${index === chosen ? "chosen" : ""}`,
              transform: `translate(${node.x} ${node.y - node.height / 2})`,
              "data-node": index,
              tabIndex: index === stopAt ? 0 : -1,
              onFocus: () => (setStop(node.key), setLit(index)),
              onBlur: () => setLit(null),
              onPointerEnter: () => setLit(index),
              onPointerLeave: () => setLit(null),
            };
            if (node.members.length === 1) return <Node key={node.key} node={node} of={of} attributes={attributes} />;
            const unfold = (): void => setUnfolded(new Set([...(unfolded === "all" ? [] : unfolded), node.key]));
            return <Fold key={`f${node.key}`} node={node} of={of} attributes={attributes} unfold={unfold} />;
          })}
        </svg>
      </div>
      <div class="graph-foot row wrap">
        <span class="legend small soft">
          {kMemberStates.map((state) => (
            <span key={state} class={`state ${state}`}>
              <StateShape state={state} />
              {state}
            </span>
          ))}
        </span>
        <span class="row" style={{ marginLeft: "auto" }}>
          {hasFolds && (
            <Button size="tiny" onClick={() => setUnfolded("all")}>
              Unfold all
            </Button>
          )}
          {(unfolded === "all" || unfolded.size > 0) && (
            <Button size="tiny" onClick={() => setUnfolded(new Set())}>
              Fold
            </Button>
          )}
          <Button size="tiny" icon="minus" label="Smaller" onClick={() => step(-1)} />
          <Button size="tiny" icon="plus" label="Larger" onClick={() => step(1)} />
          <Button size="tiny" onClick={fit}>
            Fit
          </Button>
        </span>
      </div>
    </>
  );
}
