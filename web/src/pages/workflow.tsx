// One workflow: how far it is, what failed, why it has not ended, its members, and the actions on it.
import { useState } from "preact/hooks";
import { get, getText, may, segment } from "../lib/api";
import { count, duration, exactly, plural, shortId } from "../lib/format";
import { nameOf } from "../lib/graph";
import { readWithOpaque } from "../lib/json";
import { now } from "../lib/live";
import { href } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Job, Member, Page, Workflow, WorkflowBlocking, WorkflowWhy } from "../lib/types";
import { kMemberStates, memberHref, signOf, useFollowing } from "../lib/workflow";
import { Menu } from "../ui/dialog";
import { Icon } from "../ui/icons";
import { Json } from "../ui/json";
import {
  MemberBar,
  Retry,
  canCancel,
  canRetry,
  cancelWorkflow,
  closeWorkflow,
  deleteWorkflow,
  doneOf,
  hasEnded,
  titleOf,
} from "../ui/members";
import { Button, Copy, Empty, Facts, Notice, Panel, Shown, Time, Trouble } from "../ui/parts";
import { Bar } from "../ui/shell";
import { StateMark } from "../ui/state";
import { ErrorOf } from "../ui/member";
import { Members } from "./members";

const kFailuresRead = 50;
const kFailuresShown = 3;

const reasons: Record<string, string> = {
  member_failed: "a member failed",
  cancelled: "it was cancelled",
  timeout: "its time was up",
};

export function WorkflowPage({ id }: { id: string }) {
  const workflow = useResource(`workflow ${id}`, (signal) => get<Workflow>(`v1/workflows/${segment(id)}`, {}, signal), {
    everyMs: 5000,
  });
  const [retrying, setRetrying] = useState(false);
  const it = workflow.error?.status === 404 ? undefined : workflow.data;
  const operate = may("operate");
  return (
    <>
      <Bar
        title={it ? titleOf(it) : <code>{shortId(id)}</code>}
        under={{ text: "Workflows", href: href(["workflows"]) }}
      >
        {it && operate && canRetry(it) && (
          <Button icon="retry" kind={it.state === "failed" ? "primary" : undefined} onClick={() => setRetrying(true)}>
            Retry
          </Button>
        )}
        {it?.open && !hasEnded(it) && may("submit") && (
          <Button icon="check" onClick={() => closeWorkflow(it, workflow.reload)}>
            Close
          </Button>
        )}
        {it && operate && canCancel(it) && (
          <Button icon="stop" onClick={() => cancelWorkflow(it, workflow.reload)}>
            Cancel
          </Button>
        )}
        {it && (
          <Menu
            label="More"
            items={[
              { text: "Its jobs", icon: "jobs", href: href(["jobs"], { q: `workflow:${id}` }) },
              operate && hasEnded(it) && { text: "Delete", icon: "trash", danger: true, run: () => deleteWorkflow(it) },
            ]}
          />
        )}
      </Bar>
      <div class="content" style={{ gap: "1rem" }}>
        {workflow.error?.status === 404 ? (
          <Empty icon="workflows" title="There is no such workflow">
            <p>Its queue's retention may have removed it, or somebody has deleted it.</p>
          </Empty>
        ) : it ? (
          <>
            <Trouble of={workflow} />
            <Head of={it} />
            <Inside of={it} reload={workflow.reload} />
          </>
        ) : (
          <Shown of={workflow} height={24}>
            {() => null}
          </Shown>
        )}
      </div>
      {retrying && it && <Retry of={it} onClose={() => setRetrying(false)} onDone={workflow.reload} />}
    </>
  );
}

function Head({ of }: { of: Workflow }) {
  const took = (of.ended_at ? new Date(of.ended_at).getTime() : now.value) - new Date(of.created_at).getTime();
  return (
    <>
      <div class="row wrap" style={{ gap: "0.5rem 1.25rem", overflowWrap: "anywhere" }}>
        <span style={{ fontSize: "var(--t-l)", fontWeight: 600 }}>
          <StateMark state={of.state} />
        </span>
        {of.reason && of.reason !== of.state && <span class="soft">{reasons[of.reason]}</span>}
        {of.open && !hasEnded(of) && <span class="badge">open</span>}
        <span>
          <span class="faint">in </span>
          <a href={href(["queues", of.queue])}>{of.queue}</a>
        </span>
        <span class="soft">
          {hasEnded(of) ? "took" : "for"} {duration(took)}
        </span>
        {of.generation > 1 && <span class="soft">generation {count(of.generation)}</span>}
        <span class="row" style={{ gap: 0 }}>
          <code class="faint">{of.id}</code>
          <Copy text={of.id} label="Copy the id" />
        </span>
      </div>
      <div class="stack tight">
        <MemberBar of={of} />
        <p class="row wrap small" style={{ gap: "0.25rem 1rem" }}>
          <span class="num">
            {count(doneOf(of.counts))} of {plural(of.members, "member")} done
          </span>
          {kMemberStates
            .filter((state) => of.counts[state] > 0)
            .map((state) => (
              <a key={state} class="quiet-link" href={href(["workflows", of.id], { view: "table", state })}>
                <StateMark state={state} label={`${count(of.counts[state])} ${state}`} />
              </a>
            ))}
        </p>
      </div>
      {of.state === "stopping" && (
        <Notice kind="warn" title="It is stopping">
          Nothing more is released. It ends once {plural(of.counts.active, "active job")}{" "}
          {of.counts.active === 1 ? "has" : "have"} ended.
        </Notice>
      )}
      {of.cancel_reason && (
        <Notice title="It was cancelled">
          <p>“{of.cancel_reason}”</p>
        </Notice>
      )}
    </>
  );
}

function Inside({ of, reload }: { of: Workflow; reload: () => void }) {
  const isRunning = !hasEnded(of);
  const hasFailed = of.counts.failed > 0;
  return (
    <>
      {(isRunning || hasFailed) && (
        <div class="two">
          {hasFailed && <Failures of={of} />}
          {isRunning && <WhyNotEnded of={of} />}
        </div>
      )}
      <Members of={of} reload={reload} />
      <div class="two">
        <Panel title="Details" pad>
          <Details of={of} />
        </Panel>
        <Callbacks of={of} />
        {of.result_from !== null && of.state === "succeeded" && <Result of={of} />}
      </div>
    </>
  );
}

function Details({ of }: { of: Workflow }) {
  const fails = {
    continue: "what hangs on it is skipped, the rest runs",
    stop: "the workflow stops",
    ignore: "what hangs on it is skipped, and the workflow may still succeed",
  }[of.on_member_failed];
  return (
    <Facts
      items={[
        ["Created", <Time key="c" at={of.created_at} exact />],
        ["Ended", of.ended_at && <Time key="e" at={of.ended_at} exact />],
        ["Times out", of.timeout_at && !hasEnded(of) && <Time key="t" at={of.timeout_at} exact />],
        ["Time-out", of.timeout_ms !== null && exactly(of.timeout_ms)],
        ["If a member fails", fails],
        ["Active at once", of.max_active !== null && `at most ${count(of.max_active)}`],
        ["Result from", of.result_from && <a href={memberHref(of.id, of.result_from)}>{of.result_from}</a>],
        ["Unique key", of.unique && <code>{of.unique.key}</code>],
        ["Jobs", of.keep_members ? "stay until the workflow goes" : "go by their queues' retention"],
        [
          "Tags",
          of.tags.length > 0 && (
            <span class="row wrap" style={{ gap: "0.25rem" }}>
              {of.tags.map((tag) => (
                <a key={tag} class="badge" href={href(["workflows"], { tag })}>
                  {tag}
                </a>
              ))}
            </span>
          ),
        ],
        ...Object.entries(of.meta).map(([name, value]): [preact.ComponentChildren, preact.ComponentChildren] => [
          <code key={name}>{name}</code>,
          value,
        ]),
      ]}
    />
  );
}

// --- What failed.

const endOf = (member: Member): string => member.job?.finished_at ?? "";

function Failures({ of }: { of: Workflow }) {
  const failed = useFollowing(`failures ${of.id}`, signOf(of), (signal) =>
    get<Page<Member>>(
      `v1/workflows/${segment(of.id)}/members`,
      { state: "failed", include: "job", limit: kFailuresRead },
      signal,
    ),
  );
  return (
    <Panel
      title={of.counts.failed === 1 ? "What failed" : "What failed first"}
      actions={
        of.counts.failed > 1 && (
          <a class="small" href={href(["workflows", of.id], { view: "table", state: "failed" })}>
            all {count(of.counts.failed)}
          </a>
        )
      }
    >
      <Shown of={failed} height={4}>
        {({ items }) => (
          <ul class="attention">
            {[...items]
              .sort((a, b) => (endOf(a) < endOf(b) ? -1 : endOf(a) > endOf(b) ? 1 : a.number - b.number))
              .slice(0, kFailuresShown)
              .map((member) => (
                <li key={member.number}>
                  <StateMark state="failed" label="" />
                  <div class="grow stack tight">
                    <p>
                      <a class="strong" href={memberHref(of.id, nameOf(member))}>
                        {nameOf(member)}
                      </a>{" "}
                      <span class="soft">{member.reason}</span>
                    </p>
                    <ErrorOf member={member} />
                  </div>
                  {member.job && (
                    <p class="small soft nowrap">
                      <a href={href(["jobs", member.job.id])}>job</a>, <Time at={member.job.finished_at ?? null} />
                    </p>
                  )}
                </li>
              ))}
          </ul>
        )}
      </Shown>
    </Panel>
  );
}

// --- Why it has not ended.

const icons: Partial<Record<WorkflowBlocking["code"], string>> = {
  open: "plus",
  active: "workers",
  max_active: "limits",
  overloaded: "warn",
};

function Blocking({ blocking, of }: { blocking: WorkflowBlocking; of: Workflow }) {
  const many = blocking.count ?? 0;
  switch (blocking.code) {
    case "open":
      return <>It is open: it can end only after it is closed.</>;
    case "active":
      return (
        <>
          {plural(many, "member")} {many === 1 ? "is" : "are"} active
          {blocking.jobs && blocking.jobs.length > 0 && (
            <>
              :{" "}
              {blocking.jobs.slice(0, 5).map((id, index) => (
                <>
                  {index > 0 && ", "}
                  <a href={href(["jobs", id])}>
                    <code>{shortId(id)}</code>
                  </a>
                </>
              ))}
              {many > 5 && (
                <>
                  {" "}
                  and <a href={href(["workflows", of.id], { view: "table", state: "active" })}>others</a>
                </>
              )}
            </>
          )}
          . A job's page says why it does not run.
        </>
      );
    case "max_active":
      return <>Other members wait, because at most {count(of.max_active ?? 0)} are active at once.</>;
    case "releasing":
      return <>{plural(many, "job")} of members will be submitted at once.</>;
    case "in_transit":
      return (
        <>
          {plural(many, "job")} {many === 1 ? "is" : "are"} on the way to shard {blocking.shard}.
        </>
      );
    case "overloaded":
      return <>The server's memory is full, so members are released as others end.</>;
    default:
      return <>It has ended.</>;
  }
}

function WhyNotEnded({ of }: { of: Workflow }) {
  const why = useFollowing(`why ${of.id}`, signOf(of), (signal) =>
    get<WorkflowWhy>(`v1/workflows/${segment(of.id)}/why`, {}, signal),
  );
  return (
    <Panel title="Why it has not ended">
      <div style={{ padding: "0.25rem 1rem" }}>
        <Shown of={why} height={3}>
          {(data) => (
            <ul class="why-list">
              {data.blocking.map((blocking) => (
                <li key={`${blocking.code} ${blocking.shard}`}>
                  <Icon name={icons[blocking.code] ?? "schedules"} />
                  <span class="grow">
                    <Blocking blocking={blocking} of={of} />
                  </span>
                </li>
              ))}
              {data.blocking.length === 0 && (
                <li>
                  <Icon name="check" class="good" />
                  <span>{data.summary}</span>
                </li>
              )}
            </ul>
          )}
        </Shown>
      </div>
    </Panel>
  );
}

// --- Callbacks and the result.

function Callbacks({ of }: { of: Workflow }) {
  const ids = Object.entries(of.callbacks) as [string, string][];
  if (ids.length === 0) return null;
  return (
    <Panel title="Callbacks">
      <ul class="attention">
        {ids.map(([name, id]) => (
          <Callback key={id} name={name} id={id} />
        ))}
      </ul>
    </Panel>
  );
}

function Callback({ name, id }: { name: string; id: string }) {
  const job = useResource(`callback ${id}`, (signal) => get<Job>(`v1/jobs/${segment(id)}`, {}, signal), {
    when: (change) => change.jobs.has(id),
    everyMs: 10_000,
  });
  return (
    <li>
      <code class="soft">{name}</code>
      <span class="grow">
        {job.error?.status === 404 ? (
          <span class="faint">its job is gone</span>
        ) : (
          <a href={href(["jobs", id])}>{job.data?.type ?? shortId(id)}</a>
        )}
      </span>
      {job.data && <StateMark state={job.data.state} />}
    </li>
  );
}

function Result({ of }: { of: Workflow }) {
  const result = useResource(
    `result ${of.id} ${of.generation}`,
    async (signal) => {
      const text = await getText(`v1/workflows/${segment(of.id)}`, { include: "result" }, signal);
      return readWithOpaque<Workflow>(text, ["result"]).raw.result ?? null;
    },
    { when: () => false },
  );
  return (
    <Panel title="Result">
      <Shown of={result} height={4}>
        {(text) =>
          text === null ? (
            <Empty icon="key" title="This token may not see it">
              <p>A token with the scope “payload” shows it.</p>
            </Empty>
          ) : (
            <Json text={text} name="the result" />
          )
        }
      </Shown>
    </Panel>
  );
}
