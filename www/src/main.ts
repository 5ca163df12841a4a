/** Starts the viewer on the page, and measures its openings for tests and benchmarks. */

import { App } from "./app";
import { Client } from "./client";
import { carriesSamples, loadWasm, samples } from "./flavour";
import { rehearse } from "./rehearsal";

declare global {
  interface Window {
    /** Figures of the last opening. */
    etscopeStats?: { bytesRead: number; wasmMemory: number; wasmPeak: number; engineMs: number };
  }
}

async function start(root: HTMLElement): Promise<void> {
  const wasm = loadWasm();
  const app = new App(root, new Client(wasm));
  let chosen = false;
  app.onChosen = () => {
    chosen = true;
    performance.mark("etscope:chosen");
  };
  app.onDrawn = ({ bytesRead, wasmMemory, engineMs }) => {
    // Memory never shrinks, so what it is now is its peak as well.
    window.etscopeStats = { bytesRead, wasmMemory, wasmPeak: wasmMemory, engineMs };
    performance.mark("etscope:drawn");
    performance.measure("etscope:open", "etscope:chosen", "etscope:drawn");
  };
  const list = await samples();
  app.update({ samples: list });
  const wanted = /(?:^#|&)sample=([\w-]+)/.exec(location.hash)?.[1];
  if (wanted !== undefined && list.some((s) => s.id === wanted)) await app.openSample(wanted);
  else if (carriesSamples && list[0]) {
    await rehearse(wasm, list[0].id, () => chosen);
    performance.mark("etscope:rehearsed");
  }
}

const root = document.getElementById("etscope");
if (root) void start(root);
