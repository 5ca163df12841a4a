/** What is open: files, method, runs, where the time went, and how well the pair fits. */

import { html, nothing, type TemplateResult } from "lit";
import { styleMap } from "lit/directives/style-map.js";
import type { App } from "../app";
import { count, percent, ticks } from "../format";
import type { BlockInfo, Fit, Split } from "../protocol";
import { picker } from "./page";

export function header(app: App): TemplateResult {
  const { state } = app;
  const { view, opened } = state;
  if (!view) return html``;
  const block = state.block === null ? null : (view.blocks[state.block] ?? null);
  const views = opened?.views ?? [];
  const odd = view.diagnostics.reduce((sum, d) => sum + d.count, 0);
  return html`
    <header data-testid="header">
      <div class="row top">
        <span class="brand"><span class="logo" aria-hidden="true"></span>etscope</span>
        <div class="files grow">
          ${views.length > 1
            ? html`<select data-testid="view-select" aria-label="What to show" @change=${(e: Event) => void app.show(Number((e.target as HTMLSelectElement).value))}>
                ${views.map((v) => html`<option value=${v.id} ?selected=${v.id === view.id}>${v.label}</option>`)}
              </select>`
            : html`<span class="names" title=${views[0]?.label ?? ""}>${view.record ? html`<b>${view.record.name}</b>` : nothing}${view.record && view.dump ? html`<span class="muted"> + </span>` : nothing}${view.dump ? html`<b>${view.dump.name}</b>` : nothing}</span>`}
        </div>
        ${odd > 0
          ? html`<button class="badge" data-testid="diagnostics-badge" aria-expanded=${state.drawer === "diagnostics"}
              @click=${() => toggle(app, "diagnostics")}>${count(odd)} ${odd === 1 ? "oddity" : "oddities"}</button>`
          : nothing}
        ${picker(app, "Open…", false)}
        <button @click=${() => void app.closeAll()}>Close</button>
      </div>
      ${block ? figures(app, block) : html`<p class="muted only">${view.dump ? "The profile has no runs." : "Only the graph is open. Drop the ETDump of a run to see its time."}</p>`}
    </header>
    ${view.mismatch ? mismatch(view.mismatch) : nothing} ${state.drawer === "diagnostics" ? diagnostics(app) : nothing}
    ${state.drawer === "off-graph" && block ? offGraph(app, block) : nothing}
  `;
}

function toggle(app: App, drawer: "diagnostics" | "off-graph"): void {
  app.update({ drawer: app.state.drawer === drawer ? null : drawer });
}

function figures(app: App, block: BlockInfo): TemplateResult {
  const { view, scale } = app.state;
  const blocks = view?.blocks ?? [];
  const methods = view?.methods ?? [];
  const runs = `${count(block.runs)} ${block.runs === 1 ? "run" : "runs"}`;
  return html`<div class="row figures">
    <label class="field"><span>Block</span>
      <select data-testid="block-select" @change=${(e: Event) => void app.setBlock(Number((e.target as HTMLSelectElement).value))}>
        ${blocks.map(
          (b) => html`<option value=${b.id} ?selected=${b.id === block.id}>${b.name || "(no name)"}${b.method ? ` · ${b.method}` : ""}${b.bundledInputIndex === null ? "" : ` · input ${b.bundledInputIndex}`} · ${b.runs}×</option>`,
        )}
      </select></label>
    <label class="field"><span>Method</span>
      ${methods.length > 1 && block.fit
        ? html`<select data-testid="method" @change=${(e: Event) => void app.setMethod((e.target as HTMLSelectElement).value)}>
            ${methods.map((m) => html`<option value=${m} ?selected=${m === block.method}>${m}</option>`)}
          </select>`
        : html`<output data-testid="method">${block.method ?? "–"}</output>`}
    </label>
    <div class="field"><span>Runs</span><output data-testid="runs" data-count=${block.runs}>${runs}</output></div>
    <div class="field"><span>Execute</span><output class="strong" data-testid="execute" data-ticks=${block.execute?.avg ?? ""}>${block.execute ? ticks(block.execute.avg, scale) : "–"}</output></div>
    ${block.split ? split(app, block.split) : html`<div class="field grow"><span>Events</span><output>${count(block.events)}</output></div>`}
    ${block.graph !== null && block.execute
      ? html`<div class="field"><span>On graph</span><button class="figure" data-testid="on-graph" data-ticks=${block.attributed}
          aria-expanded=${app.state.drawer === "off-graph"} title="What is not on the graph, and why"
          @click=${() => toggle(app, "off-graph")}>${percent(block.execute.avg > 0 ? block.attributed / block.execute.avg : NaN)}</button></div>`
      : nothing}
    ${block.fit && view?.record
      ? html`<div class="field"><span>Fit</span><output data-testid="fit" data-fit=${block.fit.score}
          class=${block.fit.score < 0.85 ? "bad" : ""} title=${block.fit.reasons.join("\n") || "Everything in the profile agrees with the record."}>${percent(block.fit.score)}</output></div>`
      : nothing}
  </div>`;
}

function split(app: App, s: Split): TemplateResult {
  const parts: [string, string, string, number][] = [
    ["native", "split-native", "native", s.native],
    ["delegate", "split-delegate", "delegate", s.delegate],
    ["tax", "split-framework-tax", "framework tax", s.frameworkTax],
    ["rest", "split-rest", "rest", s.rest],
  ];
  return html`<div class="split grow">
    <div class="bar" role="img" aria-label="Where the execute time went">
      ${parts.map(([name, , , value]) => html`<i class="part-${name}" style=${styleMap({ flexGrow: String(s.execute > 0 ? value / s.execute : 0) })}></i>`)}
    </div>
    <dl>
      ${parts.map(
        ([name, id, label, value]) => html`<div><dt><i class="part-${name}"></i>${label}</dt>
          <dd data-testid=${id} data-ticks=${value}>${ticks(value, app.state.scale)} <span class="muted">${percent(s.execute > 0 ? value / s.execute : NaN)}</span></dd></div>`,
      )}
    </dl>
  </div>`;
}

function mismatch(fit: Fit): TemplateResult {
  return html`<div class="banner" data-testid="banner" role="alert">
    <b>These two files do not seem to belong together (fit ${percent(fit.score)}).</b>
    <span>The times below may be on the wrong nodes. Open the record that was saved with the program that was run.</span>
    ${fit.reasons.length > 0 ? html`<ul>${fit.reasons.map((r) => html`<li>${r}</li>`)}</ul>` : nothing}
  </div>`;
}

function offGraph(app: App, block: BlockInfo): TemplateResult {
  const execute = block.execute?.avg ?? 0;
  const row = (name: string, value: number, share: boolean, about: string): TemplateResult => html`<tr>
    <td>${name}${about ? html`<div class="muted small">${about}</div>` : nothing}</td>
    <td class="num">${ticks(value, app.state.scale)}</td>
    <td class="num">${share ? percent(execute > 0 ? value / execute : NaN) : "–"}</td>
  </tr>`;
  const about = (events: number, names: string[]): string =>
    events === 0 ? "" : `${count(events)} ${events === 1 ? "event" : "events"}: ${names.map((n) => n || "(no name)").join(", ")}${events > names.length ? " …" : ""}`;
  const parts = block.offGraph.filter((o) => o.partOfExecute);
  const others = block.offGraph.filter((o) => !o.partOfExecute);
  return html`<div class="diagnostics" data-testid="off-graph">
    <table class="parts">
      <thead><tr><th>Part of execute</th><th class="num">Average a run</th><th class="num">Share</th></tr></thead>
      <tbody>
        ${row("On nodes of the graph", block.attributed, true, "")} ${parts.map((o) => row(o.reason, o.ticks, true, about(o.events, o.names)))}
        <tr class="sum"><td>Execute</td><td class="num">${ticks(execute, app.state.scale)}</td><td class="num">${percent(1)}</td></tr>
      </tbody>
      ${others.length > 0
        ? html`<thead><tr><th>Also on no node, and no part of the sum</th><th></th><th></th></tr></thead>
            <tbody>${others.map((o) => row(o.reason, o.ticks, false, about(o.events, o.names)))}</tbody>`
        : nothing}
    </table>
  </div>`;
}

function diagnostics(app: App): TemplateResult {
  return html`<div class="diagnostics" data-testid="diagnostics-list">
    ${(app.state.view?.diagnostics ?? []).map(
      (d) => html`<details>
        <summary><b class="num">${count(d.count)}×</b> ${d.message} <span class="muted small">${d.code}</span></summary>
        <ul>${d.places.map((p) => html`<li>${p}</li>`)}</ul>
      </details>`,
    )}
  </div>`;
}
