// The rows of a list, newest first. They keep their places while they change; new ones wait until they are requested.
import { useEffect, useState } from "preact/hooks";
import { type Parameters, get } from "./api";
import { type Resource, useResource } from "./resource";
import type { Page } from "./types";

const kPageOfRows = 50;
const kMostRefreshed = 200;

interface Row {
  id: string;
  created_at: string;
}
export interface Rows<T> {
  of: Resource<Page<T>>;
  rows: T[];
  gone: Set<string>; // rows that no longer match the filter
  fresh: number; // new ones that wait
  manyFresh: boolean; // there may be more new ones than that
  hasMore: boolean;
  isLong: boolean; // more than a page
  isOld: boolean; // the rows are of the filter before
  isEmpty: boolean;
  showFresh: () => void;
  showMore: () => Promise<void>;
}

export function useRows<T extends Row>(path: string, filter: Parameters): Rows<T> {
  const key = `${path} ${JSON.stringify(filter)}`;
  const [shown, setShown] = useState<{
    key: string;
    rows: T[];
    cursor: string | null;
    gone: Set<string>;
    fresh: number;
  }>({ key: "", rows: [], cursor: null, gone: new Set(), fresh: 0 });
  const limit = shown.key === key ? Math.max(kPageOfRows, Math.min(kMostRefreshed, shown.rows.length)) : kPageOfRows;
  const of = useResource(key, (signal) => get<Page<T>>(path, { ...filter, limit }, signal), {
    keep: true,
    everyMs: 15_000,
  });
  const loaded = of.data;
  const reset = (page: Page<T>): void =>
    setShown({ key, rows: page.items, cursor: page.next_cursor, gone: new Set(), fresh: 0 });
  useEffect(() => {
    if (!loaded || of.loading) return;
    if (shown.key !== key || shown.rows.length === 0) {
      reset(loaded);
      return;
    }
    const answered = new Map(loaded.items.map((row) => [row.id, row]));
    const known = new Set(shown.rows.map((row) => row.id));
    // The answer has all rows newer than its last one. Ids of the same millisecond have no order.
    const oldest = loaded.next_cursor === null ? "" : (loaded.items.at(-1)?.created_at ?? "");
    const gone = new Set(shown.gone);
    for (const row of shown.rows) {
      if (answered.has(row.id)) gone.delete(row.id);
      else if (row.created_at > oldest) gone.add(row.id);
    }
    setShown({
      ...shown,
      rows: shown.rows.map((row) => answered.get(row.id) ?? row),
      gone,
      fresh: loaded.items.filter((row) => !known.has(row.id)).length,
    });
  }, [loaded, of.loading, key]);
  const showMore = async (): Promise<void> => {
    const page = await get<Page<T>>(path, { ...filter, limit: 100, cursor: shown.cursor ?? undefined });
    setShown((before) => {
      const known = new Set(before.rows.map((row) => row.id));
      return {
        ...before,
        rows: [...before.rows, ...page.items.filter((row) => !known.has(row.id))],
        cursor: page.next_cursor,
      };
    });
  };
  const isCurrent = loaded !== undefined && !of.loading && shown.key === key;
  return {
    of,
    rows: shown.rows,
    gone: shown.gone,
    fresh: shown.fresh,
    manyFresh: shown.fresh > 0 && shown.fresh === loaded?.items.length && loaded.next_cursor !== null,
    hasMore: shown.cursor !== null,
    isLong: shown.cursor !== null || shown.rows.length > kPageOfRows,
    isOld: loaded !== undefined && of.loading,
    isEmpty: isCurrent && shown.rows.length === 0,
    showFresh: () => loaded && reset(loaded),
    showMore,
  };
}
