/** The whole page, from the state. */

import { html, nothing, type TemplateResult } from "lit";
import type { App } from "../app";
import { bytes } from "../format";
import { details } from "./details";
import { eventTable } from "./events";
import { header } from "./header";
import { legend } from "./legend";
import { memoryTable } from "./memory";
import { toolbar } from "./toolbar";

export function page(app: App): TemplateResult {
  const { state } = app;
  const ready = state.view !== null;
  return html`
    <div class="app ${ready ? "ready" : "empty"}" data-testid="drop">
      ${ready ? header(app) : nothing} ${notices(app)}
      ${ready ? main(app) : welcome(app)} ${progress(app)}
      ${state.dragging ? html`<div class="dropping"><p>Drop an ETRecord, an ETDump, or both</p></div>` : nothing}
    </div>
  `;
}

export function picker(app: App, label: string, primary: boolean): TemplateResult {
  const choose = (event: Event): void => {
    const input = event.target as HTMLInputElement;
    const files = [...(input.files ?? [])];
    input.value = "";
    if (files.length > 0) void app.open(files);
  };
  return html`<label class="button ${primary ? "primary" : ""}"
    >${label}<input data-testid="file-input" type="file" multiple class="hidden-input" @change=${choose}
  /></label>`;
}

function welcome(app: App): TemplateResult {
  const { samples } = app.state;
  return html`
    <main class="welcome">
      <h1><span class="logo" aria-hidden="true"></span>etscope</h1>
      <p class="lead">See where an ExecuTorch model spends its time.</p>
      <div class="zone">
        <p><b>Drop an <code>.etrecord</code> and an <code>.etdp</code> here</b></p>
        <p class="muted">the exported graph and the runtime profile, together or one of them</p>
        ${picker(app, "Choose files…", true)}
      </div>
      ${samples.length > 0
        ? html`<section>
            <h2>Or look at a sample</h2>
            ${samples.map(
              (sample) => html`<button class="sample" data-testid="sample-${sample.id}" @click=${() => void app.openSample(sample.id)}>
                <b>${sample.title}</b><span class="muted">${sample.about}</span>
              </button>`,
            )}
          </section>`
        : nothing}
      <p class="muted small">Files are read in this page. Nothing leaves this computer.</p>
    </main>
  `;
}

function notices(app: App): TemplateResult {
  const { notices: list } = app.state;
  return html`<div class="notices" data-testid="errors" role="alert" aria-live="polite">
    ${list.map(
      ({ file, error }, i) => html`<div class="notice">
        <div>
          ${file ? html`<b class="file">${file}</b>` : nothing}
          <span>${sentence(error.message)}</span>
          ${error.next ? html`<span class="next">${error.next}</span>` : nothing}
          <span class="muted small">${error.code}${error.place ? ` · ${error.place}` : ""}</span>
        </div>
        <button class="icon" aria-label="Dismiss" @click=${() => app.update({ notices: list.filter((_, k) => k !== i) })}>×</button>
      </div>`,
    )}
  </div>`;
}

function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(start) ? start : `${start}.`;
}

function progress(app: App): TemplateResult | typeof nothing {
  const p = app.state.progress;
  if (!p) return nothing;
  const fraction = p.total > 0 ? p.done / p.total : 0;
  return html`<div class="progress" data-testid="progress" role="status">
    <div class="row">
      <span class="grow"><b>${p.file}</b> <span class="muted">${p.what}</span></span>
      <span class="num">${bytes(p.done)} of ${bytes(p.total)}</span>
      <button data-testid="cancel" @click=${() => app.cancel()}>Cancel</button>
    </div>
    <progress max="1" .value=${fraction}></progress>
  </div>`;
}

function main(app: App): TemplateResult {
  const { state } = app;
  const graph = state.tab === "graph" && state.graph !== null;
  const block = state.block === null ? undefined : state.view?.blocks[state.block];
  const memory = state.tab === "memory" && block && block.allocators.length > 0 ? block : null;
  return html`
    ${toolbar(app)}
    <main class="work">
      <div class="stage ${graph ? "" : "hidden"}">
        <div class="host" data-graph-host></div>
        ${legend(app)}
      </div>
      ${graph ? nothing : memory ? memoryTable(memory) : eventTable(app)}
      ${graph && state.selection && state.details ? details(app) : nothing}
    </main>
  `;
}
