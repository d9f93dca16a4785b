// Dialogs, drawers and menus. The browser's own dialog keeps the focus, and Escape closes it.
import type { ComponentChildren } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { Button, messageOf } from "./parts";
import { Icon } from "./icons";
import { toast } from "./toast";

export function Dialog(props: {
  title: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
  class?: string;
  footer?: ComponentChildren;
  onSubmit?: () => unknown;
}) {
  const box = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => before?.focus?.();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await props.onSubmit?.();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  const inside = (
    <>
      <div class="body">{props.children}</div>
      {props.footer && <footer>{props.footer}</footer>}
    </>
  );
  return (
    <dialog
      ref={box}
      class={props.class}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        props.onClose();
      }}
      onMouseDown={(event) => {
        if (event.target === box.current && props.class === "drawer") props.onClose();
      }}
    >
      <header>
        <h2 id={id}>{props.title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={props.onClose} />
      </header>
      {props.onSubmit ? (
        <form onSubmit={submit} noValidate>
          {inside}
        </form>
      ) : (
        <div class="dialog-form">{inside}</div>
      )}
    </dialog>
  );
}

// --- A question before an action that can't be undone or that concerns many objects.

export interface Question {
  title: string;
  text: ComponentChildren;
  yes: string;
  danger?: boolean;
  // Asks for a reason, which is passed to the action.
  reason?: string;
  // The text that must be typed first.
  type?: string;
  run: (reason: string) => unknown;
}
const question = signal<Question | null>(null);
export const ask = (asked: Question): void => {
  question.value = asked;
};

function Ask({ asked }: { asked: Question }) {
  const [reason, setReason] = useState("");
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState("");
  const [busy, setBusy] = useState(false);
  const close = (): void => {
    question.value = null;
  };
  const run = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    setFault("");
    try {
      await asked.run(reason);
      close();
    } catch (error) {
      setFault(messageOf(error));
      setBusy(false);
    }
  };
  const blocked = asked.type !== undefined && typed !== asked.type;
  return (
    <Dialog
      title={asked.title}
      onClose={close}
      onSubmit={() => (blocked ? undefined : run())}
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" kind={asked.danger ? "danger primary" : "primary"} disabled={busy || blocked}>
            {asked.yes}
          </Button>
        </>
      }
    >
      <div class="stack tight">{typeof asked.text === "string" ? <p>{asked.text}</p> : asked.text}</div>
      {asked.reason !== undefined && (
        <div class="field">
          <label for="ask-reason">{asked.reason}</label>
          <input
            id="ask-reason"
            value={reason}
            maxLength={1024}
            autofocus
            onInput={(event) => setReason(event.currentTarget.value)}
          />
        </div>
      )}
      {asked.type !== undefined && (
        <div class="field">
          <label for="ask-type">
            Type <code>{asked.type}</code> to go on
          </label>
          <input
            id="ask-type"
            value={typed}
            autofocus
            autocomplete="off"
            spellcheck={false}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
      )}
      {fault && (
        <p class="bad" role="alert">
          {fault}
        </p>
      )}
    </Dialog>
  );
}

export function Questions() {
  return question.value ? <Ask asked={question.value} /> : null;
}

// --- A menu of actions.

export interface MenuItem {
  text: string;
  icon?: string;
  danger?: boolean;
  run?: () => unknown;
  href?: string;
}

export function Menu({
  label,
  items,
  icon = "more",
  text,
}: {
  label: string;
  items: (MenuItem | null | false)[];
  icon?: string;
  text?: string;
}) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const real = items.filter((item): item is MenuItem => Boolean(item));
  useEffect(() => {
    if (!open) return;
    box.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus({ preventScroll: true });
    const outside = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) setOpen(false);
    };
    const moved = (): void => setOpen(false);
    document.addEventListener("pointerdown", outside);
    addEventListener("scroll", moved, true);
    addEventListener("resize", moved);
    return () => {
      document.removeEventListener("pointerdown", outside);
      removeEventListener("scroll", moved, true);
      removeEventListener("resize", moved);
    };
  }, [open]);
  if (real.length === 0) return null;
  // Fixed, so that a scrolling table does not cut it off; upwards if there is no room below.
  const place = (): Record<string, string> => {
    const at = box.current!.getBoundingClientRect();
    const right = `${Math.max(8, document.documentElement.clientWidth - at.right)}px`;
    const below = innerHeight - at.bottom;
    return below > 40 + 36 * real.length || below > at.top
      ? { top: `${at.bottom + 4}px`, right }
      : { bottom: `${innerHeight - at.top + 4}px`, right };
  };
  const keys = (event: KeyboardEvent): void => {
    const all = [...(box.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape" && open) {
      event.stopPropagation();
      setOpen(false);
      box.current?.querySelector<HTMLElement>("button")?.focus();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!open) return setOpen(true);
      all[(at + (event.key === "ArrowDown" ? 1 : -1) + all.length) % all.length]?.focus();
    } else if (event.key === "Tab") {
      setOpen(false);
    }
  };
  const choose = async (item: MenuItem): Promise<void> => {
    setOpen(false);
    try {
      await item.run?.();
    } catch (error) {
      toast(messageOf(error), "bad");
    }
  };
  return (
    <div class="menu-box" ref={box} onKeyDown={keys}>
      <button
        type="button"
        class={`btn ${text ? "" : "square"}`}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-label={text ? undefined : label}
        title={label}
        onClick={() => setOpen(!open)}
      >
        {text}
        <Icon name={icon} />
      </button>
      {open && (
        <div class="menu" role="menu" aria-label={label} style={place()}>
          {real.map((item) =>
            item.href ? (
              <a key={item.text} role="menuitem" href={item.href} tabIndex={-1} onClick={() => setOpen(false)}>
                {item.icon && <Icon name={item.icon} />}
                {item.text}
              </a>
            ) : (
              <button
                key={item.text}
                type="button"
                role="menuitem"
                tabIndex={-1}
                class={item.danger ? "danger" : ""}
                onClick={() => choose(item)}
              >
                {item.icon && <Icon name={item.icon} />}
                {item.text}
              </button>
            ),
          )}
        </div>
      )}
    </div>
  );
}
