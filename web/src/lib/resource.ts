// A page's data from the server: fetched when the page opens, and again when it may have changed.
// Old data stays on the screen until the new data arrives; a late answer to an old request is
// dropped; a paused page fetches nothing.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api";
import { type Change, liveState, onChange, paused } from "./live";

export interface Resource<T> {
  data: T | undefined;
  error: ApiError | null; // of the last try; data of an earlier one may still be there
  loading: boolean; // there is no data yet for this key
  reload: () => void;
}

export interface ResourceOptions {
  // Whether a change concerns the data; by default all changes do.
  when?: (change: Change) => boolean;
  // Fetches periodically even without a change, for data that changes with time.
  everyMs?: number;
  // Keeps the old data while another key loads.
  keep?: boolean;
}

const kLeastGapMs = 1000;
const kLongestGapMs = 10_000;
const kCached = 40;
const cache = new Map<string, unknown>();

function remember(key: string, data: unknown): void {
  cache.delete(key);
  cache.set(key, data);
  if (cache.size > kCached) cache.delete(cache.keys().next().value!);
}
export const forgetAll = (): void => cache.clear();

// With a null key, nothing is fetched.
export function useResource<T>(
  key: string | null,
  fetcher: (signal: AbortSignal) => Promise<T>,
  options: ResourceOptions = {},
): Resource<T> {
  const [shown, setShown] = useState<{ key: string | null; data: T | undefined; error: ApiError | null }>(() => ({
    key,
    data: key === null ? undefined : (cache.get(key) as T | undefined),
    error: null,
  }));
  const state = useRef({ fetcher, options, again: () => {} });
  state.current.fetcher = fetcher;
  state.current.options = options;

  useEffect(() => {
    if (key === null) return;
    let running: AbortController | null = null;
    let wanted = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let earliest = 0;
    let ended = false;

    const run = async (unasked = false): Promise<void> => {
      clearTimeout(timer);
      timer = undefined;
      wanted = false;
      const began = Date.now();
      running = new AbortController();
      const aborted = running.signal;
      try {
        const data = await state.current.fetcher(aborted);
        // The page was paused during the request; it fetches again when it is resumed.
        if (ended || (unasked && paused.peek())) return;
        remember(key, data);
        setShown({ key, data, error: null });
      } catch (error) {
        if (ended || aborted.aborted) return;
        const known =
          error instanceof ApiError
            ? error
            : new ApiError(0, null, error instanceof Error ? error.message : String(error));
        setShown((before) => ({ key, data: before.key === key ? before.data : undefined, error: known }));
        earliest = Date.now() + (known.retryAfterMs ?? 0);
      } finally {
        running = null;
        // Slow requests are repeated less often.
        earliest = Math.max(earliest, began + Math.min(kLongestGapMs, Math.max(kLeastGapMs, 4 * (Date.now() - began))));
        if (wanted && !ended) plan();
      }
    };
    const plan = (): void => {
      wanted = true;
      if (running || timer !== undefined || document.hidden) return;
      timer = setTimeout(
        () => {
          timer = undefined;
          if (wanted && !paused.peek()) void run(true);
        },
        Math.max(0, earliest - Date.now()),
      );
    };
    state.current.again = () => {
      earliest = 0;
      if (running) wanted = true;
      else void run();
    };

    const left = onChange((change) => {
      if (paused.peek()) return;
      if (change.everything || (state.current.options.when?.(change) ?? true)) plan();
    });
    const shownAgain = (): void => {
      if (!document.hidden && wanted && !paused.peek()) plan();
    };
    document.addEventListener("visibilitychange", shownAgain);
    const every = state.current.options.everyMs;
    const ticker = every
      ? setInterval(() => {
          if (!document.hidden && !paused.peek() && liveState.peek() !== "lost") plan();
        }, every)
      : undefined;
    void run();
    return () => {
      ended = true;
      running?.abort();
      clearTimeout(timer);
      clearInterval(ticker);
      left();
      document.removeEventListener("visibilitychange", shownAgain);
    };
  }, [key]);

  const reload = useCallback(() => state.current.again(), []);
  if (shown.key === key)
    return {
      data: shown.data,
      error: shown.error,
      loading: key !== null && shown.data === undefined && shown.error === null,
      reload,
    };
  const cached = key === null ? undefined : (cache.get(key) as T | undefined);
  const data = cached ?? (options.keep ? shown.data : undefined);
  return { data, error: null, loading: key !== null && cached === undefined, reload };
}
