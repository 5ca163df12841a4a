/** The table of events: all there is of a profile, with or without a graph. */

import { html, nothing, type TemplateResult } from "lit";
import { styleMap } from "lit/directives/style-map.js";
import type { App } from "../app";
import { count, eventName, figure, isTime, percent } from "../format";
import type { EventInfo } from "../protocol";

const ROW = 28;
/** Rows drawn above and below those in view. */
const SPARE = 12;

interface Column {
  id: string;
  label: string;
  number: boolean;
  value: (event: EventInfo) => number | string;
}

const COLUMNS: Column[] = [
  { id: "name", label: "Event", number: false, value: eventName },
  { id: "kind", label: "Kind", number: false, value: (e) => e.kind },
  { id: "instruction", label: "Instr.", number: true, value: (e) => e.instruction ?? -1 },
  { id: "backend", label: "Backend", number: false, value: (e) => e.backend ?? "" },
  { id: "calls", label: "Calls", number: true, value: (e) => e.callsPerRun },
  { id: "avg", label: "Average", number: true, value: (e) => e.stats.avg },
  { id: "share", label: "Share", number: true, value: (e) => e.stats.avg },
  { id: "p50", label: "Median", number: true, value: (e) => e.stats.p50 },
  { id: "min", label: "Min", number: true, value: (e) => e.stats.min },
  { id: "max", label: "Max", number: true, value: (e) => e.stats.max },
  { id: "nodes", label: "Nodes", number: true, value: (e) => e.nodes.length },
];

function rows(app: App): EventInfo[] {
  const { events, eventFilter, eventSort } = app.state;
  const wanted = eventFilter.trim().toLowerCase();
  const list = (events ?? []).filter(
    (e) => wanted === "" || `${e.name} ${e.kind} ${e.backend ?? ""} ${e.delegateDebugId ?? ""}`.toLowerCase().includes(wanted),
  );
  const column = COLUMNS.find((c) => c.id === eventSort.column);
  if (!column) return list;
  const sign = eventSort.down ? -1 : 1;
  return list.sort((a, b) => {
    const [x, y] = [column.value(a), column.value(b)];
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
    return order === 0 ? a.id - b.id : order * sign;
  });
}

export function eventTable(app: App): TemplateResult {
  const { state } = app;
  const list = rows(app);
  const block = state.block === null ? undefined : state.view?.blocks[state.block];
  const execute = block?.execute?.avg ?? NaN;
  const scroller = document.querySelector<HTMLElement>("[data-event-scroll]");
  const top = scroller?.scrollTop ?? 0;
  const height = scroller?.clientHeight ?? 800;
  const first = Math.max(0, Math.min(list.length, Math.floor(top / ROW)) - SPARE);
  const last = Math.min(list.length, Math.ceil((top + height) / ROW) + SPARE);
  return html`<section class="events" data-testid="event-table">
    <div class="row filter">
      <input type="search" placeholder="Filter events" aria-label="Filter events" .value=${state.eventFilter}
        @input=${(e: Event) => app.update({ eventFilter: (e.target as HTMLInputElement).value })} />
      <span class="muted num">${count(list.length)} of ${count(state.events?.length ?? 0)} events</span>
    </div>
    <div class="scroll" data-event-scroll tabindex="0" @scroll=${() => app.draw()}>
      <table aria-rowcount=${list.length + 1}>
        <thead><tr>
          ${COLUMNS.map(
            (c) => html`<th class=${c.number ? "num" : ""} aria-sort=${state.eventSort.column === c.id ? (state.eventSort.down ? "descending" : "ascending") : "none"}>
              <button @click=${() => app.update({ eventSort: { column: c.id, down: state.eventSort.column === c.id ? !state.eventSort.down : c.number } })}>${c.label}</button></th>`,
          )}
        </tr></thead>
        <tbody>
          <tr class="space" style=${styleMap({ height: `${String(first * ROW)}px` })}></tr>
          ${list.slice(first, last).map((event) => row(app, event, execute))}
          <tr class="space" style=${styleMap({ height: `${String((list.length - last) * ROW)}px` })}></tr>
        </tbody>
      </table>
    </div>
  </section>`;
}

function row(app: App, event: EventInfo, execute: number): TemplateResult {
  const { scale, view } = app.state;
  const t = (value: number): string => figure(value, event.unit, scale);
  const node = event.nodes[0];
  const name = eventName(event);
  return html`<tr data-event=${event.id}>
    <td class="name" title=${event.unmapped && view?.record ? `${name}\n${event.unmapped}` : name}>${name}${event.delegateDebugId !== null && event.delegateDebugId !== name ? html` <span class="muted">${event.delegateDebugId}</span>` : nothing}</td>
    <td class="muted">${event.kind}</td>
    <td class="num">${event.instruction ?? ""}</td>
    <td>${event.backend ?? event.writer ?? ""}</td>
    <td class="num">${count(event.callsPerRun)}</td>
    <td class="num" data-ticks=${event.stats.avg}>${t(event.stats.avg)}</td>
    <td class="num">${isTime(event.unit) ? percent(event.stats.avg / execute) : ""}</td>
    <td class="num">${t(event.stats.p50)}</td>
    <td class="num">${t(event.stats.min)}</td>
    <td class="num">${t(event.stats.max)}</td>
    <td class="num">${node !== undefined ? html`<button class="link" title="Show in the graph" @click=${() => void app.jumpToEvent(node)}>${event.confidence !== null ? "≈ " : ""}${event.shared ? `∥ ${count(event.nodes.length)}` : "show"}</button>` : nothing}</td>
  </tr>`;
}
