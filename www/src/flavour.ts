/** The only place that knows which flavour of the page this is. */

declare const FLAVOUR: "self-contained" | "hosted";

export interface Sample {
  id: string;
  title: string;
  about: string;
}

interface Carried extends Sample {
  files: { name: string; base64: string }[];
}

interface Listed extends Sample {
  files: string[];
}

function element(id: string): string {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found.textContent;
}

/** Base64 of gzipped bytes, unpacked. */
async function unpack(base64: string): Promise<Uint8Array<ArrayBuffer>> {
  const text = atob(base64.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Starts the worker: from text in the page, or from a file beside it. */
export function createWorker(): Worker {
  if (FLAVOUR === "hosted") return new Worker("worker.js");
  const url = URL.createObjectURL(new Blob([element("etscope-worker")], { type: "text/javascript" }));
  const worker = new Worker(url);
  URL.revokeObjectURL(url);
  return worker;
}

/** The WebAssembly module, compiled once; the worker gets it by message. */
export async function loadWasm(): Promise<WebAssembly.Module> {
  if (FLAVOUR === "self-contained") return WebAssembly.compile(await unpack(element("etscope-wasm")));
  const response = await fetch("etscope.wasm");
  if (!response.ok) throw new Error(`etscope.wasm: ${String(response.status)}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Whether samples cost no request. */
export const carriesSamples = FLAVOUR === "self-contained";

let list: Promise<(Carried | Listed)[]> | undefined;

async function all(): Promise<(Carried | Listed)[]> {
  list ??=
    FLAVOUR === "self-contained"
      ? Promise.resolve(JSON.parse(element("etscope-samples")) as Carried[])
      : fetch("samples/samples.json").then((response) => response.json() as Promise<Listed[]>);
  return list;
}

/** The samples that the page can open. */
export async function samples(): Promise<Sample[]> {
  return all();
}

/** The files of a sample. */
export async function openSample(id: string): Promise<{ name: string; bytes: Uint8Array<ArrayBuffer> }[]> {
  const sample = (await all()).find((s) => s.id === id);
  if (!sample) throw new Error(`there is no sample ${id}`);
  const files = sample.files as (string | { name: string; base64: string })[];
  return Promise.all(
    files.map(async (file) => {
      if (typeof file !== "string") return { name: file.name, bytes: await unpack(file.base64) };
      const response = await fetch(`samples/${file}`);
      return { name: file, bytes: new Uint8Array(await response.arrayBuffer()) };
    }),
  );
}
