/** A clock that the test advances. */
import type { Timer } from "../src/store/common/activity";

export class FakeTimer implements Timer {
  time = 0;
  #acts: (() => void)[] = [];
  /** The seconds of the newest wait. */
  seconds = 0;
  now = () => this.time;
  after(seconds: number, act: () => void) {
    this.seconds = seconds;
    this.#acts.push(act);
    return () => {
      this.#acts = this.#acts.filter((other) => other !== act);
    };
  }
  fire(): void {
    const acts = this.#acts;
    this.#acts = [];
    for (const act of acts) act();
  }
}
