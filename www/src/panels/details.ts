/** The side panel: all that is known of the selected node, group or partition. */

import { html, nothing, type TemplateResult } from "lit";
import { styleMap } from "lit/directives/style-map.js";
import type { App } from "../app";
import { bytes, count, eventName, figure, isTime, percent, ticks } from "../format";
import type { Argument, EventInfo, GroupDetails, NodeDetails, PartitionDetails, Stats, Unit } from "../protocol";
import { hasValues, values } from "./values";

export function details(app: App): TemplateResult {
  const d = app.state.details;
  if (!d) return html``;
  const close = html`<button class="icon" aria-label="Close panel" @click=${() => void app.select(null)}>×</button>`;
  return html`<aside class="panel" data-testid="panel">
    ${d.type === "node" ? node(app, d, close) : group(app, d, close)}
  </aside>`;
}

type Part = TemplateResult | string | typeof nothing;

function section(title: string, body: Part | Part[], open = true): TemplateResult {
  return html`<details class="section" ?open=${open}><summary>${title}</summary>${body}</details>`;
}

function fields(list: [string, Part][]): TemplateResult {
  return html`<dl class="fields">${list.filter(([, v]) => v !== nothing && v !== "").map(([k, v]) => html`<div><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`;
}

function execute(app: App): number {
  const { view, block } = app.state;
  return block === null ? NaN : (view?.blocks[block]?.execute?.avg ?? NaN);
}

function link(app: App, id: number, text: string): TemplateResult {
  return html`<button class="link" @click=${() => void app.jump(id)}>${text}</button>`;
}

function node(app: App, d: NodeDetails, close: TemplateResult): TemplateResult {
  return html`
    <div class="head"><div><h2>${d.op}</h2><p class="muted mono">${d.name}</p></div>${close}</div>
    ${fields([
      ["Namespace", d.namespace ? html`${d.namespace}${d.namespaceInferred ? html` <span class="muted">(taken from its neighbours)</span>` : nothing}` : nothing],
      ["Module", d.moduleClass ?? nothing],
      ["Debug handle", d.debugHandle === null ? nothing : String(d.debugHandle)],
      ["Instruction", d.instructions.length > 0 ? d.instructions.slice(0, 24).join(", ") + (d.instructions.length > 24 ? " …" : "") : nothing],
      ["Partition", d.partition ? html`<span class="chip backend-${d.partition.colour % 6}">${d.partition.backend} · ${d.partition.label}</span>` : nothing],
      ["Target", d.target && d.target !== d.op ? html`<span class="mono">${d.target}</span>` : nothing],
    ])}
    ${d.events.length > 0 ? section("Time", events(app, d.events)) : nothing}
    ${d.arguments.length > 0 ? section("Arguments", args(app, d.id, d.arguments)) : nothing}
    ${d.outputs.length > 0
      ? section("Outputs", html`<dl class="fields">${d.outputs.map((o) => html`<div><dt class="mono">${o.name}</dt><dd class="mono">${o.dtype} ${o.shape}${o.symbols.map((s) => html`<div class="muted small">${s}</div>`)}</dd></div>`)}</dl>`)
      : nothing}
    ${d.producers.length + d.consumers.length > 0
      ? section("Neighbours", fields([
          ["Reads from", d.producers.length > 0 ? html`${d.producers.slice(0, 40).map((n) => html`${link(app, n.id, n.label)} `)}` : nothing],
          ["Read by", d.consumers.length > 0 ? html`${d.consumers.slice(0, 40).map((n) => html`${link(app, n.id, n.label)} `)}` : nothing],
        ]))
      : nothing}
    ${d.lowered
      ? section("Lowered module", html`${fields([
          ["Backend", d.lowered.backend],
          ["Operators", count(d.lowered.ops)],
          ["Payload", bytes(d.lowered.payloadBytes)],
          ["Debug handles", d.lowered.debugHandles.slice(0, 60).join(", ")],
          ["Compile specs", d.lowered.compileSpecs.join(", ")],
          ["In the record", `${d.lowered.entry}, ${count(d.lowered.length)} bytes from ${count(d.lowered.offset)}`],
        ])}<p><button data-testid="open-inside" title="Read the module that was lowered from the record, and show it as a graph with its own time" @click=${() => void app.openInside(d.id)}>Open its graph</button></p>${fields(d.lowered.opTypes.slice(0, 40).map((f) => [f.name, `${f.value}×`]))}`)
      : nothing}
    ${d.stackTrace ? section("Stack trace", html`<pre>${d.stackTrace.trim()}</pre>`, false) : nothing}
    ${d.lineage.length > 0
      ? section("Made from", html`<ol class="lineage">${d.lineage.map((l) => html`<li style=${styleMap({ marginLeft: `${String(Math.min(l.depth, 12) * 10)}px` })}><span class="mono">${l.name}</span> <span class="muted">${l.target}${l.pass ? ` · ${l.pass}` : ""}</span></li>`)}</ol>`, false)
      : nothing}
    ${d.metadata.length > 0 ? section("Metadata", fields(d.metadata.map((f) => [f.name, html`<span class="mono">${f.value}</span>`])), false) : nothing}
  `;
}

function args(app: App, node: number, list: Argument[]): TemplateResult {
  return html`<dl class="fields">${list.map((a) => {
    const tensor = a.tensor ? `${a.tensor.dtype} ${a.tensor.shape}` : "";
    const producer = a.producer;
    const value = producer !== null ? link(app, producer, a.text) : html`<span class="mono">${a.target ?? a.text}</span>`;
    const named = a.kind !== "tensor" && a.kind !== "value" && a.kind !== "none";
    return html`<div><dt>${a.name || "–"}</dt><dd>${named ? html`<span class="kind">${a.kind}</span> ` : nothing}${value} <span class="muted mono">${tensor}</span>${hasValues(a) ? values(app, node, a) : nothing}</dd></div>`;
  })}</dl>`;
}

function stats(app: App, s: Stats, unit: Unit = "ticks"): TemplateResult {
  const names: (keyof Stats)[] = ["avg", "p50", "min", "max", "p10", "p90", "total"];
  return html`<div class="stats">${names.map((n) => html`<div><span>${n}</span><b class="num" data-ticks=${s[n]}>${figure(s[n], unit, app.state.scale)}</b></div>`)}</div>`;
}

/** The samples of the runs, in order, as dots between their smallest and largest. */
function strip(samples: number[]): TemplateResult | typeof nothing {
  if (samples.length < 2) return nothing;
  const shown = samples.slice(0, 200);
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const x = (i: number): number => 3 + (i / (shown.length - 1)) * 194;
  const y = (v: number): number => (high > low ? 25 - ((v - low) / (high - low)) * 22 : 14);
  return html`<svg class="strip" viewBox="0 0 200 28" preserveAspectRatio="none" role="img" aria-label="Samples of ${shown.length} runs">
    <polyline points=${shown.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(" ")}></polyline>
  </svg>`;
}

function events(app: App, list: EventInfo[]): TemplateResult {
  const total = execute(app);
  return html`${list.map(
    (e) => html`<div class="event">
      <div class="row"><b class="grow">${eventName(e)}</b><span class="num strong">${figure(e.stats.avg, e.unit, app.state.scale)}</span></div>
      <div class="row small muted"><span class="grow">${e.writer ? `${e.writer} ` : ""}${e.kind}${e.instruction === null ? "" : ` · instruction ${String(e.instruction)}`}${e.delegateDebugId !== null && e.delegateDebugId !== eventName(e) ? ` · ${e.delegateDebugId}` : ""}${e.callsPerRun === 1 ? "" : ` · ${count(e.callsPerRun)} calls`}</span><span class="num">${isTime(e.unit) ? percent(e.stats.avg / total) : nothing}</span></div>
      ${e.unit === "modelled-ticks" ? html`<p class="small muted">≈ the time is of the backend's cost model; no clock measured it</p>` : nothing}
      ${e.unit === "counter" ? html`<p class="small muted">a figure of the backend's own; no time on this clock</p>` : nothing}
      ${e.confidence !== null && e.unit === "ticks" ? html`<p class="small muted" data-estimate>≈ ${e.carriedOps.length > 0 ? html`ran <span class="mono">${e.carriedOps.join(" + ")}</span>; ` : nothing}operators found by kind and order, confidence ${percent(e.confidence)}</p>` : nothing}
      ${e.shared ? html`<p class="small muted">∥ one cost of ${count(e.nodes.length)} nodes; groups count it once</p>` : nothing}
      ${e.samples.length > 1 ? html`${strip(e.samples)}${stats(app, e.stats, e.unit)}
        <details class="small"><summary class="muted">${count(e.samples.length)} samples</summary><p class="mono samples">${e.samples.slice(0, 400).map((v) => figure(v, e.unit, app.state.scale)).join(" · ")}</p></details>` : nothing}
      ${e.debugHandles.length > 0 ? html`<p class="small muted">handles ${e.debugHandles.slice(0, 24).join(", ")}${e.debugHandles.length > 24 ? " …" : ""}</p>` : nothing}
      ${e.fields.length > 0 ? fields(e.fields.map((f) => [f.name, html`<span class="mono">${f.value}</span>`])) : nothing}
      ${e.metadata ? html`<details class="small"><summary class="muted">delegate metadata</summary><pre>${e.metadata}</pre></details>` : nothing}
    </div>`,
  )}`;
}

function group(app: App, d: GroupDetails, close: TemplateResult): TemplateResult {
  const total = execute(app);
  const most = d.opTypes[0]?.ticks ?? 0;
  return html`
    <div class="head"><div><h2>${d.label}</h2><p class="muted mono">${d.path}</p></div>${close}</div>
    ${fields([
      ["Module", d.moduleClass ?? nothing],
      ["Nodes", count(d.nodes)],
      ["Share of execute", d.stats ? `${d.estimated ? "≈ " : ""}${percent(d.stats.avg / total)}` : nothing],
    ])}
    ${d.estimated ? html`<p class="small muted">≈ holds a part of a delegate call; which part is estimated by kind and order</p>` : nothing}
    ${d.stats ? stats(app, d.stats) : nothing} ${d.partition ? partition(app, d.partition) : nothing}
    ${d.opTypes.length > 0
      ? section("Operators", html`<div class="ops">${d.opTypes.slice(0, 60).map(
          (o) => html`<div class="op"><span class="grow">${o.op} <span class="muted">${o.count > 0 ? `${count(o.count)}×` : ""}</span></span>
            <span class="num">${o.ticks === null ? "" : `${o.estimated ? "≈ " : ""}${ticks(o.ticks, app.state.scale)}`}</span>
            <i style=${styleMap({ width: `${String(most > 0 ? ((o.ticks ?? 0) / most) * 100 : 0)}%` })}></i></div>`,
        )}</div>`)
      : nothing}
    ${d.events.length > 0 ? section(`Events (${count(d.eventCount)})`, events(app, d.events.slice(0, 50)), false) : nothing}
  `;
}

function partition(app: App, p: PartitionDetails): TemplateResult {
  return html`${section("Partition", html`${fields([
    ["Backend", p.backend],
    ["Instruction", p.instruction === null ? nothing : String(p.instruction)],
    ["Nodes", count(p.nodes)],
    ["Debug handles", p.debugHandles.slice(0, 60).join(", ") + (p.debugHandles.length > 60 ? " …" : "")],
    ["Not in its ops", p.overhead === null ? nothing : ticks(p.overhead, app.state.scale)],
    ["Clock", p.otherClock ? "its ops tick on another clock; only their shares can be compared" : nothing],
    ["Estimates", p.disagreement === null ? nothing : `none: its ops and its operators differ by ${percent(p.disagreement)}`],
  ])}`)}
  ${p.call ? section("Delegate call", events(app, [p.call])) : nothing}
  ${p.ops.length > 0 ? section(`Inside the call (${count(p.ops.length)})`, events(app, p.ops)) : nothing}`;
}
