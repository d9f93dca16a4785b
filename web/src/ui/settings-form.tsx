// Fields that several forms share: durations, rates, numbers that may be left out.
import { durationInput, parseDuration } from "../lib/format";
import type { Rate } from "../lib/types";
import { TextField } from "./parts";

// A text of the form for a number or duration that may be none.
export const numberText = (value: number | null | undefined): string => (value === null || value === undefined ? "" : String(value));
export const durationText = (value: number | null | undefined): string => (value === null || value === undefined ? "" : durationInput(value));

export class FormFault extends Error {
  constructor(readonly at: string, message: string) {
    super(message);
  }
}

export function readNumber(text: string, at: string): number | null {
  if (text.trim() === "") return null;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new FormFault(at, "must be a number");
  return value;
}
export function readDuration(text: string, at: string): number | null {
  if (text.trim() === "") return null;
  const value = parseDuration(text);
  if (value === null) throw new FormFault(at, "must be a duration like 30s, 5m, 2h or 7d");
  return value;
}

export interface RateText {
  limit: string;
  per: string;
  burst: string;
}
export const rateText = (rate: Rate | null | undefined): RateText => ({ limit: numberText(rate?.limit), per: rate ? durationText(rate.per_ms) : "1s", burst: numberText(rate?.burst) });
export function readRate(text: RateText): Rate | null {
  const limit = readNumber(text.limit, "/rate/limit");
  if (limit === null) return null;
  const per = readDuration(text.per, "/rate/per_ms");
  if (per === null) throw new FormFault("/rate/per_ms", "is needed with a rate");
  const burst = readNumber(text.burst, "/rate/burst");
  return { limit, per_ms: per, ...(burst === null ? {} : { burst }) };
}

export function RateFields({ value, onChange, faults }: { value: RateText; onChange: (value: RateText) => void; faults: Map<string, string> }) {
  return (
    <div class="fields" style={{ gridTemplateColumns: "repeat(3, minmax(0, 1fr))" }}>
      <TextField label="Starts" type="number" value={value.limit} onInput={(limit) => onChange({ ...value, limit })} fault={faults.get("/rate/limit") ?? faults.get("/rate")} placeholder="no bound" />
      <TextField label="in each" value={value.per} onInput={(per) => onChange({ ...value, per })} fault={faults.get("/rate/per_ms")} />
      <TextField label="At once" type="number" value={value.burst} onInput={(burst) => onChange({ ...value, burst })} fault={faults.get("/rate/burst")} placeholder="as many" />
    </div>
  );
}
