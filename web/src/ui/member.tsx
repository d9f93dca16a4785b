// A member of a workflow: what it needs, what needs it, its job, and the actions on it.
import type { ComponentChildren } from "preact";
import { get, may } from "../lib/api";
import { count, plural, shortId } from "../lib/format";
import { nameOf } from "../lib/graph";
import { href } from "../lib/router";
import type { GraphLine, Job, Member, MemberDetail, Need, Workflow } from "../lib/types";
import { memberHref, memberPath, signOf, useFollowing, useLines } from "../lib/workflow";
import { useResource } from "../lib/resource";
import { MemberBar, canRetry, hasEnded, retryMembers, skipMember, titleOf } from "./members";
import { Button, Empty, Facts, Panel, Shown } from "./parts";
import { StateMark } from "./state";

const kNeighbours = 8;

export function ErrorOf({ member }: { member: Member }) {
  const error = member.job?.last_error;
  if (error)
    return (
      <p class="small" style={{ overflowWrap: "anywhere" }}>
        <span class="bad">{error.type}</span>
        {error.redacted ? (
          <span class="faint"> (its text needs the scope “payload”)</span>
        ) : (
          error.message && `: ${error.message.slice(0, 500)}`
        )}
      </p>
    );
  if (member.reason === "refused") return <p class="small">Its job was refused when it was to be submitted.</p>;
  if (member.redacted) return <p class="small faint">This token does not open the queue of its job.</p>;
  return null;
}

const words: Record<Need["on"], string> = { succeeded: "", failed: "if it fails", ended: "however it ends" };

interface Neighbour {
  name: string;
  on: Need["on"];
  member: Member | null;
}

// The members that `lines` say need this one.
const dependantsOf = (lines: GraphLine[] | undefined, it: MemberDetail): Need[] | null =>
  lines?.flatMap((line) =>
    line.needs
      .filter((need) => need.ref === it.ref || need.ref === `@${it.number}`)
      .map((need) => ({ ref: nameOf(line), on: need.on })),
  ) ?? null;

// A list of members beside this one, with their states now.
function Beside({ of, needs, sign }: { of: string; needs: Need[]; sign: string }) {
  const shown = needs.slice(0, kNeighbours);
  const members = useFollowing<Neighbour[]>(`beside ${of} ${shown.map((need) => need.ref).join(" ")}`, sign, (signal) =>
    Promise.all(
      shown.map(async ({ ref, on }) => ({
        name: ref,
        on,
        member: await get<Member>(memberPath(of, ref), {}, signal).catch(() => null),
      })),
    ),
  );
  return (
    <ul class="stack tight">
      {(members.data ?? shown.map(({ ref, on }) => ({ name: ref, on, member: null }))).map(({ name, on, member }) => (
        <li key={name} class="row beside">
          <StateMark state={member?.state ?? ""} label="" />
          <a class="clip" href={memberHref(of, name)}>
            {name}
          </a>
          <span class="small soft nowrap">
            {member?.state} {words[on]}
          </span>
          {member?.job_id && (
            <a class="small" href={href(["jobs", member.job_id])} aria-label={`The job of ${name}`}>
              job
            </a>
          )}
        </li>
      ))}
      {needs.length > shown.length && <li class="small faint">and {count(needs.length - shown.length)} more</li>}
    </ul>
  );
}

function factsOf(it: MemberDetail, of: Workflow, lines: GraphLine[] | undefined): [string, ComponentChildren][] {
  const sign = signOf(of);
  const dependants = dependantsOf(lines, it);
  return [
    [
      it.needs_any && it.needs.length > 1 ? "Needs any of" : "Needs",
      it.needs.length > 0 ? <Beside of={of.id} needs={it.needs} sign={sign} /> : "nothing",
    ],
    [
      "Needed by",
      dependants && (dependants.length > 0 ? <Beside of={of.id} needs={dependants} sign={sign} /> : "nothing"),
    ],
    [
      "Waits for",
      it.state === "blocked" &&
        (it.waits_for.length > 0
          ? `${it.waits_for.slice(0, 5).join(", ")}${it.waits_for.length > 5 ? ", …" : ""}`
          : "its turn"),
    ],
  ];
}

const useDetail = (of: Workflow, name: string) =>
  useFollowing(`member ${of.id} ${name}`, signOf(of), (signal) =>
    get<MemberDetail>(memberPath(of.id, name), { include: "job" }, signal),
  );

// The member that is chosen on its workflow's page.
export function MemberPanel(props: {
  of: Workflow;
  name: string;
  lines: GraphLine[] | undefined;
  reload: () => void;
  close: () => void;
}) {
  const { of, name } = props;
  const detail = useDetail(of, name);
  const it = detail.data;
  const operate = may("operate");
  const again = (): void => (props.reload(), detail.reload());
  return (
    <Panel
      title={name}
      class="member-panel"
      label={`Member ${name}`}
      actions={<Button kind="quiet" size="tiny" icon="close" label="Close the member" onClick={props.close} />}
      pad
    >
      {detail.error?.status === 404 ? (
        <Empty icon="workflows" title="There is no such member" />
      ) : (
        <Shown of={detail} height={10}>
          {() => (
            <div class="stack">
              <p class="row wrap">
                <StateMark state={it!.state} />
                <span class="soft">{it!.reason?.replace("_", " ")}</span>
              </p>
              <ErrorOf member={it!} />
              <Facts
                items={[
                  ["Job", <JobOf key="j" member={it!} />],
                  ["Type", it!.definition?.type],
                  ["Queue", it!.queue && <a href={href(["queues", it!.queue])}>{it!.queue}</a>],
                  ...factsOf(it!, of, props.lines),
                  ["Released", it!.generation > 1 && plural(it!.generation, "time")],
                  ["Number", String(it!.number)],
                ]}
              />
              {operate && it!.state === "failed" && canRetry(of) && (
                <Button icon="retry" onClick={async () => (await retryMembers(of.id, [name]), again())}>
                  Retry it
                </Button>
              )}
              {operate && it!.state === "blocked" && !hasEnded(of) && (
                <Button icon="right" onClick={() => skipMember(of.id, name, again)}>
                  Skip it
                </Button>
              )}
            </div>
          )}
        </Shown>
      )}
    </Panel>
  );
}

export function JobOf({ member }: { member: Member }) {
  if (!member.job_id)
    return <span class="faint">{member.queue === undefined ? "not for this token" : "not released yet"}</span>;
  return (
    <span class="row" style={{ gap: "0.5rem" }}>
      <a href={href(["jobs", member.job_id])}>
        <code>{shortId(member.job_id)}</code>
      </a>
      {member.job && (
        <span class="lo">
          <StateMark state={member.job.state} />
        </span>
      )}
    </span>
  );
}

// A job's place in its workflow, on the job's page.
export function PlacePanel({ job }: { job: Job }) {
  const { id, name, role, ref, number } = job.workflow!;
  const workflow = useResource(`workflow ${id}`, (signal) => get<Workflow>(`v1/workflows/${id}`, {}, signal), {
    everyMs: 5000,
  });
  const of = workflow.data;
  const member = number === null ? null : nameOf({ ref, number });
  return (
    <Panel title="Workflow" pad>
      <div class="stack">
        <p class="row wrap">
          <a class="strong" href={href(["workflows", id])}>
            {of ? titleOf(of) : (name ?? shortId(id))}
          </a>
          {of && <StateMark state={of.state} />}
        </p>
        {workflow.error?.status === 404 ? (
          <p class="small faint">The workflow is gone, or this token does not open its queue.</p>
        ) : (
          of && (
            <>
              <MemberBar of={of} />
              {member === null ? (
                <p class="soft">
                  {role === "callback" ? "This job is a callback: the workflow's end submitted it." : role}
                </p>
              ) : (
                <Place of={of} name={member} />
              )}
            </>
          )
        )}
      </div>
    </Panel>
  );
}

function Place({ of, name }: { of: Workflow; name: string }) {
  const lines = useLines(of);
  const detail = useDetail(of, name);
  return (
    <Facts
      items={[
        [
          "Member",
          <a key="m" href={memberHref(of.id, name)}>
            {name}
          </a>,
        ],
        ...(detail.data ? factsOf(detail.data, of, lines.data).slice(0, 2) : []),
      ]}
    />
  );
}
