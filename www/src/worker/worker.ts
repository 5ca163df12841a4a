/**
 * The worker: holds the model, and is the only place that knows the wasm glue. It answers
 * one message with one message; bulk is transferred.
 */

import { initSync, Session } from "#wasm";
import type { Calls, ErrorInfo, OpenProgress, OpenResult } from "../protocol";
import type { FromWorker, ToWorker } from "./messages";

/** Bytes of one read, reads in flight, and bytes handed to wasm at a time: few enough to stay in the cache. */
const SLICE = 16 << 20;
const IN_FLIGHT = 4;
const PIECE = 1 << 20;
/** Progress is told at most this often, in milliseconds. */
const TELL_EVERY = 150;

const scope = self as unknown as {
  postMessage(message: FromWorker, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<ToWorker>) => void) | null;
};

let session: Session | undefined;
let memory: WebAssembly.Memory | undefined;
/** Set by a message that comes while a file is read. */
const wish: { cancelled: boolean } = { cancelled: false };
const isCancelled = (): boolean => wish.cancelled;
let read = 0;
/** Milliseconds inside wasm during the last opening. */
let engine = 0;

function timed<T>(act: () => T): T {
  const start = performance.now();
  const value = act();
  engine += performance.now() - start;
  return value;
}

const pause = (): Promise<void> =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(null);
  });

function current(): Session {
  if (!session) throw { code: "not-found", message: "the viewer is not ready", place: "", next: "Reload the page." };
  return session;
}

/** Reads one range with several reads in flight, and feeds it in order. */
async function feed(
  blob: Blob,
  range: { offset: number; length: number },
  tell: (bytes: number) => Promise<void>,
): Promise<void> {
  const slices: Promise<ArrayBuffer>[] = [];
  let asked = 0;
  const ask = (): void => {
    const length = Math.min(SLICE, range.length - asked);
    const promise = blob.slice(range.offset + asked, range.offset + asked + length).arrayBuffer();
    promise.catch(() => undefined);
    slices.push(promise);
    asked += length;
  };
  let fed = 0;
  while (fed < range.length) {
    while (slices.length < IN_FLIGHT && asked < range.length) ask();
    const next = slices.shift();
    if (!next) return;
    const bytes = new Uint8Array(await next);
    read += bytes.length;
    for (let at = 0; at < bytes.length; at += PIECE) {
      const piece = bytes.subarray(at, at + PIECE);
      if (!timed(() => current().feed(piece))) return;
      fed += piece.length;
      await tell(fed);
      if (isCancelled()) return;
    }
    if (bytes.length === 0) throw new Error("the file could not be read");
  }
}

async function open(files: { name: string; blob: Blob }[]): Promise<OpenResult> {
  wish.cancelled = false;
  engine = 0;
  const all = current();
  all.begin(
    files.map((f) => f.name),
    files.map((f) => f.blob),
  );
  let told = 0;
  for (;;) {
    const range = timed(() => all.next() as unknown) as { file: number; offset: number; length: number; name: string; what: string; done: number; total: number } | undefined;
    const file = range && files[range.file];
    if (!range || !file) break;
    await feed(file.blob, range, async (bytes) => {
      const now = performance.now();
      if (now - told < TELL_EVERY) return;
      told = now;
      const progress: OpenProgress = { file: range.name, what: range.what, done: range.done + bytes, total: range.total };
      scope.postMessage({ kind: "progress", progress }, []);
      await pause();
    });
    if (isCancelled()) {
      all.abort();
      throw { code: "cancelled", message: "Opening was cancelled.", place: "", next: "" };
    }
  }
  const result = timed(() => all.finish() as unknown) as OpenResult;
  read = result.files.reduce((sum, f) => sum + f.bytesRead, 0);
  return result;
}

const calls: { [K in keyof Calls]: (args: Calls[K]["args"]) => unknown } = {
  open: ({ files }) => open(files.map((file) => ({ name: file.name, blob: file }))),
  openBytes: ({ files }) =>
    open(files.map(({ name, bytes }) => ({ name, blob: new Blob([bytes as Uint8Array<ArrayBuffer>]) }))),
  closeAll: () => current().closeAll() as unknown,
  view: ({ view }) => current().view(view) as unknown,
  setMethod: ({ view, block, method }) => current().setMethod(view, block, method ?? undefined) as unknown,
  loadGraph: ({ view, graph }) => current().loadGraph(view, graph) as unknown,
  openInside: ({ view, graph, node }) => current().openInside(view, graph, node) as unknown,
  initialExpansion: ({ view, graph, grouping }) => current().initialExpansion(view, graph, grouping),
  scene: ({ view, graph, grouping, expanded }) => current().scene(view, graph, grouping, expanded) as unknown,
  overlay: ({ view, graph, block, grouping, metric, estimates }) =>
    current().overlay(view, graph, block, grouping, metric, estimates) as unknown,
  nodeDetails: ({ view, graph, block, node }) =>
    current().nodeDetails(view, graph, block ?? undefined, node) as unknown,
  groupDetails: ({ view, graph, block, grouping, group, estimates }) =>
    current().groupDetails(view, graph, block ?? undefined, grouping, group, estimates) as unknown,
  partitionDetails: ({ view, graph, block, partition }) =>
    current().partitionDetails(view, graph, block ?? undefined, partition) as unknown,
  tensorValues: ({ view, graph, node, name }) => current().tensorValues(view, graph, node, name) as unknown,
  locate: ({ view, graph, grouping, node }) => current().locate(view, graph, grouping, node) as unknown,
  events: ({ view, block, from, count }) => current().events(view, block, from, count) as unknown,
};

/** The buffers of the typed arrays of an answer, to be moved and not copied. */
function buffers(value: unknown): Transferable[] {
  if (ArrayBuffer.isView(value)) return [value.buffer as ArrayBuffer];
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [];
  return Object.values(value).filter((v) => ArrayBuffer.isView(v)).map((v) => v.buffer as ArrayBuffer);
}

function errorInfo(error: unknown): ErrorInfo {
  if (error !== null && typeof error === "object" && "code" in error) return error as ErrorInfo;
  const message = error instanceof Error ? error.message : String(error);
  return { code: "internal", message, place: "", next: "Open the files again." };
}

scope.onmessage = (event) => {
  const message = event.data;
  if (message.kind === "start") {
    memory = initSync({ module: message.wasm }).memory;
    session = new Session();
    scope.postMessage({ kind: "ready" }, []);
    return;
  }
  if (message.kind === "cancel") {
    wish.cancelled = true;
    return;
  }
  const { id, name, args } = message;
  void (async () => {
    try {
      const call = calls[name] as (args: unknown) => unknown;
      const value = await call(args);
      const stats = { bytesRead: read, wasmMemory: memory?.buffer.byteLength ?? 0, engineMs: engine };
      scope.postMessage({ kind: "answer", id, value, stats }, buffers(value));
    } catch (error) {
      // A trap leaves the module in no known state: say so and let the page start anew.
      if (error instanceof WebAssembly.RuntimeError) {
        scope.postMessage({ kind: "crashed", message: error.message }, []);
        return;
      }
      scope.postMessage({ kind: "failed", id, error: errorInfo(error) }, []);
    }
  })();
};
