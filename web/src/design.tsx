// A page with all tokens and parts in their states. web/build --dev serves it at /design; releases do
// not contain it.
import { render } from "preact";
import { kStates } from "./lib/types";
import { Chart, Spark } from "./ui/chart";
import { Dialog, Menu } from "./ui/dialog";
import { Json } from "./ui/json";
import { Button, Choice, Code, Empty, Facts, Meter, Notice, Panel, Segments, Tabs, TextField } from "./ui/parts";
import { StateMark } from "./ui/state";
import { Count, Table } from "./ui/table";
import { useState } from "preact/hooks";

const colors = [
  "ground",
  "surface",
  "raised",
  "sunken",
  "hover",
  "selected",
  "line",
  "line-strong",
  "text",
  "text-2",
  "text-3",
  "accent",
  "accent-strong",
  "good",
  "warn",
  "bad",
  "good-ground",
  "warn-ground",
  "bad-ground",
  "note-ground",
];
const sizes = ["xs", "s", "m", "l", "xl", "2xl"];
const spaces = ["s1", "s2", "s3", "s4", "s5", "s6", "s7"];

function Design() {
  const [text, setText] = useState("");
  const [tab, setTab] = useState("one");
  const [open, setOpen] = useState(false);
  const wave = Array.from({ length: 60 }, (_, i) => Math.round(40 + 30 * Math.sin(i / 5)));
  return (
    <main class="content" style={{ padding: "1.5rem", maxWidth: "80rem", margin: "0 auto" }}>
      <h1>Design</h1>
      <Panel title="Colours" pad>
        <div class="swatches">
          {colors.map((name) => (
            <div key={name}>
              <i style={{ background: `var(--${name})` }} />
              <code>{name}</code>
            </div>
          ))}
        </div>
      </Panel>
      <Panel title="States: a colour and a shape" pad>
        <div class="row wrap" style={{ gap: "1.25rem" }}>
          {kStates.map((state) => (
            <StateMark key={state} state={state} />
          ))}
        </div>
      </Panel>
      <Panel title="Type and space" pad>
        <div class="stack">
          {sizes.map((size) => (
            <p key={size} style={{ fontSize: `var(--t-${size})` }}>
              {size}: 1,204 jobs are ready, the oldest for 27 s
            </p>
          ))}
          <div class="row">
            {spaces.map((space) => (
              <span
                key={space}
                class="badge"
                style={{ width: `var(--${space})`, height: `var(--${space})`, background: "var(--accent)" }}
                title={space}
              />
            ))}
          </div>
        </div>
      </Panel>
      <Panel title="Buttons" pad>
        <div class="row wrap">
          <Button>Plain</Button>
          <Button kind="primary">Primary</Button>
          <Button kind="danger" icon="trash">
            Danger
          </Button>
          <Button kind="danger primary">Delete 40 jobs</Button>
          <Button kind="quiet">Quiet</Button>
          <Button icon="search" label="Alone" />
          <Button disabled>Disabled</Button>
          <Button size="tiny">Tiny</Button>
          <Menu
            label="Menu"
            items={[
              { text: "Edit", icon: "edit" },
              { text: "Delete", icon: "trash", danger: true },
            ]}
          />
          <Segments
            label="Segments"
            value={tab}
            options={[
              ["one", "15 min"],
              ["two", "1 h"],
            ]}
            onChange={setTab}
          />
          <Button onClick={() => setOpen(true)}>A dialog</Button>
        </div>
      </Panel>
      <Panel title="Fields" pad>
        <div class="fields">
          <TextField label="Text" value={text} onInput={setText} hint="What it is for." placeholder="email.send" />
          <TextField label="Wrong" value="9x" onInput={setText} fault="must be a duration like 30s" />
          <Choice
            label="Choice"
            value="a"
            options={[
              ["a", "runs beside it"],
              ["b", "waits"],
            ]}
            onChange={() => {}}
          />
        </div>
      </Panel>
      <div class="stack">
        <Notice>A note: what you change here is overwritten at the next deploy.</Notice>
        <Notice kind="warn" title="This queue is paused">
          “The feed has wrong prices”
        </Notice>
        <Notice kind="bad" title="It is broken">
          There is no such zone.
        </Notice>
        <Notice kind="good" title="Done">
          41 jobs run again.
        </Notice>
      </div>
      <Panel>
        <div style={{ padding: "0.25rem 0.75rem 0" }}>
          <Tabs
            label="Tabs"
            value={tab}
            onChange={setTab}
            options={[
              { value: "one", text: "Payload" },
              { value: "two", text: "Errors", count: "3" },
            ]}
          />
        </div>
        <Json
          name="the payload"
          text={'{"order": 123456789012345678901234567890, "ok": true, "lines": [{"a": "x", "b": null}], "none": {}}'}
        />
      </Panel>
      <Panel title="Rows">
        <Table
          label="Rows"
          items={[
            { name: "payments", n: 214 },
            { name: "email", n: 0 },
          ]}
          id={(row) => row.name}
          columns={[
            {
              name: "name",
              head: "Queue",
              rowHead: true,
              class: "wide",
              sort: (row) => row.name,
              cell: (row) => row.name,
            },
            { name: "use", head: "In use", cell: (row) => <Meter value={row.n} of={200} label="In use" /> },
            { name: "spark", head: "Trend", cell: () => <Spark values={wave} label="Trend" /> },
            { name: "n", head: "Ready", right: true, sort: (row) => row.n, cell: (row) => <Count n={row.n} /> },
          ]}
        />
      </Panel>
      <div class="two">
        <Panel title="Chart" pad>
          <Chart
            label="Throughput"
            fromMs={Date.now() - 300_000}
            stepMs={5000}
            format={String}
            marks={[{ at: Date.now() - 100_000, text: "shop 2.1" }]}
            lines={[
              { name: "In", color: "--ready", values: wave, dash: "dashed" },
              { name: "Done", color: "--succeeded", values: wave.map((n) => n - 8), fill: true },
            ]}
          />
        </Panel>
        <Panel title="Facts" pad>
          <Facts
            items={[
              ["Lease", "30s"],
              ["Retries", "exponential, from 5s, at most 5m, ±20 %"],
            ]}
          />
          <Code text="millrace work -q default -- COMMAND" />
        </Panel>
      </div>
      <Panel>
        <Empty icon="queues" title="There is no queue yet">
          <p>The first job that is submitted makes its queue.</p>
        </Empty>
      </Panel>
      {open && (
        <Dialog
          title="Pause payments?"
          onClose={() => setOpen(false)}
          footer={<Button onClick={() => setOpen(false)}>Cancel</Button>}
        >
          <p>No job of it is handed out until it is resumed.</p>
        </Dialog>
      )}
    </main>
  );
}

render(<Design />, document.getElementById("app")!);
