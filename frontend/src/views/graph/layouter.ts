/** Lays out pictures of graphs, the newest one only, without holding up the page. */
import type { Layout, Unplaced } from "../../model/graph/layout";

/** A layout that is not needed any more, because another one is. */
export class Overtaken extends Error {}

/** Lives as long as the view that draws the layouts, which calls `destroy`. */
export class Layouter {
  #worker: Worker | undefined;
  #overtake = () => {};

  /** Rejects with `Overtaken` when another one is asked for before it is done. */
  place(wanted: Unplaced): Promise<Layout> {
    this.destroy();
    return new Promise((resolve, reject) => {
      this.#overtake = () => reject(new Overtaken());
      const here = () => import("./layered").then(({ layered }) => layered(wanted)).then(resolve, reject);
      try {
        const worker = new Worker(new URL("./layered.ts", import.meta.url), { type: "module" });
        this.#worker = worker;
        worker.onmessage = ({ data }: MessageEvent<Layout>) => {
          this.#end();
          resolve(data);
        };
        // Some hosts of notebooks refuse workers, or their scripts.
        worker.onerror = () => {
          this.#end();
          void here();
        };
        worker.postMessage(wanted);
      } catch {
        void here();
      }
    });
  }

  destroy(): void {
    this.#overtake();
    this.#end();
  }

  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
