// Fields that several forms share: durations, rates, optional numbers.
import { durationInput, exactly, parseDuration } from "../lib/format";
import type { Breaker, Rate } from "../lib/types";
import { TextField } from "./parts";

// Returns a form's text for an optional number or duration.
export const numberText = (value: number | null | undefined): string =>
  value === null || value === undefined ? "" : String(value);
export const durationText = (value: number | null | undefined): string =>
  value === null || value === undefined ? "" : durationInput(value);

export class FormFault extends Error {
  constructor(
    readonly at: string,
    message: string,
  ) {
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
export const rateText = (rate: Rate | null | undefined): RateText => ({
  limit: numberText(rate?.limit),
  per: rate ? durationText(rate.per_ms) : "1s",
  burst: numberText(rate?.burst),
});
export function readRate(text: RateText, at = "/rate"): Rate | null {
  const limit = readNumber(text.limit, `${at}/limit`);
  if (limit === null) return null;
  const per = readDuration(text.per, `${at}/per_ms`);
  if (per === null) throw new FormFault(`${at}/per_ms`, "is needed with a rate");
  const burst = readNumber(text.burst, `${at}/burst`);
  return { limit, per_ms: per, ...(burst === null ? {} : { burst }) };
}

export function RateFields({
  value,
  onChange,
  faults,
}: {
  value: RateText;
  onChange: (value: RateText) => void;
  faults: Map<string, string>;
}) {
  return (
    <div class="fields" style={{ gridTemplateColumns: "repeat(3, minmax(0, 1fr))" }}>
      <TextField
        label="Rate: starts"
        type="number"
        value={value.limit}
        onInput={(limit) => onChange({ ...value, limit })}
        fault={faults.get("/rate/limit") ?? faults.get("/rate")}
        placeholder="none"
      />
      <TextField
        label="Per"
        value={value.per}
        onInput={(per) => onChange({ ...value, per })}
        fault={faults.get("/rate/per_ms")}
      />
      <TextField
        label="Burst"
        type="number"
        value={value.burst}
        onInput={(burst) => onChange({ ...value, burst })}
        fault={faults.get("/rate/burst")}
        placeholder="as rate"
      />
    </div>
  );
}

export const breakerWords = (breaker: Breaker | null): string =>
  breaker
    ? `opens at ${Math.round(100 * breaker.failure_rate)} % failed of ${breaker.min_attempts} or more in ${exactly(breaker.window_ms)}, for ${exactly(breaker.open_ms)}`
    : "none";

export interface BreakerText {
  percent: string; // empty: no breaker
  least: string;
  window: string;
  open: string;
  probes: string;
}
export const breakerText = (breaker: Breaker | null | undefined): BreakerText => ({
  percent: breaker ? String(Math.round(10_000 * breaker.failure_rate) / 100) : "",
  least: numberText(breaker?.min_attempts ?? 20),
  window: durationText(breaker?.window_ms ?? 60_000),
  open: durationText(breaker?.open_ms ?? 30_000),
  probes: numberText(breaker?.probes ?? 1),
});
export function readBreaker(text: BreakerText): Breaker | null {
  const percent = readNumber(text.percent, "/breaker/failure_rate");
  if (percent === null) return null;
  const need = <T,>(value: T | null, at: string): T => {
    if (value === null) throw new FormFault(at, "is needed with a breaker");
    return value;
  };
  return {
    failure_rate: percent / 100,
    min_attempts: need(readNumber(text.least, "/breaker/min_attempts"), "/breaker/min_attempts"),
    window_ms: need(readDuration(text.window, "/breaker/window_ms"), "/breaker/window_ms"),
    open_ms: need(readDuration(text.open, "/breaker/open_ms"), "/breaker/open_ms"),
    probes: need(readNumber(text.probes, "/breaker/probes"), "/breaker/probes"),
  };
}
export function BreakerFields({
  value,
  onChange,
  faults,
}: {
  value: BreakerText;
  onChange: (value: BreakerText) => void;
  faults: Map<string, string>;
}) {
  const at = (name: string): string | undefined => faults.get(`/breaker/${name}`);
  return (
    <>
      <TextField
        label="Breaker opens at (% failed)"
        type="number"
        value={value.percent}
        onInput={(percent) => onChange({ ...value, percent })}
        fault={at("failure_rate") ?? faults.get("/breaker")}
        placeholder="never"
        hint="While it is open nothing starts; then a few probes show whether jobs succeed again."
      />
      {value.percent !== "" && (
        <div class="fields" style={{ gridTemplateColumns: "repeat(2, minmax(0, 1fr))" }}>
          <TextField
            label="of at least, attempts"
            type="number"
            value={value.least}
            onInput={(least) => onChange({ ...value, least })}
            fault={at("min_attempts")}
          />
          <TextField
            label="within"
            value={value.window}
            onInput={(window) => onChange({ ...value, window })}
            fault={at("window_ms")}
          />
          <TextField
            label="Stays open for"
            value={value.open}
            onInput={(open) => onChange({ ...value, open })}
            fault={at("open_ms")}
          />
          <TextField
            label="Probes"
            type="number"
            value={value.probes}
            onInput={(probes) => onChange({ ...value, probes })}
            fault={at("probes")}
          />
        </div>
      )}
    </>
  );
}
