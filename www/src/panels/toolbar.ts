/** How the graph is shown: grouping, metric, time scale, zoom. */

import { html, nothing, type TemplateResult } from "lit";
import type { App } from "../app";
import { count, type ScaleName } from "../format";
import type { Grouping, Metric } from "../protocol";

const GROUPINGS: [Grouping, string][] = [
  ["module", "By module"],
  ["delegate", "By delegate"],
  ["flat", "Flat"],
];
const METRICS: [Metric, string][] = [
  ["avg", "average"],
  ["p50", "median (p50)"],
  ["min", "min"],
  ["max", "max"],
  ["p10", "p10"],
  ["p90", "p90"],
  ["total", "total of all runs"],
  ["share", "share of execute"],
  ["calls", "calls"],
];
const SCALES: [ScaleName, string][] = [
  ["ns", "1 tick = 1 ns"],
  ["us", "1 tick = 1 µs"],
  ["ms", "1 tick = 1 ms"],
  ["s", "1 tick = 1 s"],
  ["cycles", "ticks are cycles"],
  ["cycles-at", "cycles at …"],
];

export function toolbar(app: App): TemplateResult {
  const { state } = app;
  const view = state.view;
  const graphs = view?.graphs ?? [];
  const block = state.block === null ? undefined : view?.blocks[state.block];
  const onGraph = state.tab === "graph" && state.graph !== null;
  const value = (e: Event): string => (e.target as HTMLSelectElement).value;
  const tabs = [
    ...(graphs.length > 0 ? (["graph"] as const) : []),
    ...(view?.dump ? (["events"] as const) : []),
    ...(block && block.allocators.length > 0 ? (["memory"] as const) : []),
  ];
  return html`<nav class="toolbar row" aria-label="View">
    ${tabs.length > 1
      ? html`<div class="segments" role="tablist">
          ${tabs.map(
            (tab) => html`<button role="tab" aria-selected=${state.tab === tab} data-testid="tab-${tab}"
              @click=${() => {
                app.update({ tab });
                void app.loadEvents();
              }}>${{ graph: "Graph", events: "Events", memory: "Memory" }[tab]}</button>`,
          )}
        </div>`
      : nothing}
    ${onGraph
      ? html`<div class="segments" role="group" aria-label="Grouping">
          ${GROUPINGS.map(
            ([grouping, label]) => html`<button data-testid="grouping-${grouping}" aria-pressed=${state.grouping === grouping}
              @click=${() => void app.setGrouping(grouping)}>${label}</button>`,
          )}
        </div>`
      : nothing}
    ${onGraph && graphs.length > 1
      ? html`<select data-testid="graph-select" aria-label="Graph" @change=${(e: Event) => void app.setGraph(Number(value(e)))}>
          ${graphs.map((g) => html`<option value=${g.id} .selected=${g.id === state.graph}>${g.label}${g.loaded ? ` · ${String(g.nodes)} nodes` : ""}</option>`)}
        </select>`
      : nothing}
    ${view?.dump
      ? html`${onGraph
            ? html`<select data-testid="metric-select" aria-label="Metric" @change=${(e: Event) => void app.setMetric(value(e) as Metric)}>
                ${METRICS.map(([metric, label]) => html`<option value=${metric} ?selected=${metric === state.metric}>${label}</option>`)}
              </select>
              ${block && block.estimates > 0
                ? html`<button data-testid="estimates" aria-pressed=${state.estimates}
                    title="${count(block.estimates)} delegate ops are tied to no node by the record. On: each is shown on the operators it most likely ran, found by kind and order. Off: only what was measured for each node."
                    @click=${() => void app.setEstimates(!state.estimates)}>≈ Estimates</button>`
                : nothing}`
            : nothing}
          <select data-testid="scale-select" aria-label="Time scale" @change=${(e: Event) => {
            state.scale = { ...state.scale, name: value(e) as ScaleName };
            app.redraw();
          }}>
            ${SCALES.map(([name, label]) => html`<option value=${name} ?selected=${name === state.scale.name}>${label}</option>`)}
          </select>
          ${state.scale.name === "cycles-at"
            ? html`<label class="inline"><input data-testid="clock-hz" type="number" min="0.001" step="any" aria-label="Clock rate in MHz" .value=${String(state.scale.hertz / 1e6)}
                @change=${(e: Event) => {
                  const mega = Number((e.target as HTMLInputElement).value);
                  if (mega > 0) state.scale = { ...state.scale, hertz: mega * 1e6 };
                  app.redraw();
                }} /> MHz</label>`
            : nothing}`
      : nothing}
    <span class="grow"></span>
    ${onGraph
      ? html`<div class="segments" role="group" aria-label="Groups and zoom">
          <button title="Open all groups that are shown" @click=${() => void app.expandAll(true)}>Expand</button>
          <button title="Close all groups" @click=${() => void app.expandAll(false)}>Collapse</button>
          <button aria-label="Zoom out" title="Zoom out (-)" @click=${() => app.graph.zoomBy(0.8)}>−</button>
          <button title="Show all (f)" @click=${() => app.graph.fit(true)}>Fit</button>
          <button aria-label="Zoom in" title="Zoom in (+)" @click=${() => app.graph.zoomBy(1.25)}>+</button>
        </div>`
      : nothing}
  </nav>`;
}
