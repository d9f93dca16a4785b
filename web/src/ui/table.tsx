// Tables: sorted by a click on a column's head, paged, with a row selected by keys.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count, plural } from "../lib/format";
import type { Rows } from "../lib/rows";
import { Button } from "./parts";
import { Icon } from "./icons";

export interface Column<T> {
  name: string;
  head: ComponentChildren;
  cell: (item: T) => ComponentChildren;
  sort?: (item: T) => number | string;
  right?: boolean;
  // lo: hidden on phones; mid: hidden below 1200 px.
  when?: "lo" | "mid";
  class?: string;
  rowHead?: boolean;
}

export interface Sorting {
  by: string;
  down: boolean;
}

// Returns a text that sorts naturally: "a2" before "A10". A collator would support more alphabets, but
// takes a third of a second for ten thousand names.
export function sortable(key: number | string): number | string {
  return typeof key === "number"
    ? key
    : key
        .toLowerCase()
        .replace(/0*(\d+)/g, (_, digits: string) => String.fromCharCode(48 + Math.min(64, digits.length)) + digits);
}
const compare = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0);

const kFirstRows = 100;

export function Table<T>(props: {
  label: string;
  items: T[];
  columns: Column<T>[];
  id: (item: T) => string;
  sorting?: Sorting;
  onSort?: (sorting: Sorting) => void;
  empty?: ComponentChildren;
  rowClass?: (item: T) => string;
  open?: (item: T) => string; // the address that Enter opens
  first?: number; // rows before "Show more"
}) {
  const [rows, setRows] = useState(props.first ?? kFirstRows);
  const [own, setOwn] = useState<Sorting | undefined>(props.sorting);
  const sorting = props.onSort ? props.sorting : own;
  const sorter = sorting && props.columns.find((column) => column.name === sorting.by)?.sort;
  const items = sorter
    ? props.items
        .map((item, index) => ({ item, index, key: sortable(sorter(item)) }))
        .sort((a, b) => (sorting.down ? -1 : 1) * compare(a.key, b.key) || a.index - b.index)
        .map(({ item }) => item)
    : props.items;
  if (props.items.length === 0 && props.empty) return <>{props.empty}</>;
  const set = (name: string): void => {
    const numeric = props.columns.find((column) => column.name === name)?.right ?? false;
    const next = sorting?.by === name ? { by: name, down: !sorting.down } : { by: name, down: numeric };
    if (props.onSort) props.onSort(next);
    else setOwn(next);
  };
  return (
    <>
      <div class="scroll" role="region" aria-label={props.label} tabIndex={0}>
        <table>
          <caption class="hidden-text">{props.label}</caption>
          <thead>
            <tr>
              {props.columns.map((column) => (
                <th
                  key={column.name}
                  scope="col"
                  class={`${column.right ? "r" : ""} ${column.when ?? ""}`}
                  aria-sort={sorting?.by === column.name ? (sorting.down ? "descending" : "ascending") : undefined}
                >
                  {column.sort ? (
                    <button type="button" class="sort" onClick={() => set(column.name)}>
                      {column.head}
                      {sorting?.by === column.name && <Icon name={sorting.down ? "down" : "up"} />}
                    </button>
                  ) : (
                    column.head
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.slice(0, rows).map((item) => (
              <tr key={props.id(item)} class={props.rowClass?.(item)} data-row={props.open?.(item)}>
                {props.columns.map((column) => {
                  const attributes = { class: `${column.right ? "r" : ""} ${column.when ?? ""} ${column.class ?? ""}` };
                  return column.rowHead ? (
                    <th key={column.name} scope="row" {...(attributes as object)}>
                      {column.cell(item)}
                    </th>
                  ) : (
                    <td key={column.name} {...(attributes as object)}>
                      {column.cell(item)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {items.length > rows && (
        <div class="row" style={{ padding: "0.5rem 1rem" }}>
          <span class="soft grow">
            {count(rows)} of {count(items.length)}
          </span>
          <Button size="tiny" onClick={() => setRows(rows + 500)}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}

// Above a list: the new rows that wait.
export function NewRows({ of, one }: { of: Omit<Rows<unknown>, "of">; one: string }) {
  if (of.fresh === 0) return null;
  return (
    <button
      type="button"
      class="btn quiet"
      style={{ width: "100%", borderRadius: 0, color: "var(--accent)" }}
      onClick={of.showFresh}
    >
      <Icon name="up" />
      Show {of.manyFresh ? `${count(of.fresh)} or more new ${one}s` : plural(of.fresh, `new ${one}`)}
    </button>
  );
}

// Below a list: the rows that are older.
export function MoreRows({ of, one }: { of: Omit<Rows<unknown>, "of">; one: string }) {
  if (!of.isLong) return null;
  return (
    <div class="row" style={{ padding: "0.5rem 1rem" }}>
      <span class="soft grow">{plural(of.rows.length, one)} shown</span>
      {of.hasMore && (
        <Button size="tiny" onClick={of.showMore}>
          Show more
        </Button>
      )}
    </div>
  );
}

// A number whose zero is inconspicuous.
export function Count({ n, class: more = "" }: { n: number; class?: string }) {
  return <span class={n === 0 ? "zero" : more}>{count(n)}</span>;
}
