/** Values of a parameter, buffer or constant: read when its row is opened. */

import { html, nothing, svg, type TemplateResult } from "lit";
import type { App } from "../app";
import { count, percent } from "../format";
import type { Argument, TensorValues } from "../protocol";

const KINDS = ["parameter", "buffer", "constant"];

/** Whether the record may hold the values of an argument. */
export function hasValues(argument: Argument): boolean {
  return KINDS.includes(argument.kind) && argument.tensor !== null;
}

export function values(app: App, node: number, argument: Argument): TemplateResult {
  const known = app.state.values.get(`${String(node)}/${argument.text}`);
  const toggle = (event: Event): void => {
    if ((event.target as HTMLDetailsElement).open) void app.loadValues(node, argument.text);
  };
  return html`<details class="values small" data-testid="values" @toggle=${toggle}><summary class="muted">values</summary>
    ${known === undefined ? html`<p class="muted">reading…</p>` : "code" in known
      ? html`<p>${known.message} <span class="next">${known.next}</span> <span class="muted">${known.code}${known.place ? ` · ${known.place}` : ""}</span></p>`
      : show(known)}
  </details>`;
}

function number(value: number | null): string {
  if (value === null) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  return value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(3) : value.toPrecision(5);
}

function show(v: TensorValues): TemplateResult {
  const stats: [string, string][] = [
    ["min", number(v.min)], ["mean", number(v.mean)], ["max", number(v.max)], ["std", number(v.deviation)],
    ["zeros", v.seen > 0 ? percent(v.zeros / v.seen) : "–"],
  ];
  if (v.notFinite > 0) stats.push(["not finite", count(v.notFinite)]);
  return html`<p class="mono samples">[${v.first.join(", ")}${v.first.length < v.count ? ", …" : ""}]</p>
    <div class="stats">${stats.map(([name, text]) => html`<div><span>${name}</span><b class="num">${text}</b></div>`)}</div>
    ${v.histogram ? histogram(v.histogram) : nothing}
    <p class="muted">${v.seen < v.count ? `statistics over ${count(v.seen)} of ${count(v.count)} values, in slices spread evenly` : `${count(v.count)} ${v.count === 1 ? "value" : "values"}`} · ${v.dtype} · strides [${v.strides.join(", ")}]</p>`;
}

function histogram({ from, to, counts }: NonNullable<TensorValues["histogram"]>): TemplateResult {
  const most = Math.max(...counts);
  const wide = 200 / counts.length;
  const step = (to - from) / counts.length;
  return html`<svg class="histogram" viewBox="0 0 200 40" preserveAspectRatio="none" role="img" aria-label=${`Values from ${number(from)} to ${number(to)}`}>
      ${counts.map((n, i) => svg`<rect x=${i * wide} y=${40 - (n / most) * 38} width=${wide - 1} height=${(n / most) * 38}>
        <title>${number(from + i * step)} to ${number(from + (i + 1) * step)}: ${count(n)}</title></rect>`)}
    </svg>
    <div class="row muted"><span class="grow num">${number(from)}</span><span class="num">${number(to)}</span></div>`;
}
