// The graph of a workflow: its members in columns, each to the right of all that it needs. Members that stand alike
// are folded into one node, so that a wide graph stays readable.
import type { GraphLine, NeedOn } from "./types";

export interface GraphNode {
  key: number; // the least number of its members
  members: number[]; // places in the list of lines
  label: string;
  x: number; // left
  y: number; // middle
  height: number;
}
export interface GraphEdge {
  from: number; // places in the list of nodes
  to: number;
  on: NeedOn;
  path: string;
}
export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  width: number;
  height: number;
  columns: number[][]; // nodes by column, from above
}

export const kNodeWidth = 160;
const kHeight = 30;
const kFoldedHeight = 46;
const kBetween = 10;
const kGutter = 40;
const kMargin = 12;
// Fewer members are drawn one by one.
const kLeastToFold = 25;
const kLeastInFold = 4;
const kMostEdges = 4000;
const kMostBends = 4000;

export const nameOf = (line: { ref: string | null; number: number }): string => line.ref ?? `@${line.number}`;

interface Need {
  from: number;
  to: number;
  on: NeedOn;
}

export function needsOf(lines: GraphLine[]): Need[] {
  const places = new Map<string, number>();
  lines.forEach((line, place) => {
    places.set(`@${line.number}`, place);
    if (line.ref !== null) places.set(line.ref, place);
  });
  return lines.flatMap((line, to) =>
    line.needs.flatMap(({ ref, on }) => {
      const from = places.get(ref);
      return from === undefined ? [] : [{ from, to, on }]; // it was added while the pages were read
    }),
  );
}

// Returns the class of each member. Members of a class need as many of each other class, and are needed by as many.
// Names that differ only in their numbers make classes of their own.
function classesOf(lines: GraphLine[], needs: Need[]): string[] {
  const stems = lines.map((line) => nameOf(line).replace(/\d+/g, "#"));
  const many = new Map<string, number>();
  for (const stem of stems) many.set(stem, (many.get(stem) ?? 0) + 1);
  const stemsOfMany = [...many].flatMap(([stem, count]) => (count >= kLeastInFold ? [stem] : []));
  // How deep a member is on either side follows from these rules; to begin with it saves rounds.
  const before = depthsOf(lines.length, needs);
  const after = depthsOf(
    lines.length,
    needs.map(({ from, to }) => ({ from: to, to: from })),
  );
  let classes = stems.map((stem, place) => `${stemsOfMany.indexOf(stem)} ${before[place]} ${after[place]}`);
  for (let found = 0; ;) {
    const signs: Map<string, number>[] = classes.map(() => new Map());
    const note = (of: number, sign: string): void => void signs[of]!.set(sign, (signs[of]!.get(sign) ?? 0) + 1);
    for (const { from, to, on } of needs) {
      note(to, `<${classes[from]}${on}`);
      note(from, `>${classes[to]}${on}`);
    }
    const known = new Map<string, number>();
    classes = signs.map((sign, place) => {
      const text = `${classes[place]}${[...sign].map(([name, count]) => name + count).sort()}`;
      if (!known.has(text)) known.set(text, known.size);
      return String(known.get(text));
    });
    if (known.size === found) return classes;
    found = known.size;
  }
}

// "image-*" for image-1, image-2, …
function labelOf(names: string[]): string {
  const [first = "", ...rest] = names;
  let head = first.length;
  let tail = first.length;
  for (const name of rest) {
    while (!name.startsWith(first.slice(0, head))) --head;
    while (!name.endsWith(first.slice(first.length - tail))) --tail;
  }
  const before = first.slice(0, head).replace(/\d+$/, "");
  const after = first.slice(Math.max(head, first.length - tail)).replace(/^\d+/, "");
  return before || after ? `${before}*${after}` : `${first}, …`;
}

function nodesOf(lines: GraphLine[], needs: Need[], unfolded: (key: number) => boolean): GraphNode[] {
  const groups = new Map<string, number[]>();
  const classes = lines.length < kLeastToFold ? null : classesOf(lines, needs);
  const sizes = new Map<string, number[]>();
  classes?.forEach((of, place) => {
    if (!sizes.has(of)) sizes.set(of, []);
    sizes.get(of)!.push(place);
  });
  lines.forEach((line, place) => {
    const alike = classes ? sizes.get(classes[place]!)! : [];
    const folds = alike.length >= kLeastInFold && !unfolded(lines[alike[0]!]!.number);
    const name = folds ? `fold ${classes![place]}` : `one ${line.number}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name)!.push(place);
  });
  return [...groups.values()].map((members) => ({
    key: lines[members[0]!]!.number,
    members,
    label: members.length === 1 ? nameOf(lines[members[0]!]!) : labelOf(members.map((each) => nameOf(lines[each]!))),
    x: 0,
    y: 0,
    height: members.length === 1 ? kHeight : kFoldedHeight,
  }));
}

// The column of each node: the length of the longest way to it.
function depthsOf(many: number, edges: { from: number; to: number }[]): number[] {
  const depths = new Array<number>(many).fill(0);
  const missing = new Array<number>(many).fill(0);
  const after: number[][] = depths.map(() => []);
  for (const { from, to } of edges) {
    ++missing[to]!;
    after[from]!.push(to);
  }
  const ready = missing.flatMap((count, place) => (count === 0 ? [place] : []));
  for (let at = 0; at < ready.length; ++at) {
    for (const next of after[ready[at]!]!) {
      depths[next] = Math.max(depths[next]!, depths[ready[at]!]! + 1);
      if (--missing[next]! === 0) ready.push(next);
    }
  }
  return depths;
}

// Something that takes room in a column: a node, or the bend of an edge that passes it.
interface Place {
  column: number;
  height: number;
  y: number;
  before: Place[];
  after: Place[];
}

const mean = (places: Place[], of: (place: Place) => number): number =>
  places.reduce((sum, place) => sum + of(place), 0) / places.length;

// Moves the places of a column towards where they would like to be, in their order and without overlaps: those that
// would overlap form a block, which lies where its places would like to be in the middle.
function settle(column: Place[], wanted: (place: Place) => number): void {
  const blocks: { sum: number; count: number; first: number }[] = [];
  const offsets: number[] = [];
  let offset = 0;
  column.forEach((place, index) => {
    if (index > 0) offset += (column[index - 1]!.height + place.height) / 2 + kBetween;
    offsets.push(offset);
    let block = { sum: wanted(place) - offset, count: 1, first: index };
    for (let last = blocks.at(-1); last && last.sum / last.count >= block.sum / block.count; last = blocks.at(-1)) {
      blocks.pop();
      block = { sum: last.sum + block.sum, count: last.count + block.count, first: last.first };
    }
    blocks.push(block);
  });
  blocks.forEach((block, index) => {
    const end = blocks[index + 1]?.first ?? column.length;
    for (let at = block.first; at < end; ++at) column[at]!.y = block.sum / block.count + offsets[at]!;
  });
}

function arrange(columns: Place[][]): void {
  const sweep = (neighbours: (place: Place) => Place[], order: Place[][], sorts: boolean): void => {
    for (const column of order) {
      const wanted = new Map(
        column.map((place) => [
          place,
          neighbours(place).length > 0 ? mean(neighbours(place), (each) => each.y) : place.y,
        ]),
      );
      if (sorts) column.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
      settle(column, (place) => wanted.get(place)!);
    }
  };
  for (const column of columns) settle(column, () => 0);
  const backwards = [...columns].reverse();
  for (let round = 0; round < 8; ++round) {
    sweep((place) => place.before, columns, round < 6);
    sweep((place) => place.after, backwards, round < 6);
  }
  sweep((place) => [...place.before, ...place.after], columns, false);
}

const round = (value: number): number => Math.round(value * 10) / 10;
const xOf = (column: number): number => kMargin + column * (kNodeWidth + kGutter);

function pathOf(points: Place[]): string {
  let text = "";
  points.forEach((point, index) => {
    const x = xOf(point.column);
    const y = round(point.y);
    if (index === 0) {
      text = `M${x + kNodeWidth} ${y}`;
      return;
    }
    const from = points[index - 1]!;
    const middle = x - kGutter / 2;
    text += `C${middle} ${round(from.y)} ${middle} ${y} ${x} ${y}`;
    if (index < points.length - 1) text += `H${x + kNodeWidth}`;
  });
  return text;
}

// Returns null if there are too many needs to draw. `unfolded` says which folds, by their keys, are drawn one by one.
export function graphOf(lines: GraphLine[], unfolded: (key: number) => boolean): Graph | null {
  const needs = needsOf(lines);
  const nodes = nodesOf(lines, needs, unfolded);
  const nodeOf = new Map(nodes.flatMap((node, index) => node.members.map((member) => [member, index] as const)));
  const distinct = new Map<string, Need>();
  for (const { from, to, on } of needs) {
    const edge = { from: nodeOf.get(from)!, to: nodeOf.get(to)!, on };
    distinct.set(`${edge.from} ${edge.to} ${on}`, edge);
  }
  const edges = [...distinct.values()];
  if (edges.length > kMostEdges) return null;
  const depths = depthsOf(nodes.length, edges);
  const columns: Place[][] = Array.from({ length: Math.max(0, ...depths) + 1 }, () => []);
  const add = (column: number, height: number): Place => {
    const place: Place = { column, height, y: 0, before: [], after: [] };
    columns[column]!.push(place);
    return place;
  };
  const places = nodes.map((node, index) => add(depths[index]!, node.height));
  const bends = edges.reduce((sum, { from, to }) => sum + depths[to]! - depths[from]! - 1, 0) <= kMostBends;
  // The edges from a node run together until they part.
  const ways = new Map<string, Place>();
  const points = edges.map(({ from, to }) => {
    const way = [places[from]!];
    for (let column = depths[from]! + 1; bends && column < depths[to]!; ++column) {
      const name = `${from} ${column}`;
      if (!ways.has(name)) {
        const bend = add(column, 2);
        way.at(-1)!.after.push(bend);
        bend.before.push(way.at(-1)!);
        ways.set(name, bend);
      }
      way.push(ways.get(name)!);
    }
    way.at(-1)!.after.push(places[to]!);
    places[to]!.before.push(way.at(-1)!);
    return [...way, places[to]!];
  });
  arrange(columns);
  const top = Math.min(...columns.flat().map((place) => place.y - place.height / 2)) - kMargin;
  for (const place of columns.flat()) place.y = round(place.y - top);
  const byColumn: number[][] = columns.map(() => []);
  nodes.forEach((node, index) => {
    node.x = xOf(depths[index]!);
    node.y = places[index]!.y;
    byColumn[depths[index]!]!.push(index);
  });
  for (const column of byColumn) column.sort((a, b) => nodes[a]!.y - nodes[b]!.y);
  return {
    nodes,
    edges: edges.map((edge, index) => ({ ...edge, path: pathOf(points[index]!) })),
    width: xOf(columns.length) - kGutter + kMargin,
    height: Math.max(kHeight, ...columns.flat().map((place) => place.y + place.height / 2)) + kMargin,
    columns: byColumn,
  };
}

// All that a node needs and all that needs it, near and far, with the node itself.
export function pathThrough(edges: { from: number; to: number }[], node: number): Set<number> {
  const found = new Set([node]);
  for (const [here, there] of [
    ["from", "to"],
    ["to", "from"],
  ] as const) {
    const next = new Map<number, number[]>();
    for (const edge of edges) {
      if (!next.has(edge[here])) next.set(edge[here], []);
      next.get(edge[here])!.push(edge[there]);
    }
    const reached = [node];
    const seen = new Set(reached);
    for (let at = 0; at < reached.length; ++at) {
      for (const each of next.get(reached[at]!) ?? []) {
        if (seen.has(each)) continue;
        seen.add(each);
        found.add(each);
        reached.push(each);
      }
    }
  }
  return found;
}
