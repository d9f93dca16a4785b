// Icons of one stroke, 16 by 16. Each is accompanied by a text or a label.
const paths: Record<string, string> = {
  overview: "M2.5 13.5v-5M6.2 13.5v-9M9.8 13.5v-6M13.5 13.5v-11",
  queues: "M2.5 4h11M2.5 8h11M2.5 12h7",
  jobs: "M3 3h10v10H3zM6 8l1.5 1.5L10.5 6.5",
  workflows: "M1.500 6.500h3v3h-3zM11.500 2h3v3h-3zM11.500 11h3v3h-3zM4.500 8h3.500M11.500 3.500H8v9h3.500",
  failures: "M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.1",
  workers: "M4 6.5a4 4 0 0 1 8 0M3 13.5c0-3 2-4.5 5-4.5s5 1.5 5 4.5M8 9V6.5",
  schedules: "M8 2.2a5.8 5.8 0 1 0 0 11.6A5.8 5.8 0 0 0 8 2.2zM8 5v3.2l2.2 1.6",
  limits: "M2.8 11.5a5.6 5.6 0 1 1 10.4 0M8 9l2.6-3M7 11.5h2",
  operations: "M2.5 5h7M2.5 8h11M2.5 11h4M12 3.5v3M9 9.5v3",
  audit: "M4 2.500h8v11H4zM6.200 5.500h3.600M6.200 8h3.600M6.200 10.500h2",
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
  link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5L7.500 13A3.200 3.200 0 0 1 3 8.500L4.500 7",
  light:
    "M8 5.2a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M3.400 12.600l1-1M11.600 4.400l1-1",
  dark: "M12.800 9.800A5.400 5.400 0 0 1 6.200 3.200a5.400 5.400 0 1 0 6.600 6.600z",
  system: "M2.500 3h11v7.500h-11zM6 13.500h4M8 10.500v3",
  door: "M9.500 3h3.500v10H9.500M2.500 8h6.500M6.500 5.500L9 8l-2.500 2.500",
  up: "M8 12.500v-9M4.500 7L8 3.500 11.500 7",
  down: "M8 3.500v9M4.500 9L8 12.500 11.500 9",
  right: "M6 3.500L10.500 8 6 12.500",
  filter: "M2.500 3.500h11L9.500 8.500v4l-3-1.500v-2.500z",
  star: "M8 2.500l1.700 3.500 3.800.500-2.800 2.700.700 3.800L8 11.200l-3.400 1.800.700-3.800L2.500 6.500l3.800-.500z",
  key: "M9.500 3.500a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM7.300 8.700L3 13v0h2.500v-1.500H7V10",
};

export type IconName = keyof typeof paths & string;

export function Icon({ name, class: more = "" }: { name: string; class?: string }) {
  return (
    <svg class={`icon ${more}`} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name] ?? ""} />
    </svg>
  );
}
