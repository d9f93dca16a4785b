// The audit log: each change by a person or a token, newest first.
import { useState } from "preact/hooks";
import { address, get } from "../lib/api";
import { plural, shortId } from "../lib/format";
import { href, place, setQuery } from "../lib/router";
import { useResource } from "../lib/resource";
import type { AuditEntry, Page } from "../lib/types";
import { Button, Choice, Empty, Panel, Shown, TextField, Time } from "../ui/parts";
import { Bar } from "../ui/shell";

const kPage = 50;
const kUuid = /^[0-9a-f-]{36}$/;
const rooms: Record<string, string> = {
  queue: "queues",
  limit: "limits",
  schedule: "schedules",
  job: "jobs",
  push_target: "push",
  operation: "operations",
  error_group: "errors",
};
const spans: [string, string][] = [
  ["", "all time"],
  ["3600", "the last hour"],
  ["86400", "the last 24 h"],
  ["604800", "the last 7 d"],
  ["2592000", "the last 30 d"],
];

function Subject({ of }: { of: AuditEntry["object"] }) {
  const room = rooms[of.kind];
  return (
    <span>
      <span class="faint">{of.kind.replaceAll("_", " ")}</span>{" "}
      {room && of.name ? (
        <a href={href([room, of.name])} title={of.name}>
          {kUuid.test(of.name) ? shortId(of.name) : of.name}
        </a>
      ) : (
        of.name
      )}
    </span>
  );
}

const shown = (value: unknown): string =>
  value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value);

function Changes({ of }: { of: AuditEntry }) {
  const names = [...new Set([...Object.keys(of.before ?? {}), ...Object.keys(of.after ?? {})])];
  if (names.length === 0) return null;
  const list = (
    <ul class="stack tight small">
      {names.map((name) => (
        <li key={name} style={{ overflowWrap: "anywhere" }}>
          <code>{name}</code>: <span class="soft">{shown(of.before?.[name])}</span> →{" "}
          <span>{shown(of.after?.[name])}</span>
        </li>
      ))}
    </ul>
  );
  // A created or deleted object has all its members, which are shown on request.
  if (names.length <= 4) return list;
  return (
    <details class="small">
      <summary>{plural(names.length, "value")}</summary>
      {list}
    </details>
  );
}

export function Audit() {
  const { query } = place.value;
  const actor = query.get("actor") ?? "";
  const action = query.get("action") ?? "";
  const object = query.get("object") ?? "";
  const span = query.get("span") ?? "";
  const [typed, setTyped] = useState({ actor, action, object });
  const [cursors, setCursors] = useState<string[]>([]);
  const filter = {
    actor: actor || undefined,
    action: action || undefined,
    object: object || undefined,
    since: span ? new Date(Math.floor((Date.now() - 1000 * Number(span)) / 60_000) * 60_000).toISOString() : undefined,
  };
  const page = useResource(
    `audit ${actor} ${action} ${object} ${span} ${cursors.at(-1) ?? ""}`,
    (signal) => get<Page<AuditEntry>>("v1/admin/audit", { ...filter, limit: kPage, cursor: cursors.at(-1) }, signal),
    { everyMs: 5000, keep: true },
  );
  const apply = (event: Event): void => {
    event.preventDefault();
    setCursors([]);
    setQuery({ actor: typed.actor || undefined, action: typed.action || undefined, object: typed.object || undefined });
  };
  return (
    <>
      <Bar title="Audit">
        <a class="btn" href={address("v1/admin/audit", filter)} download="audit.json">
          This page as JSON
        </a>
      </Bar>
      <div class="content" style={{ gap: "0.75rem" }}>
        <form class="fields filters" onSubmit={apply}>
          <TextField
            label="Who"
            value={typed.actor}
            onInput={(value) => setTyped({ ...typed, actor: value })}
            placeholder="a token's name"
          />
          <TextField
            label="Action"
            value={typed.action}
            onInput={(value) => setTyped({ ...typed, action: value })}
            placeholder="queue.paused"
          />
          <TextField
            label="Object"
            value={typed.object}
            onInput={(value) => setTyped({ ...typed, object: value })}
            placeholder="its name"
          />
          <Choice
            label="Within"
            value={span}
            options={spans}
            onChange={(value) => (setCursors([]), setQuery({ span: value || undefined }))}
          />
          <Button type="submit" icon="search">
            Find
          </Button>
        </form>
        <Shown of={page} height={16}>
          {(data) => (
            <Panel>
              {data.items.length === 0 ? (
                <Empty icon="events" title="Nothing is recorded">
                  <p>Each change of a queue, limit, schedule, token or job by a person comes here, with who made it.</p>
                </Empty>
              ) : (
                <ul class="attention">
                  {data.items.map((entry) => (
                    <li key={entry.id}>
                      <div class="grow stack tight">
                        <p>
                          <span class="strong">{entry.summary}</span>
                          {entry.reason && <span class="soft"> “{entry.reason}”</span>}
                        </p>
                        <p class="small faint">
                          <code class="soft">{entry.action}</code> · <Subject of={entry.object} /> ·{" "}
                          {entry.actor.name ?? "no token"}, {entry.actor.via}
                          {entry.actor.address && ` from ${entry.actor.address}`}
                          {entry.request_id && ` · ${entry.request_id}`}
                        </p>
                        <Changes of={entry} />
                      </div>
                      <span class="small soft nowrap">
                        <Time at={entry.at} />
                      </span>
                    </li>
                  ))}
                </ul>
              )}
              {(cursors.length > 0 || data.next_cursor) && (
                <div class="row apart" style={{ padding: "0.5rem 1rem" }}>
                  <Button size="tiny" disabled={cursors.length === 0} onClick={() => setCursors(cursors.slice(0, -1))}>
                    Newer
                  </Button>
                  <Button
                    size="tiny"
                    disabled={!data.next_cursor}
                    onClick={() => setCursors([...cursors, data.next_cursor!])}
                  >
                    Older
                  </Button>
                </div>
              )}
            </Panel>
          )}
        </Shown>
      </div>
    </>
  );
}
