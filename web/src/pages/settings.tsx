// The server's version, health and bounds; tokens; and this browser's theme.
import { useState } from "preact/hooks";
import { get, getAll, may, post, remove, segment, session } from "../lib/api";
import { bytes, count, duration, exactly } from "../lib/format";
import { type Theme, setTheme, theme } from "../lib/prefs";
import { useResource } from "../lib/resource";
import type { Configuration, Meta, Readiness, TokenInfo } from "../lib/types";
import { Dialog, Menu, ask } from "../ui/dialog";
import { Icon } from "../ui/icons";
import {
  Button,
  Code,
  Empty,
  Facts,
  Notice,
  Panel,
  Segments,
  Shown,
  TextField,
  Time,
  faultsOf,
  messageOf,
} from "../ui/parts";
import { readDuration } from "../ui/settings-form";
import { Bar } from "../ui/shell";
import { Table } from "../ui/table";

function bound(name: string, value: number): string {
  if (name.endsWith("_bytes")) return bytes(value);
  if (name.endsWith("_ms")) return value >= 31_536_000_000 ? duration(value) : exactly(value);
  return count(value);
}

// "max_lease_ms": "Longest lease"
function boundName(name: string): string {
  const words = name
    .replace(/_(ms|bytes)$/, "")
    .replaceAll("_", " ")
    .replace("json", "JSON")
    .replace(/^max lease|^max delay/, (text) => text.replace("max", "longest"))
    .replace(/^min lease/, "shortest lease")
    .replace(/^max/, "most");
  return words[0]!.toUpperCase() + words.slice(1);
}

export function Settings() {
  const meta = useResource("meta", (signal) => get<Meta>("v1/meta", {}, signal));
  const ready = useResource("ready", (signal) => get<Readiness>("readyz?verbose", {}, signal), { everyMs: 5000 });
  const who = session.value;
  return (
    <>
      <Bar title="Settings" />
      <div class="content" style={{ gap: "1rem" }}>
        <div class="two">
          <div class="stack" style={{ gap: "1rem" }}>
            <Panel title="Server" pad>
              <Shown of={meta}>
                {(data) => (
                  <Facts
                    items={[
                      ["Version", data.version],
                      ["Commit", data.commit ? <code key="c">{data.commit}</code> : "–"],
                      ["Store", data.store === "sqlite" ? "SQLite" : "PostgreSQL"],
                      ["Node", data.node],
                      ["Shards", count(data.shards)],
                      ["Started", <Time key="s" at={data.started_at} />],
                      ["Clock", <Time key="t" at={data.server_time} exact />],
                    ]}
                  />
                )}
              </Shown>
            </Panel>
            <Panel title="Checks">
              <Shown of={ready}>
                {(data) => (
                  <ul class="attention">
                    {(data.checks ?? []).map((check) => (
                      <li key={check.name}>
                        <Icon name={check.ok ? "check" : "warn"} class={check.ok ? "good" : "bad"} />
                        <span class="grow">
                          {check.name}
                          {check.detail && <span class="soft">: {check.detail}</span>}
                        </span>
                      </li>
                    ))}
                    {(data.checks ?? []).length === 0 && <li>{data.status}</li>}
                  </ul>
                )}
              </Shown>
            </Panel>
            <Panel title="You and this browser" pad>
              <div class="stack">
                <Facts
                  items={[
                    ["Token", who?.signed_in ? who.name : "none is needed on this server"],
                    ["May", who?.scopes.join(", ") || "nothing"],
                    ["Queues", who?.queues?.join(", ") ?? "all"],
                  ]}
                />
                <Segments<Theme>
                  label="Theme"
                  value={theme.value}
                  options={[
                    ["system", "System"],
                    ["light", "Light"],
                    ["dark", "Dark"],
                  ]}
                  onChange={setTheme}
                />
              </div>
            </Panel>
          </div>
          <Panel title="Bounds" pad>
            <Shown of={meta}>
              {(data) => (
                <Facts
                  items={Object.entries(data.limits).map(([name, value]) => [
                    boundName(name),
                    <span class="num" key={name}>
                      {bound(name, value)}
                    </span>,
                  ])}
                />
              )}
            </Shown>
          </Panel>
        </div>
        {may("admin") && <Tokens />}
        {may("admin") && <ConfigurationPanel />}
      </div>
    </>
  );
}

function ConfigurationPanel() {
  const configuration = useResource("configuration", (signal) => get<Configuration>("v1/admin/config", {}, signal), {
    everyMs: 30_000,
  });
  const [all, setAll] = useState(false);
  return (
    <Panel
      title="Configuration in force"
      actions={
        <Segments
          label="Which"
          value={all ? "all" : "set"}
          options={[
            ["set", "Set here"],
            ["all", "All"],
          ]}
          onChange={(next) => setAll(next === "all")}
        />
      }
    >
      <Shown of={configuration} height={12}>
        {(data) => (
          <Table
            label="Configuration"
            items={data.settings.filter((setting) => all || setting.source !== "default")}
            id={(setting) => setting.key}
            empty={<Empty icon="settings" title="Every setting has its default" />}
            columns={[
              { name: "key", head: "Setting", rowHead: true, cell: (setting) => <code>{setting.key}</code> },
              {
                name: "value",
                head: "Value",
                class: "wide",
                cell: (setting) => (
                  <span>
                    <span class="num">{setting.value === "" ? "–" : setting.value}</span>
                    {setting.waiting !== null && <span class="warn"> {setting.waiting} after a restart</span>}
                  </span>
                ),
              },
              {
                name: "source",
                head: "From",
                when: "lo",
                cell: (setting) => (
                  <span class={setting.source === "default" ? "faint" : "soft"}>{setting.source}</span>
                ),
              },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Tokens() {
  const tokens = useResource("tokens", (signal) => getAll<TokenInfo>("v1/tokens", {}, signal));
  const [making, setMaking] = useState(false);
  const [made, setMade] = useState<TokenInfo | null>(null);
  const revoke = (token: TokenInfo): void =>
    ask({
      title: `Revoke ${token.name}?`,
      text: "Who uses it is refused from now on, on all nodes, within a second.",
      yes: "Revoke",
      danger: true,
      run: async () => {
        await remove(`v1/tokens/${segment(token.id)}`);
        tokens.reload();
      },
    });
  const rotate = (token: TokenInfo): void =>
    ask({
      title: `Give ${token.name} a new secret?`,
      text: "The old one is good for one more hour.",
      yes: "Rotate",
      run: async () => {
        setMade(await post<TokenInfo>(`v1/tokens/${segment(token.id)}/rotate`, {}));
        tokens.reload();
      },
    });
  return (
    <Panel
      title="Tokens"
      actions={
        session.value?.required && (
          <Button size="tiny" icon="plus" onClick={() => setMaking(true)}>
            New token
          </Button>
        )
      }
    >
      <Shown of={tokens}>
        {(data) => (
          <Table
            label="Tokens"
            items={data}
            id={(token) => token.id}
            sorting={{ by: "name", down: false }}
            empty={
              <Empty icon="key" title="This server has no tokens">
                <p>
                  It serves this machine alone. A token in its configuration opens it to others: millrace token new.
                </p>
              </Empty>
            }
            columns={[
              {
                name: "name",
                head: "Token",
                rowHead: true,
                sort: (token) => token.name,
                cell: (token) => <span title={token.description ?? undefined}>{token.name}</span>,
              },
              {
                name: "scopes",
                head: "May",
                class: "wide",
                cell: (token) => (
                  <span class="soft">
                    {token.scopes.join(", ")}
                    {token.queues && ` on ${token.queues.join(", ")}`}
                  </span>
                ),
              },
              {
                name: "source",
                head: "From",
                when: "lo",
                cell: (token) => (token.source === "config" ? "configuration" : (token.created_by ?? "API")),
              },
              {
                name: "used",
                head: "Last used",
                right: true,
                when: "lo",
                cell: (token) => <Time at={token.last_used_at} />,
              },
              {
                name: "expires",
                head: "Expires",
                right: true,
                when: "mid",
                cell: (token) => <Time at={token.expires_at} />,
              },
              {
                name: "act",
                head: <span class="hidden-text">Actions</span>,
                right: true,
                cell: (token) =>
                  token.source === "api" && (
                    <Menu
                      label={`Actions for ${token.name}`}
                      items={[
                        { text: "Rotate", icon: "retry", run: () => rotate(token) },
                        { text: "Revoke", icon: "trash", danger: true, run: () => revoke(token) },
                      ]}
                    />
                  ),
              },
            ]}
          />
        )}
      </Shown>
      {making && (
        <NewToken
          onClose={() => setMaking(false)}
          onMade={(token) => (setMaking(false), setMade(token), tokens.reload())}
        />
      )}
      {made && (
        <Dialog
          title={`The token ${made.name}`}
          onClose={() => setMade(null)}
          footer={
            <Button kind="primary" onClick={() => setMade(null)}>
              I have it
            </Button>
          }
        >
          <Notice kind="warn">It is shown this once. Copy it now.</Notice>
          <Code text={made.token ?? ""} wrapped label="Copy the token" />
        </Dialog>
      )}
    </Panel>
  );
}

const scopeWords: [string, string][] = [
  ["submit", "submit jobs"],
  ["work", "claim and finish jobs"],
  ["read", "see queues, jobs and statistics"],
  ["operate", "pause, retry, change"],
  ["admin", "nodes, tokens, backups"],
  ["payload", "see payloads, results, errors and logs"],
];

function NewToken({ onClose, onMade }: { onClose: () => void; onMade: (token: TokenInfo) => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<string[]>(["read"]);
  const [queues, setQueues] = useState("");
  const [life, setLife] = useState("90d");
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const save = async (): Promise<void> => {
    try {
      const ms = readDuration(life, "/expires_in_ms");
      const globs = queues.split(/[\s,]+/).filter(Boolean);
      onMade(
        await post<TokenInfo>("v1/tokens", {
          name,
          scopes,
          ...(globs.length > 0 ? { queues: globs } : {}),
          ...(ms === null ? {} : { expires_in_ms: ms }),
        }),
      );
    } catch (error) {
      setFaults(faultsOf(error));
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title="New token"
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!name || scopes.length === 0}>
            Make it
          </Button>
        </>
      }
    >
      <TextField label="Name" value={name} onInput={setName} focus fault={faults.get("/name")} />
      <fieldset class="stack tight">
        <legend>It may</legend>
        {scopeWords.map(([scope, words]) => (
          <label class="check" key={scope}>
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={(event) =>
                setScopes(event.currentTarget.checked ? [...scopes, scope] : scopes.filter((each) => each !== scope))
              }
            />
            <span>
              {scope} <span class="faint">{words}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <TextField
        label="Queues"
        value={queues}
        onInput={setQueues}
        placeholder="all"
        hint="Names or patterns such as email.*, separated by spaces."
        fault={faults.get("/queues")}
      />
      <TextField
        label="Valid for"
        value={life}
        onInput={setLife}
        placeholder="ever"
        fault={faults.get("/expires_in_ms")}
      />
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}
