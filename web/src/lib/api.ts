// Calls to the server. Their addresses are relative to the page, because a proxy may serve it under a
// prefix.
import { signal } from "@preact/signals";
import type { Problem, Session } from "./types";

export const session = signal<Session | null>(null);
// Whether the server has demanded a sign-in.
export const signedOut = signal(false);

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer
    readonly problem: Problem | null,
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
  }
  get code(): string {
    return this.problem?.code ?? "";
  }
  // Returns the faults of a form, by pointer or parameter.
  faults(): Map<string, string> {
    const found = new Map<string, string>();
    for (const fault of this.problem?.errors ?? []) {
      found.set(fault.pointer ?? fault.parameter ?? fault.header ?? "", fault.detail);
    }
    return found;
  }
}

export interface Options {
  method?: string;
  body?: string; // JSON
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

export type Parameters = Record<string, string | number | boolean | undefined>;

export function address(path: string, parameters: Parameters = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined && value !== "") query.set(name, String(value));
  const text = query.toString();
  return `${path.replace(/^\//, "")}${text ? `?${text}` : ""}`;
}

// Encodes a segment of a path.
export const segment = encodeURIComponent;

export async function request(path: string, options: Options = {}): Promise<Response> {
  const method = options.method ?? "GET";
  const headers: Record<string, string> = { Accept: "application/json", ...options.headers };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const guard = session.peek()?.guard;
  if (guard && method !== "GET") headers["X-Millrace-Guard"] = guard;
  let response: Response;
  try {
    const init: RequestInit = { method, headers, credentials: "same-origin", cache: "no-store", redirect: "error" };
    if (options.body !== undefined) init.body = options.body;
    if (options.signal) init.signal = options.signal;
    response = await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, null, "The server does not answer. It may be restarting, or the network is down.");
  }
  if (response.ok) return response;
  throw await refusal(response);
}

async function refusal(response: Response): Promise<ApiError> {
  const problem = await readProblem(response);
  if (response.status === 401 && session.peek()?.required !== false) signedOut.value = true;
  const after = Number(response.headers.get("Retry-After"));
  const detail = problem?.detail ?? `The server answered with ${response.status}.`;
  return new ApiError(response.status, problem, detail, after > 0 ? after * 1000 : null);
}

async function readProblem(response: Response): Promise<Problem | null> {
  try {
    return (await response.json()) as Problem;
  } catch {
    return null; // a proxy's page
  }
}

export async function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  const response = await request(address(path, parameters), signal ? { signal } : {});
  return (await response.json()) as T;
}

export async function getText(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<string> {
  const response = await request(address(path, parameters), signal ? { signal } : {});
  return response.text();
}

async function send<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const options: Options = { method };
  if (body !== undefined) options.body = typeof body === "string" ? body : JSON.stringify(body);
  if (headers) options.headers = headers;
  const response = await request(address(path), options);
  const text = await response.text();
  return (text === "" ? null : JSON.parse(text)) as T;
}

export const post = <T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> =>
  send("POST", path, body, headers);
export const put = <T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> =>
  send("PUT", path, body, headers);
export const patch = <T>(path: string, body?: unknown, headers?: Record<string, string>): Promise<T> =>
  send("PATCH", path, body, headers);
export const remove = <T>(path: string): Promise<T> => send("DELETE", path);

// Whether the session has a scope. It only hides buttons; the server itself refuses what is not allowed.
export const may = (scope: "submit" | "operate" | "admin" | "payload" | "read"): boolean =>
  session.value?.scopes.includes(scope) ?? false;

export async function loadSession(): Promise<void> {
  const loaded = await get<Session>("v1/session");
  session.value = loaded;
  signedOut.value = loaded.required && !loaded.signed_in;
}

export async function signIn(token: string): Promise<void> {
  session.value = await post<Session>("v1/session", { token: token.trim() });
  signedOut.value = false;
}

export async function signOut(): Promise<void> {
  await remove("v1/session");
  await loadSession();
}

// Gets all pages of a list.
export async function getAll<T>(
  path: string,
  parameters: Parameters = {},
  signal?: AbortSignal,
  most = 20_000,
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page: { items: T[]; next_cursor: string | null } = await get(
      path,
      { ...parameters, limit: 1000, cursor },
      signal,
    );
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined && items.length < most);
  return items;
}
