// JSON as it was sent: indented, coloured, foldable, and copied byte for byte.
import { useMemo, useState } from "preact/hooks";
import { bytes, count } from "../lib/format";
import { linesOf } from "../lib/json";
import { Copy, Segments } from "./parts";

const kFoldedBeyond = 400;

export function Json({ text, name }: { text: string; name: string }) {
  const { lines, cut } = useMemo(() => linesOf(text), [text]);
  const [folded, setFolded] = useState<Set<number>>(() => new Set());
  const [raw, setRaw] = useState<"pretty" | "raw">("pretty");
  const [all, setAll] = useState(false);
  const size = new TextEncoder().encode(text).length;

  const shown: number[] = [];
  for (let i = 0; i < lines.length; ++i) {
    shown.push(i);
    if (folded.has(i)) i = (lines[i]!.closes ?? i + 1) - 1;
  }
  const visible = all ? shown : shown.slice(0, kFoldedBeyond);
  const toggle = (at: number): void => {
    const next = new Set(folded);
    if (!next.delete(at)) next.add(at);
    setFolded(next);
  };
  return (
    <div>
      <div class="row" style={{ padding: "0.375rem 0.75rem 0" }}>
        <Segments
          label={`How ${name} is shown`}
          value={raw}
          options={[
            ["pretty", "Pretty"],
            ["raw", "As sent"],
          ]}
          onChange={setRaw}
        />
        <span class="small faint grow">{bytes(size)}</span>
        <Copy text={text} label={`Copy ${name} as it was sent`} />
      </div>
      {raw === "raw" ? (
        <pre
          class="json"
          style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere", padding: "0.5rem 1rem" }}
          tabIndex={0}
        >
          {text}
        </pre>
      ) : (
        <div class="json" role="region" aria-label={name} tabIndex={0}>
          {visible.map((index) => {
            const line = lines[index]!;
            const isFolded = folded.has(index);
            return (
              <div class="line" key={index}>
                {line.closes !== undefined ? (
                  <button
                    type="button"
                    class="fold"
                    aria-expanded={!isFolded}
                    aria-label={`${isFolded ? "Unfold" : "Fold"} line ${index + 1}`}
                    onClick={() => toggle(index)}
                  >
                    {isFolded ? "▸" : "▾"}
                  </button>
                ) : (
                  <span class="fold" />
                )}
                <span>
                  {"  ".repeat(line.depth)}
                  {line.tokens.map((token, i) => (
                    <span key={i} class={token.kind}>
                      {token.text}
                    </span>
                  ))}
                  {isFolded && (
                    <>
                      <span class="more">{count(line.count ?? 0)}…</span>
                      <span class="punctuation">{lines[line.closes!]!.tokens.map((token) => token.text).join("")}</span>
                    </>
                  )}
                </span>
              </div>
            );
          })}
          {(visible.length < shown.length || cut) && (
            <p style={{ padding: "0.25rem 1.5rem" }}>
              {visible.length < shown.length ? (
                <button type="button" class="link" onClick={() => setAll(true)}>
                  Show all {count(shown.length)} lines
                </button>
              ) : (
                "The rest is in “As sent”."
              )}
            </p>
          )}
        </div>
      )}
    </div>
  );
}
