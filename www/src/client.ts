/** Calls into the worker as promises. A worker that dies is replaced by a new, empty one. */

import { createWorker, loadWasm } from "./flavour";
import type { Calls, ErrorInfo, OpenProgress } from "./protocol";
import type { FromWorker, Stats, ToWorker } from "./worker/messages";

/** An error with what the page says of it. */
export class CallError extends Error {
  constructor(readonly info: ErrorInfo) {
    super(info.message);
  }
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: CallError) => void;
}

export class Client {
  onProgress: (progress: OpenProgress) => void = () => undefined;
  onCrash: (message: string) => void = () => undefined;
  stats: Stats = { bytesRead: 0, wasmMemory: 0, engineMs: 0 };

  #worker: Worker | undefined;
  #ready: Promise<void>;
  #wasm: Promise<WebAssembly.Module>;
  #next = 0;
  #waiting = new Map<number, Waiting>();

  constructor(wasm = loadWasm()) {
    this.#wasm = wasm;
    this.#ready = this.#start();
    this.#ready.catch(() => undefined);
  }

  async #start(): Promise<void> {
    const wasm = await this.#wasm;
    const worker = createWorker();
    this.#worker = worker;
    await new Promise<void>((resolve, reject) => {
      worker.onmessage = (event: MessageEvent<FromWorker>) => {
        if (event.data.kind === "ready") resolve();
        else this.#take(event.data);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        reject(new Error(event.message));
        this.#crashed(event.message);
      };
      this.#post(worker, { kind: "start", wasm });
    });
  }

  #post(worker: Worker, message: ToWorker): void {
    worker.postMessage(message);
  }

  #take(message: FromWorker): void {
    if (message.kind === "progress") this.onProgress(message.progress);
    else if (message.kind === "crashed") this.#crashed(message.message);
    else if (message.kind !== "ready") {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.kind === "answer") {
        this.stats = message.stats;
        waiting?.resolve(message.value);
      } else waiting?.reject(new CallError(message.error));
    }
  }

  #crashed(message: string): void {
    this.#worker?.terminate();
    this.#ready = this.#start();
    this.#ready.catch(() => undefined);
    const info = {
      code: "crashed",
      message: "The viewer's engine stopped. What was open is closed.",
      place: message,
      next: "Open the files again; if it happens again, report it with the files' names and this text.",
    };
    for (const waiting of this.#waiting.values()) waiting.reject(new CallError(info));
    this.#waiting.clear();
    this.onCrash(message);
  }

  async call<K extends keyof Calls>(name: K, args: Calls[K]["args"]): Promise<Calls[K]["result"]> {
    await this.#ready;
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      if (this.#worker) this.#post(this.#worker, { kind: "call", id, name, args });
    });
  }

  /** Ends the worker; what waits for it waits for ever. */
  close(): void {
    this.#worker?.terminate();
    this.#waiting.clear();
  }

  cancel(): void {
    if (this.#worker) this.#post(this.#worker, { kind: "cancel" });
  }
}
