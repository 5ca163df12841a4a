/**
 * Opens the sample out of sight while the page waits for files: the engine is compiled, fonts
 * are found and templates made before they are needed. The first opening then takes a third as
 * long.
 */

import { App } from "./app";
import { Client } from "./client";

/** The engine's inner loops are optimised once they have run for a while. */
const TIMES = 3;

const idle = (): Promise<void> =>
  new Promise((resolve) => {
    // Not every browser has it.
    if ("requestIdleCallback" in window) requestIdleCallback(() => resolve(), { timeout: 1000 });
    else setTimeout(resolve, 200);
  });

/** `isOver` tells that files were chosen: then there is nothing left to rehearse. */
export async function rehearse(wasm: Promise<WebAssembly.Module>, sample: string, isOver: () => boolean): Promise<void> {
  await wasm;
  await idle();
  if (isOver()) return;
  // A closed shadow tree: nothing on the page finds it, and its styles are those of the page.
  const host = document.createElement("div");
  host.className = "rehearsal";
  host.inert = true;
  const shadow = host.attachShadow({ mode: "closed" });
  for (const style of document.querySelectorAll("style, link[rel=stylesheet]")) shadow.append(style.cloneNode(true));
  const stage = document.createElement("div");
  shadow.append(stage);
  document.body.append(host);
  const app = new App(stage, new Client(wasm));
  try {
    for (let i = 0; i < TIMES && !isOver(); i++) await app.openSample(sample);
  } finally {
    app.close();
    host.remove();
  }
}
