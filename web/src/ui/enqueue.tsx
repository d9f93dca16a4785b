// Submits a job, from anywhere.
import { useEffect, useState } from "preact/hooks";
import { post } from "../lib/api";
import { faultOf } from "../lib/json";
import { names, wantNames } from "../lib/names";
import { go } from "../lib/router";
import type { Job } from "../lib/types";
import { curlOf } from "../pages/job";
import { Dialog } from "./dialog";
import { Button, Code, TextField, faultsOf, messageOf } from "./parts";
import { FormFault, readDuration, readNumber } from "./settings-form";
import { type Draft, enqueueWith } from "./shell";
import { toast } from "./toast";

const empty: Draft = {
  type: "",
  queue: "default",
  payload: "{}",
  priority: "",
  delay: "",
  attempts: "",
  unique: "",
  tags: "",
};

function bodyOf(draft: Draft): string {
  const members = [`"type":${JSON.stringify(draft.type)}`, `"queue":${JSON.stringify(draft.queue)}`];
  const priority = readNumber(draft.priority, "/priority");
  const delay = readDuration(draft.delay, "/delay_ms");
  const attempts = readNumber(draft.attempts, "/max_attempts");
  const tags = draft.tags.split(/\s+/).filter(Boolean);
  if (priority !== null) members.push(`"priority":${priority}`);
  if (delay !== null) members.push(`"delay_ms":${delay}`);
  if (attempts !== null) members.push(`"max_attempts":${attempts}`);
  if (draft.unique) members.push(`"unique":{"key":${JSON.stringify(draft.unique)}}`);
  if (tags.length > 0) members.push(`"tags":${JSON.stringify(tags)}`);
  // Sent as it was typed: no number is parsed and written again.
  members.push(`"payload":${draft.payload.trim() || "null"}`);
  return `{${members.join(",")}}`;
}

export function Enqueue() {
  const [draft, setDraft] = useState<Draft>({ ...empty, ...enqueueWith.peek() });
  const [faults, setFaults] = useState<Map<string, string>>(new Map());
  const [fault, setFault] = useState("");
  const [curl, setCurl] = useState("");
  useEffect(() => void wantNames(), []);
  const close = (): void => {
    enqueueWith.value = null;
  };
  const set = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value });
  const body = (): string | null => {
    const wrong = draft.payload.trim() === "" ? null : faultOf(draft.payload);
    if (wrong) {
      setFaults(new Map([["/payload", wrong]]));
      return null;
    }
    try {
      return bodyOf(draft);
    } catch (error) {
      if (error instanceof FormFault) setFaults(new Map([[error.at, error.message]]));
      return null;
    }
  };
  const submit = async (): Promise<void> => {
    setFaults(new Map());
    setFault("");
    const content = body();
    if (content === null) return;
    try {
      const job = await post<Job>("v1/jobs", content);
      toast(`${job.type} is submitted`, "good", { text: "Show it", run: () => go(["jobs", job.id]) });
      close();
    } catch (error) {
      setFaults(faultsOf(error));
      setFault(messageOf(error));
    }
  };
  return (
    <Dialog
      title="Enqueue a job"
      class="drawer"
      onClose={close}
      onSubmit={submit}
      footer={
        <>
          <Button kind="quiet" onClick={() => setCurl(curlOf("v1/jobs", "POST", body() ?? "{}"))}>
            As curl
          </Button>
          <span class="grow" />
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!draft.type || !draft.queue}>
            Enqueue
          </Button>
        </>
      }
    >
      <div class="fields">
        <TextField
          label="Type"
          value={draft.type}
          onInput={set("type")}
          list={names.value.types}
          focus
          fault={faults.get("/type")}
          placeholder="email.send"
        />
        <TextField
          label="Queue"
          value={draft.queue}
          onInput={set("queue")}
          list={names.value.queues}
          fault={faults.get("/queue")}
        />
      </div>
      <TextField
        label="Payload"
        value={draft.payload}
        onInput={set("payload")}
        lines={12}
        fault={faults.get("/payload")}
        hint="JSON, sent exactly as typed."
      />
      <div class="fields">
        <TextField
          label="Delay"
          value={draft.delay}
          onInput={set("delay")}
          placeholder="none"
          hint="30s, 5m, 2h"
          fault={faults.get("/delay_ms")}
        />
        <TextField
          label="Priority"
          type="number"
          value={draft.priority}
          onInput={set("priority")}
          placeholder="0"
          hint="Lower runs first."
          fault={faults.get("/priority")}
        />
        <TextField
          label="Attempts"
          type="number"
          value={draft.attempts}
          onInput={set("attempts")}
          placeholder="the queue's"
          fault={faults.get("/max_attempts")}
        />
        <TextField
          label="Unique key"
          value={draft.unique}
          onInput={set("unique")}
          placeholder="none"
          hint="At most one unfinished job has it."
          fault={faults.get("/unique/key")}
        />
      </div>
      <TextField
        label="Tags"
        value={draft.tags}
        onInput={set("tags")}
        hint="Separated by spaces."
        fault={faults.get("/tags")}
      />
      {curl && <Code text={curl} />}
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}
