// The members of a workflow, as counts and as a bar; and the actions on workflows and members.
import { useState } from "preact/hooks";
import { get, post, remove } from "../lib/api";
import { count, plural, shortId } from "../lib/format";
import { nameOf } from "../lib/graph";
import { go } from "../lib/router";
import { useResource } from "../lib/resource";
import type { Member, MemberCounts, MemberState, Page, Workflow } from "../lib/types";
import { kMemberStates, memberPath, workflowPath } from "../lib/workflow";
import { Dialog, ask } from "./dialog";
import { Button, Shown, messageOf } from "./parts";
import { toast } from "./toast";

const kLeastWidth = 3; // of a part of a bar, so that one of many is seen
const kOffered = 200;

export const titleOf = (workflow: Workflow): string => workflow.name ?? shortId(workflow.id);
export const hasEnded = (workflow: Workflow): boolean => workflow.ended_at !== null;
export const doneOf = ({ succeeded, failed, skipped }: MemberCounts): number => succeeded + failed + skipped;

// "3 succeeded, 1 failed"
export const countsText = (counts: MemberCounts): string =>
  kMemberStates.flatMap((state) => (counts[state] > 0 ? [`${count(counts[state])} ${state}`] : [])).join(", ");

// The widths of the parts of a drawn bar; what is blocked is its ground.
export function parts(counts: MemberCounts, of: number, width: number): { state: MemberState; width: number }[] {
  const shown = kMemberStates.filter((state) => state !== "blocked" && counts[state] > 0);
  const wanted = shown.map((state) => Math.max(kLeastWidth, (width * counts[state]) / Math.max(1, of)));
  const sum = wanted.reduce((total, each) => total + each, 0);
  const room = counts.blocked > 0 ? width - kLeastWidth : width;
  return shown.map((state, index) => ({ state, width: wanted[index]! * Math.min(1, room / sum) }));
}

export function MemberBar({ of }: { of: Workflow }) {
  const text = `${count(doneOf(of.counts))} of ${plural(of.members, "member")} done`;
  const all = countsText(of.counts);
  return (
    <span class="member-bar" role="img" aria-label={all ? `${text}: ${all}` : text} title={all || text}>
      {kMemberStates
        .filter((state) => state !== "blocked" && of.counts[state] > 0)
        .map((state) => (
          <span key={state} class={`c-${state}`} style={{ width: `${(100 * of.counts[state]) / of.members}%` }} />
        ))}
    </span>
  );
}

export const canCancel = (of: Workflow): boolean => !hasEnded(of) && of.reason !== "cancelled";
export const canRetry = (of: Workflow): boolean =>
  of.state !== "stopping" && of.state !== "succeeded" && of.counts.failed > 0;

export function cancelWorkflow(of: Workflow, then: () => void): void {
  ask({
    title: `Cancel ${titleOf(of)}?`,
    text: "Nothing more is released, waiting jobs are cancelled, and the workers of running ones are told.",
    yes: "Cancel the workflow",
    danger: true,
    reason: "Reason (for the others)",
    run: async (reason) => {
      await post(`${workflowPath(of.id)}/cancel`, reason ? { reason } : {});
      toast("It is cancelled once its running jobs have ended");
      then();
    },
  });
}

export function closeWorkflow(of: Workflow, then: () => void): void {
  ask({
    title: `Close ${titleOf(of)}?`,
    text: "It takes no more members from outside, and ends once those that it has have ended. It can't be opened again.",
    yes: "Close the workflow",
    run: async () => {
      await post(`${workflowPath(of.id)}/close`);
      toast("Closed");
      then();
    },
  });
}

export function deleteWorkflow(of: Workflow): void {
  ask({
    title: `Delete ${titleOf(of)}?`,
    text: `The workflow goes with the jobs of its ${plural(of.members, "member")}. This can't be undone.`,
    yes: "Delete the workflow",
    danger: true,
    run: async () => {
      await remove(workflowPath(of.id));
      toast("Deleted");
      go(["workflows"]);
    },
  });
}

export function skipMember(id: string, name: string, then: () => void): void {
  ask({
    title: `Skip ${name}?`,
    text: "The workflow goes on without it: what needs its end is released, and what needs its success is skipped too.",
    yes: "Skip the member",
    danger: true,
    run: async () => {
      await post(`${memberPath(id, name)}/skip`);
      toast("Skipped");
      then();
    },
  });
}

export async function retryMembers(id: string, names: string[] | null, resets = true): Promise<void> {
  await post(`${workflowPath(id)}/retry`, { ...(names ? { refs: names } : {}), reset_attempts: resets });
  toast(names ? `${plural(names.length, "member")} will run again` : "What failed will run again");
}

// Asks which failed members run again: those whose failure no other has caught, or chosen ones.
export function Retry({ of, onClose, onDone }: { of: Workflow; onClose: () => void; onDone: () => void }) {
  const [all, setAll] = useState(true);
  const [chosen, setChosen] = useState<Set<string>>(new Set());
  const [resets, setResets] = useState(true);
  const [fault, setFault] = useState("");
  const failed = useResource(
    `failed ${of.id} of ${of.version}`,
    (signal) => get<Page<Member>>(`${workflowPath(of.id)}/members`, { state: "failed", limit: kOffered }, signal),
    { when: () => false },
  );
  const run = async (): Promise<void> => {
    setFault("");
    try {
      await retryMembers(of.id, all ? null : [...chosen], resets);
      onDone();
      onClose();
    } catch (error) {
      setFault(messageOf(error));
    }
  };
  const choose = (name: string, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(name);
    else next.delete(name);
    setChosen(next);
  };
  return (
    <Dialog
      title={`Retry ${titleOf(of)}`}
      onClose={onClose}
      onSubmit={() => (all || chosen.size > 0 ? run() : undefined)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={!all && chosen.size === 0}>
            Retry
          </Button>
        </>
      }
    >
      <p>
        Failed members run again, and so does what was skipped because of them. What has succeeded stays.
        {hasEnded(of) && " The workflow begins its next generation, with its callbacks."}
      </p>
      <fieldset class="stack tight">
        <legend class="hidden-text">Which members</legend>
        <label class="check">
          <input type="radio" name="which" checked={all} onChange={() => setAll(true)} />
          All whose failure no other member has caught
        </label>
        <label class="check">
          <input type="radio" name="which" checked={!all} onChange={() => setAll(false)} />
          Chosen ones
        </label>
      </fieldset>
      {!all && (
        <Shown of={failed}>
          {(page) => (
            <fieldset class="choose-list">
              <legend class="hidden-text">Failed members</legend>
              {page.items.map((member) => (
                <label key={member.number} class="check">
                  <input
                    type="checkbox"
                    checked={chosen.has(nameOf(member))}
                    onChange={(event) => choose(nameOf(member), event.currentTarget.checked)}
                  />
                  <span class="clip">{nameOf(member)}</span>
                  <span class="faint small">{member.reason}</span>
                </label>
              ))}
              {page.next_cursor !== null && (
                <p class="small faint">
                  These are the first {count(page.items.length)}; each of the others can be retried on its own.
                </p>
              )}
            </fieldset>
          )}
        </Shown>
      )}
      <label class="check">
        <input type="checkbox" checked={resets} onChange={(event) => setResets(event.currentTarget.checked)} />
        Give their jobs all of their attempts again
      </label>
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}
