// What belongs to a workflow is fetched again when the workflow says that something has changed.
import { useEffect, useRef } from "preact/hooks";
import { get, segment } from "./api";
import { href } from "./router";
import { type Resource, useResource } from "./resource";
import type { GraphLine, MemberState, Page, Workflow } from "./types";

export const kMemberStates: readonly MemberState[] = ["succeeded", "failed", "skipped", "active", "blocked"];
// The server gives as many lines of a graph at once. Of larger ones, nothing that needs the whole is shown.
const kMostRead = 10_000;

export const workflowPath = (id: string): string => `v1/workflows/${segment(id)}`;
export const memberPath = (id: string, name: string): string => `${workflowPath(id)}/members/${segment(name)}`;
export const memberHref = (id: string, member: string): string => href(["workflows", id], { member });

// A text that changes whenever a member's state does.
export const signOf = (of: Workflow): string =>
  `${of.version} ${of.members} ${kMemberStates.map((state) => of.counts[state]).join(" ")}`;

export function useFollowing<T>(
  key: string | null,
  sign: string,
  fetcher: (signal: AbortSignal) => Promise<T>,
): Resource<T> {
  const resource = useResource(key, fetcher, { when: () => false, everyMs: 5000, keep: true });
  const last = useRef(sign);
  useEffect(() => {
    if (last.current === sign) return;
    last.current = sign;
    resource.reload();
  }, [sign]);
  return resource;
}

// The members with their needs, whose states are as of then: what is there does not change, but more may be added.
export function useLines(of: Workflow | undefined): Resource<GraphLine[]> {
  const isRead = of !== undefined && of.members > 0 && of.members <= kMostRead;
  return useResource(
    isRead ? `graph ${of.id} ${of.members}` : null,
    async (signal) => (await get<Page<GraphLine>>(`${workflowPath(of!.id)}/graph`, {}, signal)).items,
    { when: () => false, keep: true },
  );
}
