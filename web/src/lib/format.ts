// Formats numbers, sizes, durations and times for people.

const grouped = new Intl.NumberFormat();
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });

export const count = (n: number): string => grouped.format(n);
// Formats in at most five characters.
export const compact = (n: number): string => (Math.abs(n) < 10_000 ? grouped.format(n) : short.format(n));

export function rate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.1) return "<0.1";
  if (perSecond < 10) return perSecond.toFixed(1);
  return compact(Math.round(perSecond));
}

// "1.2 s", "4 min", "3 h 5 min", "12 d"
export function duration(ms: number): string {
  if (ms < 0) ms = 0;
  if (ms < 1) return ms === 0 ? "0 ms" : "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const minutes = Math.floor(s / 60);
  if (minutes < 60) {
    const rest = Math.floor(s % 60);
    return minutes < 10 && rest > 0 ? `${minutes} min ${rest} s` : `${minutes} min`;
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 48) {
    const rest = minutes % 60;
    return hours < 10 && rest > 0 ? `${hours} h ${rest} min` : `${hours} h`;
  }
  const days = Math.floor(hours / 24);
  if (days < 730) return `${days} d`;
  return `${Math.round(days / 365)} y`;
}

// Parses the text of a form's field: "30s", "5m", "2h", "7d", "250ms".
export function parseDuration(text: string): number | null {
  const trimmed = text.trim().toLowerCase();
  if (trimmed === "0") return 0;
  const parts = [...trimmed.matchAll(/([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|m|h|d|w|y)\s*/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join("") !== trimmed) return null;
  const units: Record<string, number> = {
    ms: 1,
    s: 1000,
    m: 60_000,
    min: 60_000,
    h: 3_600_000,
    d: 86_400_000,
    w: 604_800_000,
    y: 31_536_000_000,
  };
  return Math.round(parts.reduce((sum, [, number, unit]) => sum + Number(number) * units[unit!]!, 0));
}

// Formats a setting, which unlike a measurement is shown exactly: "30 s", "1 h 30 min".
export const exactly = (ms: number): string =>
  durationInput(ms)
    .replace(/(\d+)([a-z]+)/g, (_, n: string, unit: string) => `${n} ${unit === "m" ? "min" : unit} `)
    .trim();

// Returns the shortest text that parseDuration() reads as the same duration.
export function durationInput(ms: number): string {
  if (ms === 0) return "0";
  const units: [string, number][] = [
    ["d", 86_400_000],
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1000],
    ["ms", 1],
  ];
  const parts: string[] = [];
  for (const [unit, size] of units) {
    const whole = Math.floor(ms / size);
    if (whole > 0) parts.push(`${whole}${unit}`);
    ms -= whole * size;
  }
  return parts.join("");
}

// Times always use 24 hours, as in logs; the order of day and month follows the reader's locale.
const hms = { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" } as const;
const weekDay = { weekday: "short", month: "short", day: "numeric" } as const;
const dateTime = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", ...hms });
const yearDateTime = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", ...hms });
const clock = new Intl.DateTimeFormat(undefined, hms);
const dayClock = new Intl.DateTimeFormat(undefined, { ...weekDay, ...hms });

// Leaves out the current year.
export function absolute(at: string | number): string {
  const date = new Date(at);
  return (date.getFullYear() === new Date().getFullYear() ? dateTime : yearDateTime).format(date);
}
export const timeOfDay = (at: string | number): string => clock.format(new Date(at));
export const dayAndTime = (at: string | number): string => dayClock.format(new Date(at));

export function inZone(at: string, timeZone: string): string {
  try {
    return new Intl.DateTimeFormat(undefined, { ...weekDay, ...hms, timeZone }).format(new Date(at));
  } catch {
    return at; // the browser does not know the time zone
  }
}

export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

// "3 s ago", "in 5 min"
export function relative(at: string | number, now: number): string {
  const ms = now - new Date(at).getTime();
  if (Math.abs(ms) < 1000) return "now";
  return ms > 0 ? `${coarse(ms)} ago` : `in ${coarse(-ms)}`;
}

// Formats seconds below a minute, and a single larger unit above.
function coarse(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 172_800) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

export const plural = (n: number, one: string, many = `${one}s`): string => `${count(n)} ${n === 1 ? one : many}`;
export const shortId = (id: string): string => `${id.slice(0, 8)}…${id.slice(-4)}`;

export function bytes(n: number): string {
  if (n < 1024) return `${n} B`;
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(n < 10_240 ? 1 : 0)} KiB`;
  return `${(n / 1024 / 1024).toFixed(1)} MiB`;
}
