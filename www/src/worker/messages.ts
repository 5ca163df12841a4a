/** The messages between page and worker, around the calls of `protocol.ts`. */

import type { Calls, ErrorInfo, OpenProgress } from "../protocol";

export type ToWorker =
  | { kind: "start"; wasm: WebAssembly.Module }
  | { kind: "call"; id: number; name: keyof Calls; args: unknown }
  | { kind: "cancel" };

export interface Stats {
  /** Bytes of files read by the last opening. */
  bytesRead: number;
  /** Bytes of WebAssembly memory; it never shrinks, so this is its peak too. */
  wasmMemory: number;
  /** Milliseconds inside wasm during the last opening. */
  engineMs: number;
}

export type FromWorker =
  | { kind: "ready" }
  | { kind: "progress"; progress: OpenProgress }
  | { kind: "answer"; id: number; value: unknown; stats: Stats }
  | { kind: "failed"; id: number; error: ErrorInfo }
  | { kind: "crashed"; message: string };
