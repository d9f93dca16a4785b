/** Lets one asynchronous loop wait for a time or until another part opens the gate. */
export class Gate {
  #timer: NodeJS.Timeout | undefined;
  #due = Infinity;
  #open: (() => void) | undefined;
  #isOpen = false;

  /** Ends the present wait, or the next one if there is none. */
  open(): void {
    this.#isOpen = true;
    clearTimeout(this.#timer);
    this.#due = Infinity;
    this.#open?.();
  }

  /** Ends the present wait at `due` on the monotonic clock, or earlier if so set before. */
  openAt(due: number, now: number): void {
    if (due >= this.#due) return;
    if (due <= now) return this.open();
    clearTimeout(this.#timer);
    this.#due = due;
    this.#timer = setTimeout(() => this.open(), due - now);
  }

  /** Waits. */
  async wait(): Promise<void> {
    if (!this.#isOpen) await new Promise<void>((resolve) => (this.#open = resolve));
    this.#open = undefined;
    this.#isOpen = false;
  }
}
