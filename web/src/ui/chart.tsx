// Line charts over time, drawn by uPlot, and small ones without axes, drawn as SVG.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { absolute, compact, exactly, timeOfDay } from "../lib/format";
import { theme } from "../lib/prefs";

export interface Line {
  name: string;
  color: string; // a custom property, "--ready"
  values: (number | null)[];
  fill?: boolean;
  dash?: "dashed" | "dotted";
}
export interface Mark {
  at: number; // in ms
  text: string;
}

const patterns = { dashed: [6, 4], dotted: [2, 3] };

// Returns the computed colours of custom properties. An element that uses them resolves light-dark().
function colorsOf(names: string[]): Record<string, string> {
  const probe = document.createElement("i");
  document.body.append(probe);
  const found: Record<string, string> = {};
  for (const name of names) {
    probe.style.color = `var(${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return found;
}

const systemDark = matchMedia("(prefers-color-scheme: dark)");
function useDark(): boolean {
  const [dark, setDark] = useState(systemDark.matches);
  useEffect(() => {
    const changed = (): void => setDark(systemDark.matches);
    systemDark.addEventListener("change", changed);
    return () => systemDark.removeEventListener("change", changed);
  }, []);
  return theme.value === "system" ? dark : theme.value === "dark";
}

function translucent(color: string, alpha: number): string {
  return `color-mix(in srgb, ${color} ${alpha * 100}%, transparent)`;
}

// The steps of the grid lines in a chart of durations: round numbers of a unit.
const kTimeSteps = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1000,
  2000,
  5000,
  10_000,
  20_000,
  30_000,
  ...[1, 2, 5, 10, 20, 30, 60, 120, 240, 360, 720].map((minutes) => minutes * 60_000),
  ...[1, 2, 5, 10, 30, 100].map((days) => days * 86_400_000),
];

export function Chart(props: {
  label: string;
  fromMs: number;
  stepMs: number;
  lines: Line[];
  format: (value: number) => string;
  marks?: Mark[];
  height?: number;
  times?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const dark = useDark();
  const marks = useRef<Mark[]>([]);
  marks.current = props.marks ?? [];
  const format = useRef(props.format); // along the axis
  format.current = props.times
    ? (ms) => (ms === 0 ? "0" : exactly(ms))
    : (n) => (n < 10 ? String(Number(n.toPrecision(2))) : compact(n));
  const length = props.lines[0]?.values.length ?? 0;
  const times = Array.from({ length }, (_, i) => (props.fromMs + i * props.stepMs) / 1000);
  const data = [times, ...props.lines.map((line) => line.values)] as unknown as uPlot.AlignedData;
  const shape = props.lines.map((line) => `${line.name}${line.color}${line.fill}${line.dash}`).join();

  useEffect(() => {
    const host = box.current!;
    const colors = colorsOf([
      "--text-3",
      "--line",
      "--surface",
      "--accent",
      "--text-2",
      ...props.lines.map((line) => line.color),
    ]);
    const font = `11px ${getComputedStyle(document.body).fontFamily}`;
    const made = new uPlot(
      {
        width: Math.max(120, host.clientWidth),
        height: host.clientHeight,
        legend: { show: false },
        padding: [8, 18, 0, 0],
        cursor: { y: false, sync: { key: "millrace" }, points: { size: 6 }, drag: { x: false, y: false } },
        scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.08 : 1] } },
        axes: [
          {
            stroke: colors["--text-3"]!,
            grid: { show: false },
            ticks: { stroke: colors["--line"]!, size: 4 },
            font,
            size: 26,
            values: (_u, splits) => splits.map((s) => timeOfDay(s * 1000).replace(/:00$/, "")),
            space: 72,
          },
          {
            stroke: colors["--text-3"]!,
            grid: { stroke: colors["--line"]!, width: 1 },
            ticks: { show: false },
            font,
            size: (_u, texts) => 16 + 6.5 * Math.max(3, ...(texts ?? []).map((text) => text.length)),
            values: (_u, splits) => splits.map((s) => format.current(s)),
            space: 32,
            ...(props.times ? { incrs: kTimeSteps } : {}),
          },
        ],
        series: [
          {},
          ...props.lines.map((line) => ({
            label: line.name,
            stroke: colors[line.color]!,
            width: 1.5,
            spanGaps: false,
            points: { show: false },
            ...(line.dash ? { dash: patterns[line.dash] } : {}),
            ...(line.fill ? { fill: translucent(colors[line.color]!, 0.12) } : {}),
          })),
        ],
        hooks: {
          setCursor: [(u) => setAt(u.cursor.idx ?? null)],
          draw: [
            (u) => {
              const { ctx } = u;
              for (const mark of marks.current) {
                const x = u.valToPos(mark.at / 1000, "x", true);
                if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
                ctx.save();
                ctx.strokeStyle = colors["--text-2"]!;
                ctx.fillStyle = colors["--text-2"]!;
                ctx.lineWidth = devicePixelRatio;
                ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
                ctx.beginPath();
                ctx.moveTo(x, u.bbox.top);
                ctx.lineTo(x, u.bbox.top + u.bbox.height);
                ctx.stroke();
                ctx.font = `${11 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`;
                const right = x > u.bbox.left + u.bbox.width * 0.7;
                ctx.textAlign = right ? "right" : "left";
                ctx.textBaseline = "top";
                // The text has its own background, because lines may cross it.
                const text = mark.text.slice(0, 24);
                const at = x + (right ? -4 : 4) * devicePixelRatio;
                const wide = ctx.measureText(text).width;
                ctx.fillStyle = colors["--surface"]!;
                ctx.fillRect(right ? at - wide - 2 : at - 2, u.bbox.top, wide + 4, 15 * devicePixelRatio);
                ctx.fillStyle = colors["--text-2"]!;
                ctx.fillText(text, at, u.bbox.top + 2 * devicePixelRatio);
                ctx.restore();
              }
            },
          ],
        },
      },
      data,
      host,
    );
    plot.current = made;
    const watch = new ResizeObserver(() =>
      made.setSize({ width: Math.max(120, host.clientWidth), height: host.clientHeight }),
    );
    watch.observe(host);
    return () => {
      watch.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [dark, shape]);

  useEffect(() => {
    plot.current?.setData(data);
  });

  const index = at !== null && at < length ? at : null;
  const summary = props.lines
    .map((line) => {
      const known = line.values.filter((value): value is number => value !== null);
      return known.length === 0
        ? `${line.name}: nothing`
        : `${line.name}: last ${props.format(known.at(-1)!)}, highest ${props.format(Math.max(...known))}`;
    })
    .join("; ");
  return (
    <figure class="chart">
      <div class="legend" aria-hidden="true">
        {props.lines.map((line) => {
          const value = index === null ? lastOf(line.values) : line.values[index];
          return (
            <span class="key" key={line.name}>
              <span class={`swatch ${line.dash ?? ""}`} style={{ color: `var(${line.color})` }} />
              {line.name}
              <output>{value === null || value === undefined ? "–" : props.format(value)}</output>
            </span>
          );
        })}
        <span class="when wide-only">{index === null ? "" : absolute(times[index]! * 1000)}</span>
      </div>
      <div
        class="plot"
        ref={box}
        role="img"
        aria-label={`${props.label}. ${summary}.`}
        style={props.height ? { height: `${props.height}px` } : undefined}
      />
    </figure>
  );
}

// Uses whole steps only: the last one has just begun.
function lastOf(values: (number | null)[]): number | null {
  return values.length > 1 ? (values.at(-2) ?? null) : (values.at(-1) ?? null);
}

export function Spark({
  values,
  label,
  color = "--accent",
}: {
  values: (number | null)[];
  label: string;
  color?: string;
}) {
  const top = Math.max(1e-9, ...values.map((value) => value ?? 0));
  const step = values.length > 1 ? 100 / (values.length - 1) : 100;
  const points = values.map((value, i) => `${(i * step).toFixed(2)},${(21 - 19 * ((value ?? 0) / top)).toFixed(2)}`);
  const line = points.length > 0 ? `M${points.join("L")}` : "";
  return (
    <svg
      class="spark"
      viewBox="0 0 100 22"
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      style={{ color: `var(${color})` }}
    >
      {points.length > 1 && <path class="area" d={`${line}L100,22L0,22Z`} />}
      <path class="line" d={line} />
    </svg>
  );
}
