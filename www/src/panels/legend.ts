/** What the colours mean. */

import { html, nothing, type TemplateResult } from "lit";
import type { App } from "../app";
import { stepStart } from "../render/colour";

const MARKS: [string, { text: string; title: string }][] = [
  ["≈", { text: "estimated", title: "Found by kind and order: no map ties these delegate ops to the graph" }],
  ["∥", { text: "shared", title: "One cost of several nodes; groups around them count it once" }],
];

export function legend(app: App): TemplateResult | typeof nothing {
  const scale = app.graph.scale;
  const { scene, view, graph } = app.state;
  const backends = graph === null ? [] : (view?.graphs[graph]?.backends ?? []);
  if (!scene || (!scale && backends.length === 0)) return nothing;
  const marks = MARKS.filter(([sign]) => app.graph.marks.has(sign));
  const text = (value: number): string => app.graph.valueText(value);
  return html`<div class="legend" data-testid="legend">
    ${scale
      ? html`<div class="ramp">
          <span class="num">≤ ${text(stepStart(scale, 1))}</span>
          ${Array.from({ length: scale.steps }, (_, step) => html`<i class="heat-${step}" title="from ${text(stepStart(scale, step))}"></i>`)}
          <span class="num">${text(scale.high)}</span>
        </div>`
      : nothing}
    ${marks.map(([sign, meaning]) => html`<span class="mark" title=${meaning.title}><b>${sign}</b> ${meaning.text}</span>`)}
    ${backends.map((backend, i) => html`<span class="backend"><i class="backend-${i % 6}"></i>${backend}</span>`)}
  </div>`;
}
