// Small parts that all pages use.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "../lib/api";
import { absolute, relative } from "../lib/format";
import { now } from "../lib/live";
import type { Resource } from "../lib/resource";
import { Icon } from "./icons";
import { toast } from "./toast";

export function Button(props: {
  onClick?: (event: MouseEvent) => unknown;
  kind?: "primary" | "danger" | "quiet" | "danger primary";
  size?: "tiny";
  icon?: string;
  label?: string; // for a button with only an icon
  type?: "button" | "submit";
  disabled?: boolean;
  pressed?: boolean;
  title?: string;
  children?: ComponentChildren;
  class?: string;
}) {
  const { kind = "", size = "", icon, label, type = "button", disabled, pressed, title, children } = props;
  const [busy, setBusy] = useState(false);
  const mounted = useRef(true);
  useEffect(() => () => void (mounted.current = false), []);
  const click = async (event: MouseEvent): Promise<void> => {
    if (busy) return;
    const result = props.onClick?.(event);
    if (!(result instanceof Promise)) return;
    setBusy(true);
    try {
      await result;
    } catch (error) {
      toast(error instanceof Error ? error.message : String(error), "bad");
    } finally {
      if (mounted.current) setBusy(false);
    }
  };
  return (
    <button
      type={type}
      class={`btn ${kind} ${size} ${children === undefined ? "square" : ""} ${props.class ?? ""}`}
      disabled={disabled ?? false}
      aria-busy={busy}
      aria-label={label}
      aria-pressed={pressed}
      title={title ?? (children === undefined ? label : undefined)}
      onClick={props.onClick ? click : undefined}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

// A time relative to now; the exact time is its title.
export function Time({ at, exact = false }: { at: string | null; exact?: boolean }) {
  if (at === null) return <span class="faint">–</span>;
  return (
    <time dateTime={at} title={`${absolute(at)}\n${at}`} class="nowrap">
      {exact ? absolute(at) : relative(at, now.value)}
    </time>
  );
}

export function Panel(props: {
  title?: ComponentChildren;
  actions?: ComponentChildren;
  children?: ComponentChildren;
  pad?: boolean;
  class?: string;
  label?: string;
}) {
  return (
    <section class={`panel ${props.class ?? ""}`} aria-label={props.label}>
      {(props.title || props.actions) && (
        <header>
          {props.title && <h2>{props.title}</h2>}
          {props.actions}
        </header>
      )}
      {props.pad ? <div class="pad">{props.children}</div> : props.children}
    </section>
  );
}

export function Empty(props: { icon?: string; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      {props.icon && <Icon name={props.icon} />}
      <p class="strong">{props.title}</p>
      {props.children && <div class="stack tight">{props.children}</div>}
    </div>
  );
}

export function Notice(props: {
  kind?: "warn" | "bad" | "good" | "";
  title?: string;
  children?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  const { kind = "" } = props;
  return (
    <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : undefined}>
      <Icon name={kind === "good" ? "check" : kind === "" ? "info" : "warn"} />
      <div class="grow stack tight">
        {props.title && <p class="strong">{props.title}</p>}
        {props.children && <div>{props.children}</div>}
      </div>
      {props.actions}
    </div>
  );
}

// The error of a resource: in place of missing data, or as a line above older data.
export function Trouble({ of }: { of: Resource<unknown> }) {
  if (!of.error) return null;
  const { status } = of.error;
  if (status === 401) return null; // the sign-in page will appear
  if (status === 0 && of.data !== undefined) return null; // the bar at the top shows it
  return (
    <Notice
      kind={of.data === undefined ? "bad" : "warn"}
      title={status === 404 ? "Not found" : status === 403 ? "This token may not see it" : "This could not be read"}
      actions={
        <Button size="tiny" icon="retry" onClick={of.reload}>
          Try again
        </Button>
      }
    >
      <p>{of.error.message}</p>
      {of.error.problem?.request_id && <p class="small faint">Request {of.error.problem.request_id}</p>}
    </Notice>
  );
}

// Shows its children once the data is there; until then an empty space of about their size.
export function Shown<T>({
  of,
  children,
  height = 8,
}: {
  of: Resource<T>;
  children: (data: T) => ComponentChildren;
  height?: number;
}) {
  if (of.data !== undefined) {
    return (
      <>
        <Trouble of={of} />
        {children(of.data)}
      </>
    );
  }
  if (of.error) return <Trouble of={of} />;
  return (
    <div class="skeleton" style={{ height: `${height}rem` }} aria-busy="true" aria-label="Loading" role="status" />
  );
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page loaded over plain HTTP from another host has no clipboard.
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    area.style.opacity = "0";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function Copy({
  text,
  label = "Copy",
  children,
}: {
  text: string | (() => string);
  label?: string;
  children?: ComponentChildren;
}) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button
      type="button"
      class={`btn quiet tiny ${children ? "" : "square"}`}
      aria-label={children ? undefined : label}
      title={label}
      onClick={async (event) => {
        event.stopPropagation();
        await copyText(typeof text === "string" ? text : text());
        setDone(true);
      }}
    >
      <Icon name={done ? "check" : "copy"} />
      {children}
      <span class="hidden-text" role="status">
        {done ? "Copied" : ""}
      </span>
    </button>
  );
}

export function Code({ text, wrapped = false, label = "Copy" }: { text: string; wrapped?: boolean; label?: string }) {
  return (
    <div class="code-box">
      <code class={`code ${wrapped ? "wrapped" : ""}`} tabIndex={0}>
        {text}
      </code>
      <div class="copy">
        <Copy text={text} label={label} />
      </div>
    </div>
  );
}

export function Field(props: {
  label: string;
  hint?: ComponentChildren;
  fault?: string | undefined;
  children: (attributes: Record<string, unknown>) => ComponentChildren;
  class?: string;
}) {
  const id = useId();
  const described = [props.hint ? `${id}-h` : "", props.fault ? `${id}-f` : ""].filter(Boolean).join(" ");
  const attributes: Record<string, unknown> = { id };
  if (described) attributes["aria-describedby"] = described;
  if (props.fault) attributes["aria-invalid"] = "true";
  return (
    <div class={`field ${props.class ?? ""}`}>
      <label for={id}>{props.label}</label>
      {props.children(attributes)}
      {props.fault && (
        <p class="fault" id={`${id}-f`}>
          {props.fault}
        </p>
      )}
      {props.hint && (
        <p class="hint" id={`${id}-h`}>
          {props.hint}
        </p>
      )}
    </div>
  );
}

export function TextField(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  hint?: ComponentChildren;
  fault?: string | undefined;
  placeholder?: string;
  list?: string[];
  lines?: number;
  type?: string;
  mono?: boolean;
  required?: boolean;
  focus?: boolean;
}) {
  const listId = useId();
  return (
    <Field label={props.label} hint={props.hint} fault={props.fault}>
      {(attributes) => {
        const common = {
          ...attributes,
          value: props.value,
          placeholder: props.placeholder,
          required: props.required,
          spellcheck: false,
          autocomplete: "off" as const,
          autofocus: props.focus,
          class: props.mono ? "mono" : undefined,
          onInput: (event: Event) => props.onInput((event.currentTarget as HTMLInputElement).value),
        };
        if (props.lines) return <textarea {...(common as object)} rows={props.lines} />;
        return (
          <>
            <input {...({ ...common, type: props.type ?? "text", list: props.list ? listId : undefined } as object)} />
            {props.list && (
              <datalist id={listId}>
                {props.list.slice(0, 500).map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
            )}
          </>
        );
      }}
    </Field>
  );
}

export function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
  hint?: ComponentChildren;
}) {
  return (
    <Field label={props.label} hint={props.hint}>
      {(attributes) => (
        <select
          {...(attributes as object)}
          value={props.value}
          onChange={(event) => props.onChange(event.currentTarget.value as T)}
        >
          {props.options.map(([value, text]) => (
            <option key={value} value={value} selected={value === props.value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

// A choice of one of a few values. With `narrow`, it is a list on phones.
export function Segments<T extends string>(props: {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
  narrow?: boolean;
}) {
  return (
    <>
      <div class={`btns ${props.narrow ? "wide-only" : ""}`} role="group" aria-label={props.label}>
        {props.options.map(([value, text]) => (
          <Button key={value} size="tiny" pressed={value === props.value} onClick={() => props.onChange(value)}>
            {text}
          </Button>
        ))}
      </div>
      {props.narrow && (
        <select
          class="narrow-only"
          aria-label={props.label}
          value={props.value}
          onChange={(event) => props.onChange(event.currentTarget.value as T)}
        >
          {props.options.map(([value, text]) => (
            <option key={value} value={value} selected={value === props.value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </>
  );
}

// A search for part of a name in a list, in the head of its panel.
export function Find({
  label,
  placeholder = label,
  value,
  onInput,
}: {
  label: string;
  placeholder?: string;
  value: string;
  onInput: (value: string) => void;
}) {
  return (
    <div class="filter find">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={placeholder}
        data-search
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}

// "1 min 5 s" with its units smaller than its numbers.
export function Big({ text }: { text: string }) {
  return (
    <>
      {text.split(/( ?[a-z%]+ ?)/i).map((part, index) =>
        index % 2 === 1 ? (
          <span class="unit" key={index}>
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}

export function Tabs(props: {
  label: string;
  value: string;
  options: { value: string; text: ComponentChildren; count?: string }[];
  onChange: (value: string) => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  // If there is no room for all, the chosen one is scrolled into view.
  useEffect(() => {
    const tab = box.current?.querySelector<HTMLElement>('[aria-selected="true"]');
    if (tab)
      box.current!.scrollLeft =
        tab.offsetLeft - box.current!.offsetLeft - (box.current!.clientWidth - tab.offsetWidth) / 2;
  }, [props.value]);
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = props.options.findIndex((each) => each.value === props.value);
    const next = props.options[(at + step + props.options.length) % props.options.length]!;
    props.onChange(next.value);
    queueMicrotask(() => box.current?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} ref={box} onKeyDown={move}>
      {props.options.map((each) => (
        <button
          key={each.value}
          type="button"
          role="tab"
          aria-selected={each.value === props.value}
          tabIndex={each.value === props.value ? 0 : -1}
          onClick={() => props.onChange(each.value)}
        >
          {each.text}
          {each.count !== undefined && <span class="count num">{each.count}</span>}
        </button>
      ))}
    </div>
  );
}

export function Meter({ value, of, label }: { value: number; of: number; label: string }) {
  const part = of > 0 ? Math.min(1, value / of) : 0;
  return (
    <span
      class={`meter ${part >= 1 ? "full" : ""}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={of}
      aria-valuenow={Math.min(value, of)}
    >
      <span class="track">
        <span class="fill" style={{ width: `${part * 100}%` }} />
      </span>
    </span>
  );
}

export function Facts({ items }: { items: [ComponentChildren, ComponentChildren][] }) {
  return (
    <dl class="facts">
      {items
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value], index) => (
          <>
            <dt key={`t${index}`}>{name}</dt>
            <dd key={`d${index}`}>{value}</dd>
          </>
        ))}
    </dl>
  );
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
export const faultsOf = (error: unknown): Map<string, string> =>
  error instanceof ApiError ? error.faults() : new Map();
