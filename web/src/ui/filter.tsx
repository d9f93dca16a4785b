// The filter bar: a text in the search language, with completion. It is applied when the user stops
// typing or presses Enter.
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { names, wantNames } from "../lib/names";
import { type Completion, completionsOf, wordsOf } from "../lib/query";
import { Icon } from "./icons";
import { Button } from "./parts";

export function FilterBar({
  value,
  onChange,
  fault,
}: {
  value: string;
  onChange: (value: string) => void;
  fault?: string | undefined;
}) {
  const [text, setText] = useState(value);
  const [cursor, setCursor] = useState(0);
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  const applied = useRef(value);
  const id = useId();

  // Something else has changed it, such as a tab or a link.
  useEffect(() => {
    if (value !== applied.current) {
      applied.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    if (text === applied.current) return;
    const timer = setTimeout(() => apply(text), 500);
    return () => clearTimeout(timer);
  }, [text]);

  const apply = (next: string): void => {
    applied.current = next.trim();
    onChange(next.trim());
  };
  const word = wordsOf(text).find((each) => each.start <= cursor && cursor <= each.end) ?? {
    text: "",
    start: cursor,
    end: cursor,
  };
  const offered: Completion[] = open ? completionsOf(word.text, names.value) : [];

  const take = (completion: Completion): void => {
    const next = `${text.slice(0, word.start)}${completion.insert}${completion.more ? "" : " "}${text.slice(word.end).replace(/^ /, "")}`;
    const at = word.start + completion.insert.length + (completion.more ? 0 : 1);
    // At once, not after the next frame: the user keeps typing, and a late caret would precede new letters.
    if (input.current) {
      input.current.value = next;
      input.current.setSelectionRange(at, at);
    }
    setText(next);
    setCursor(at);
    setChosen(-1);
    if (!completion.more) apply(next);
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (offered.length === 0) return setOpen(true);
      event.preventDefault();
      setChosen(
        (chosen +
          (event.key === "ArrowDown" ? 1 : -1) +
          offered.length +
          (chosen < 0 && event.key === "ArrowUp" ? 1 : 0)) %
          offered.length,
      );
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0 && offered[chosen]) {
      event.preventDefault();
      take(offered[chosen]);
    } else if (event.key === "Enter") {
      setOpen(false);
      apply(text);
    } else if (event.key === "Escape") {
      event.stopPropagation();
      if (open && offered.length > 0) setOpen(false);
      else input.current?.blur();
    }
  };
  return (
    <div class="stack tight">
      <div class="filter combo">
        <Icon name="filter" />
        <input
          ref={input}
          type="text"
          data-search
          role="combobox"
          aria-label="Filter jobs"
          aria-expanded={offered.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={chosen >= 0 && offered[chosen] ? `${id}-${chosen}` : undefined}
          aria-invalid={fault ? "true" : undefined}
          aria-describedby={fault ? `${id}-fault` : undefined}
          autocomplete="off"
          autocapitalize="none"
          spellcheck={false}
          maxLength={1024}
          placeholder="state:dead queue:email.* error~timeout attempt>=3 payload.user.id:42"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setCursor(event.currentTarget.selectionStart ?? 0);
            setOpen(true);
            setChosen(-1);
          }}
          onFocus={() => void wantNames()}
          onClick={(event) => {
            setCursor(event.currentTarget.selectionStart ?? 0);
            setOpen(true);
          }}
          onKeyUp={(event) => setCursor(event.currentTarget.selectionStart ?? 0)}
          onBlur={() => setTimeout(() => setOpen(false), 150)}
          onKeyDown={keys}
        />
        {text && (
          <span style={{ position: "absolute", right: "0.25rem", top: "0.25rem" }}>
            <Button
              kind="quiet"
              icon="close"
              label="Clear the filter"
              onClick={() => {
                setText("");
                apply("");
                input.current?.focus();
              }}
            />
          </span>
        )}
        <ul
          class="choices"
          id={`${id}-list`}
          role="listbox"
          aria-label="What may stand here"
          hidden={offered.length === 0}
        >
          {offered.map((each, index) => (
            <li
              key={each.insert}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === chosen}
              onMouseDown={(event) => (event.preventDefault(), take(each))}
            >
              <code>{each.text}</code>
              <span class="hint small">{each.hint}</span>
            </li>
          ))}
        </ul>
      </div>
      {fault && (
        <p class="bad small" id={`${id}-fault`} role="alert">
          {fault}
        </p>
      )}
    </div>
  );
}
