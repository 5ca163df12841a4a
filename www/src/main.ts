import { App } from "./app";

declare global {
  interface Window {
    /** Figures of the last opening, for tests and benchmarks. */
    etscopeStats?: { bytesRead: number; wasmMemory: number; wasmPeak: number; engineMs: number };
  }
}

const root = document.getElementById("etscope");
if (root) new App(root);
