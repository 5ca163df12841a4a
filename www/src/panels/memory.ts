/** What the allocators of a block gave out. */

import { html, nothing, type TemplateResult } from "lit";
import { bytes, count } from "../format";
import type { Allocator, BlockInfo } from "../protocol";

export function memoryTable(block: BlockInfo): TemplateResult {
  return html`<section class="events" data-testid="memory-table">
    <p class="muted filter">What is given back is not recorded: at most the largest sum of a run was in use at once.</p>
    <div class="scroll" tabindex="0">
      <table class="parts wide">
        <thead><tr>
          <th>Allocator</th><th class="num">Allocations a run</th><th class="num">Bytes a run</th>
          <th class="num">Peak, at most</th><th class="num">Largest</th><th>Sizes, over all runs</th>
        </tr></thead>
        <tbody>${block.allocators.map(row)}</tbody>
      </table>
    </div>
  </section>`;
}

function row(a: Allocator): TemplateResult {
  return html`<tr>
    <td>${a.name ?? html`<span class="muted">no. ${a.number}, which the runs do not name</span>`}</td>
    <td class="num">${count(a.allocations)}</td>
    <td class="num" data-bytes=${a.bytes}>${bytes(a.bytes)}</td>
    <td class="num" data-bytes=${a.peak}>${bytes(a.peak)}</td>
    <td class="num">${bytes(a.largest)}</td>
    <td>${a.sizes.map(([size, n], i) => html`${i > 0 ? ", " : nothing}<span class="num">${bytes(size)}</span> <span class="muted">× ${count(n)}</span>`)}${a.distinct > a.sizes.length ? html` <span class="muted">and ${count(a.distinct - a.sizes.length)} smaller</span>` : nothing}</td>
  </tr>`;
}
