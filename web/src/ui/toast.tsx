import { signal } from "@preact/signals";
import { Icon } from "./icons";

interface Toast {
  id: number;
  text: string;
  kind: "good" | "bad";
  action?: { text: string; run: () => void };
}
const shown = signal<Toast[]>([]);
let last = 0;

export function toast(text: string, kind: "good" | "bad" = "good", action?: Toast["action"]): void {
  const id = ++last;
  const made: Toast = { id, text, kind };
  if (action) made.action = action;
  shown.value = [...shown.value.slice(-3), made];
  setTimeout(() => dismiss(id), kind === "bad" ? 12_000 : 5000);
}
const dismiss = (id: number): void => {
  shown.value = shown.value.filter((each) => each.id !== id);
};

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map((each) => (
        <div key={each.id} class={`toast ${each.kind}`}>
          <Icon name={each.kind === "bad" ? "warn" : "check"} class={each.kind} />
          <span class="grow">{each.text}</span>
          {each.action && (
            <button type="button" class="link" onClick={each.action.run}>
              {each.action.text}
            </button>
          )}
          <button type="button" class="btn quiet tiny square" aria-label="Dismiss" onClick={() => dismiss(each.id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
