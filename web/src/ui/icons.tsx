// Icons of one stroke, 16 by 16. Each is accompanied by a text or a label.
const paths: Record<string, string> = {
  overview: "M2.5 13.5v-5M6.2 13.5v-9M9.8 13.5v-6M13.5 13.5v-11",
  queues: "M2.5 4h11M2.5 8h11M2.5 12h7",
  jobs: "M3 3h10v10H3zM6 8l1.5 1.5L10.5 6.5",
  workflows: "M1.5 6.5h3v3h-3zM11.5 2h3v3h-3zM11.5 11h3v3h-3zM4.5 8h3.5M11.5 3.5H8v9h3.5",
  failures: "M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.1",
  workers: "M4 6.5a4 4 0 0 1 8 0M3 13.5c0-3 2-4.5 5-4.5s5 1.5 5 4.5M8 9V6.5",
  schedules: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 5v3.2l2.2 1.6",
  limits: "M2.8 11.5a5.6 5.6 0 1 1 10.4 0M8 9l2.6-3M7 11.5h2",
  operations: "M2.5 5h7M2.5 8h11M2.5 11h4M12 3.5v3M9 9.5v3",
  audit: "M4 2.5h8v11H4zM6.2 5.5h3.6M6.2 8h3.6M6.2 10.5h2",
  push: "M3 8h9M8.5 4.5L12 8l-3.5 3.5M3 3.5v9",
  events: "M1.8 8h2.6l1.8-5 3.2 10 1.8-5h3",
  nodes: "M3 3h4v4H3zM9 9h4v4H9zM7 5h4v4M5 7v4h4",
  settings: "M2.5 4.5h6M11.5 4.5h2M10 3v3M2.5 11.5h2M7.5 11.5h6M6 10v3",
  search: "M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4zM10.2 10.2l3.3 3.3",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "M4 4l8 8M12 4l-8 8",
  more: "M3.5 8h.1M8 8h.1M12.5 8h.1",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2l8 4.8-8 4.8z",
  retry: "M13 8a5 5 0 1 1-1.6-3.7M13 2.5v2.6h-2.6",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 9h6l.5-9",
  stop: "M4 4h8v8H4z",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "M3 8.5l3.2 3.2L13 4.8",
  warn: "M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.1",
  info: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 7.3v3.4M8 5.2v.1",
  edit: "M3 13l.6-3L11 2.6 13.4 5 6 12.4zM9.8 3.8l2.4 2.4",
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5L7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7",
  light:
    "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M3.4 12.6l1-1M11.6 4.4l1-1",
  dark: "M12.8 9.8A5.4 5.4 0 0 1 6.2 3.2a5.4 5.4 0 1 0 6.6 6.6z",
  system: "M2.5 3h11v7.5h-11zM6 13.5h4M8 10.5v3",
  door: "M9.5 3h3.5v10H9.5M2.5 8h6.5M6.5 5.5L9 8l-2.5 2.5",
  up: "M8 12.5v-9M4.5 7L8 3.5 11.5 7",
  down: "M8 3.5v9M4.5 9L8 12.5 11.5 9",
  right: "M6 3.5L10.5 8 6 12.5",
  filter: "M2.5 3.5h11L9.5 8.5v4l-3-1.5v-2.5z",
  star: "M8 2.5l1.7 3.5 3.8.5-2.8 2.7.7 3.8L8 11.2l-3.4 1.8.7-3.8L2.5 6.5l3.8-.5z",
  key: "M9.5 3.5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.3 8.7L3 13v0h2.5v-1.5H7V10",
};

export type IconName = keyof typeof paths & string;

export function Icon({ name, class: more = "" }: { name: string; class?: string }) {
  return (
    <svg class={`icon ${more}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name] ?? ""} />
    </svg>
  );
}
