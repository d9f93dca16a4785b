/** A place where one asynchronous loop waits for a time or for a word from elsewhere. */
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

  /** Ends the present wait at that time of the monotonic clock, or earlier if so asked before. */
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
