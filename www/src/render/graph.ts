/** Draws a scene as SVG: only what is in view, with less detail from afar. */

import { select } from "d3-selection";
import { zoom, zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import { count, oneLine, percent, ticks } from "../format";
import type { Overlay, Scene } from "../protocol";
import type { Selection, State } from "../state";
import { heatScale, heatStep, type HeatScale } from "./colour";
import { Grid } from "./grid";

const SVG = "http://www.w3.org/2000/svg";
/** Most item groups in the document at a time. */
const LIVE = 1500;
const NODE = 0;
/** The state of a figure that holds estimates. */
const ESTIMATED = 4;
const OPEN = 2;
/** As in `src/scene.rs`: text is measured by a fixed advance, so that layout needs no page. */
const LABEL_ADVANCE = 8.1;
const FAR_LABEL_ADVANCE = 10.2;
const SUBLABEL_ADVANCE = 6.7;

interface Actions {
  select(selection: Selection | null): void;
  toggle(group: number): void;
}

function make<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number>,
  parent?: Element,
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  parent?.append(element);
  return element;
}

function cut(text: string, width: number, advance: number): string {
  const room = Math.max(1, Math.floor(width / advance));
  return text.length <= room ? text : `${text.slice(0, room - 1)}…`;
}

export class GraphView {
  readonly svg: SVGSVGElement;
  scale: HeatScale | null = null;
  #world: SVGGElement;
  #edges: SVGGElement;
  #items: SVGGElement;
  #front: SVGGElement;
  #zoom: ZoomBehavior<SVGSVGElement, unknown>;
  #transform: ZoomTransform = zoomIdentity;
  #actions: Actions;
  #scene: Scene | null = null;
  #overlay: Overlay | null = null;
  #state: State | null = null;
  #selection: Selection | null = null;
  #itemGrid = new Grid();
  #edgeGrid = new Grid();
  #live = new Map<number, SVGGElement>();
  #liveEdges = new Map<number, SVGGElement>();
  #pendingFit = false;
  #far = false;
  #frame = 0;

  constructor(actions: Actions) {
    this.#actions = actions;
    this.svg = make("svg", { "data-testid": "graph", class: "graph", tabindex: 0, role: "application" });
    this.svg.setAttribute("aria-label", "Graph; arrow keys move between items, Enter opens a group");
    const defs = make("defs", {}, this.svg);
    const arrow = make(
      "marker",
      { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8.5, markerHeight: 8.5, markerUnits: "userSpaceOnUse", orient: "auto" },
      defs,
    );
    make("path", { d: "M0 0.8 L8 4 L0 7.2 Z", class: "arrow" }, arrow);
    const hatch = make("pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, defs);
    make("rect", { width: 1.6, height: 6, class: "hatch" }, hatch);
    this.#world = make("g", {}, this.svg);
    // Edges pass behind the titles of open groups, whose fill lets them through.
    this.#edges = make("g", { class: "edges" }, this.#world);
    this.#items = make("g", {}, this.#world);
    this.#front = make("g", { class: "edges front" }, this.#world);
    this.#zoom = zoom<SVGSVGElement, unknown>()
      .scaleExtent([0.02, 3])
      .filter((event: Event) => {
        if (event instanceof WheelEvent) return event.ctrlKey || event.metaKey;
        return !(event instanceof MouseEvent && event.button !== 0);
      })
      .on("zoom", (event: { transform: ZoomTransform }) => {
        this.#transform = event.transform;
        this.#world.setAttribute("transform", event.transform.toString());
        this.#later();
      });
    select(this.svg).call(this.#zoom).on("dblclick.zoom", null);
    this.svg.addEventListener(
      "wheel",
      (event) => {
        if (event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        const k = this.#transform.k;
        const [dx, dy] = event.shiftKey && event.deltaX === 0 ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
        select(this.svg).call((s) => this.#zoom.translateBy(s, (-dx * unit) / k, (-dy * unit) / k));
      },
      { passive: false },
    );
    this.svg.addEventListener("click", (event) => this.#click(event));
    this.svg.addEventListener("dblclick", (event) => {
      const item = this.#itemAt(event);
      if (item !== null && this.#kind(item) !== NODE) this.#actions.toggle(this.#id(item));
    });
    this.svg.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => {
      if (this.#pendingFit) this.#fitNow();
      else this.#later();
    }).observe(this.svg);
  }

  attach(host: HTMLElement): void {
    if (this.svg.parentElement !== host) host.append(this.svg);
    if (this.#pendingFit) this.#fitNow();
  }

  /** Fits what was shown before there was room for it, to be seen in this frame. */
  #fitNow(): void {
    this.fit();
    if (!this.#pendingFit) this.#draw();
  }

  clear(): void {
    this.#scene = null;
    this.#live.clear();
    this.#liveEdges.clear();
    this.#items.replaceChildren();
    this.#edges.replaceChildren();
    this.#front.replaceChildren();
  }

  #kind(item: number): number {
    return this.#scene?.kinds[item] ?? NODE;
  }

  #id(item: number): number {
    return this.#scene?.ids[item] ?? 0;
  }

  #box(item: number): [number, number, number, number] {
    const boxes = this.#scene?.boxes;
    const at = item * 4;
    return [boxes?.[at] ?? 0, boxes?.[at + 1] ?? 0, boxes?.[at + 2] ?? 0, boxes?.[at + 3] ?? 0];
  }

  #find(selection: Selection): number | null {
    const scene = this.#scene;
    if (!scene) return null;
    for (let i = 0; i < scene.kinds.length; i++) {
      const isNode = scene.kinds[i] === NODE;
      if (scene.ids[i] === selection.id && isNode === (selection.type === "node")) return i;
    }
    return null;
  }

  /** Draws a scene. `anchor` is a group that is to stay where it is on the screen. */
  show(scene: Scene, overlay: Overlay | null, state: State, how: { fit: boolean; anchor?: number | undefined }): void {
    let before: [number, number] | null = null;
    if (how.anchor !== undefined) {
      const item = this.#find({ type: "group", id: how.anchor });
      if (item !== null) {
        const [x, y] = this.#box(item);
        before = this.#transform.apply([x, y]);
      }
    }
    this.clear();
    this.#scene = scene;
    this.#overlay = overlay;
    this.#state = state;
    this.#selection = state.selection;
    this.#itemGrid = new Grid();
    this.#edgeGrid = new Grid();
    const shown: number[] = [];
    for (let i = 0; i < scene.kinds.length; i++) {
      this.#itemGrid.add(i, ...this.#box(i));
      if (scene.kinds[i] !== OPEN) shown.push(this.value(i));
    }
    this.scale = heatScale(shown);
    for (let e = 0; e < scene.edgeFrom.length; e++) {
      const [from, to] = [scene.edgeStart[e] ?? 0, scene.edgeStart[e + 1] ?? 0];
      let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
      for (let p = from; p < to; p++) {
        const [x, y] = [scene.edgePoints[2 * p] ?? 0, scene.edgePoints[2 * p + 1] ?? 0];
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
      }
      if (left <= right) this.#edgeGrid.add(e, left, top, right - left, bottom - top);
    }
    if (how.fit) {
      this.fit();
      // Without a size there is nothing to see yet.
      if (this.#pendingFit) return;
    } else if (before && how.anchor !== undefined) {
      const item = this.#find({ type: "group", id: how.anchor });
      if (item !== null) {
        const [x, y] = this.#box(item);
        const now = this.#transform.apply([x, y]);
        this.#move(this.#transform.translate((before[0] - now[0]) / this.#transform.k, (before[1] - now[1]) / this.#transform.k));
      }
    }
    this.#draw();
  }

  #move(transform: ZoomTransform): void {
    select(this.svg).call((s) => this.#zoom.transform(s, transform));
  }

  /** Shows the drawing: all of it when that can be read, else its width from the top. */
  fit(whole = false): void {
    const scene = this.#scene;
    if (!scene) return;
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    this.#pendingFit = width === 0;
    if (width === 0) return;
    const all = Math.min(width / scene.width, height / scene.height, 1);
    const readable = Math.min(1, Math.max(0.62, Math.min(width / scene.width, 1)));
    const k = whole || all >= 0.62 ? all : readable;
    let x = (width - scene.width * k) / 2;
    if (x < 0) {
      // Too wide for the screen: show where it starts.
      let first = 0;
      for (let i = 1; i < scene.kinds.length; i++) if (this.#box(i)[1] < this.#box(first)[1]) first = i;
      const [left, , wide] = this.#box(first);
      x = width / 2 - (left + wide / 2) * k;
    }
    const y = Math.max(0, (height - scene.height * k) / 2);
    this.#move(zoomIdentity.translate(x, scene.height * k > height ? 0 : y).scale(k));
  }

  zoomBy(factor: number): void {
    select(this.svg).call((s) => this.#zoom.scaleBy(s, factor));
  }

  center(selection: Selection): void {
    const item = this.#find(selection);
    if (item === null) return;
    const [x, y, w, h] = this.#box(item);
    const k = Math.max(this.#transform.k, 0.7);
    const [width, height] = [this.svg.clientWidth, this.svg.clientHeight];
    this.#move(zoomIdentity.translate(width / 2 - (x + w / 2) * k, height / 2 - (y + h / 2) * k).scale(k));
  }

  select(selection: Selection | null): void {
    this.#selection = selection;
    for (const [item, element] of this.#live) element.classList.toggle("selected", this.#isSelected(item));
    this.#highlight();
  }

  #isSelected(item: number): boolean {
    const s = this.#selection;
    return s !== null && s.id === this.#id(item) && (s.type === "node") === (this.#kind(item) === NODE);
  }

  /** The metric's value of an item; NaN for none. */
  value(item: number): number {
    const columns = this.#kind(item) === NODE ? this.#overlay?.nodes : this.#overlay?.groups;
    return columns?.[this.#id(item)] ?? NaN;
  }

  #share(item: number): number {
    const columns = this.#kind(item) === NODE ? this.#overlay?.nodeShare : this.#overlay?.groupShare;
    return columns?.[this.#id(item)] ?? NaN;
  }

  /** How a figure came about: "∥" shared with other nodes, "≈" estimated, "" measured for it alone. */
  #mark(item: number): "" | "∥" | "≈" {
    const columns = this.#kind(item) === NODE ? this.#overlay?.nodeState : this.#overlay?.groupState;
    const state = columns?.[this.#id(item)] ?? 0;
    return state === ESTIMATED ? "≈" : state >= 2 ? "∥" : "";
  }

  /** The marks on the items of the drawing. */
  get marks(): Set<string> {
    const count = this.#scene?.ids.length ?? 0;
    return new Set(Array.from({ length: count }, (_, item) => this.#mark(item)));
  }

  valueText(value: number): string {
    const state = this.#state;
    if (!state || Number.isNaN(value)) return "";
    if (state.metric === "share") return percent(value);
    if (state.metric === "calls") return `${count(value)}×`;
    return ticks(value, state.scale);
  }

  #later(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  #draw(): void {
    const scene = this.#scene;
    if (!scene) return;
    const { k } = this.#transform;
    const far = k < 0.5;
    if (far !== this.#far) {
      // Labels are larger there, and have to be cut anew.
      this.#far = far;
      this.svg.classList.toggle("far", far);
      this.#live.clear();
      this.#items.replaceChildren();
    }
    this.svg.classList.toggle("farther", k < 0.24);
    const [x, y] = this.#transform.invert([0, 0]);
    const margin = 120 / k;
    const view = [x - margin, y - margin, this.svg.clientWidth / k + 2 * margin, this.svg.clientHeight / k + 2 * margin] as const;
    let items = this.#itemGrid.find(...view);
    if (items.length > LIVE) {
      // From very far only the largest can be told apart.
      const area = (i: number): number => this.#box(i)[2] * this.#box(i)[3];
      items = items.sort((a, b) => area(b) - area(a)).slice(0, LIVE).sort((a, b) => a - b);
    }
    const wanted = new Set(items);
    for (const [item, element] of this.#live) {
      if (!wanted.has(item)) {
        element.remove();
        this.#live.delete(item);
      }
    }
    let fresh = false;
    for (const item of items) {
      if (this.#live.has(item)) continue;
      this.#live.set(item, this.#item(item));
      fresh = true;
    }
    // Open groups lie behind what is in them, and come first.
    if (fresh) for (const item of items) this.#items.append(this.#live.get(item) as Node);
    const edges = new Set(this.#edgeGrid.find(...view).slice(0, LIVE * 2));
    for (const [edge, element] of this.#liveEdges) {
      if (!edges.has(edge)) {
        element.remove();
        this.#liveEdges.delete(edge);
      }
    }
    for (const edge of edges) {
      if (!this.#liveEdges.has(edge)) this.#liveEdges.set(edge, this.#edge(edge, false));
    }
    this.#highlight();
  }

  #points(edge: number): [number, number][] {
    const scene = this.#scene;
    const out: [number, number][] = [];
    if (!scene) return out;
    for (let p = scene.edgeStart[edge] ?? 0; p < (scene.edgeStart[edge + 1] ?? 0); p++) {
      out.push([scene.edgePoints[2 * p] ?? 0, scene.edgePoints[2 * p + 1] ?? 0]);
    }
    return out;
  }

  #edge(edge: number, full: boolean): SVGGElement {
    const group = make("g", { class: full ? "edge full" : "edge" });
    const points = this.#points(edge);
    const stub = this.#scene?.edgeStyle[edge] === 1 && !full;
    if (!stub || points.length < 4) make("path", { d: rounded(points), "marker-end": "url(#arrow)" }, group);
    else {
      make("path", { d: rounded(points.slice(0, 2)), class: "stub" }, group);
      make("path", { d: rounded(points.slice(-2)), class: "stub", "marker-end": "url(#arrow)" }, group);
      const [a, b] = [points[1], points[points.length - 2]];
      for (const p of [a, b]) if (p) make("circle", { cx: p[0], cy: p[1], r: 2.2, class: "dot" }, group);
    }
    (full ? this.#front : this.#edges).append(group);
    return group;
  }

  #highlight(): void {
    this.#front.replaceChildren();
    const scene = this.#scene;
    if (!scene || !this.#selection) return;
    const item = this.#find(this.#selection);
    if (item === null) return;
    const inside = new Set([item]);
    scene.parents.forEach((parent, i) => inside.has(parent) && inside.add(i));
    const drawn = Math.min(scene.edgeFrom.length, 100_000);
    let left = 400;
    for (let e = 0; e < drawn && left > 0; e++) {
      const [from, to] = [inside.has(scene.edgeFrom[e] ?? -1), inside.has(scene.edgeTo[e] ?? -1)];
      if (from === to) continue;
      const element = this.#edge(e, true);
      element.classList.add(from ? "out" : "in");
      left--;
    }
  }

  #item(item: number): SVGGElement {
    const scene = this.#scene;
    const kind = this.#kind(item);
    const [x, y, width, height] = this.#box(item);
    const label = oneLine(scene?.labels[item] ?? "");
    const sublabel = oneLine(scene?.sublabels[item] ?? "");
    const value = this.value(item);
    const share = this.#share(item);
    const step = kind === OPEN ? -1 : heatStep(this.scale, value);
    const name = kind === NODE ? "node" : kind === OPEN ? "open" : "closed";
    const g = make("g", {
      "data-item": item, "data-kind": name, "data-id": this.#id(item), transform: `translate(${String(x)} ${String(y)})`,
      class: `item ${name}${step >= 0 ? ` heat heat-${String(step)}` : ""}`,
    });
    g.setAttribute("data-label", label);
    if (!Number.isNaN(value)) g.setAttribute("data-ticks", String(value));
    g.classList.toggle("selected", this.#isSelected(item));
    const partition = scene?.partitions[scene.partitionOf[item] ?? -1];
    const mark = this.#mark(item);
    const shared = mark === "∥";
    const text = this.valueText(value);
    const advance = this.#far ? FAR_LABEL_ADVANCE : LABEL_ADVANCE;
    const about = [label, sublabel, partition ? `${partition.backend} · ${partition.label}` : "",
      text ? `${text}${Number.isNaN(share) ? "" : ` (${percent(share)} of execute)`}` : "no time measured",
      shared ? "the cost is shared with other nodes" : "", mark === "≈" ? "estimated" : ""].filter(Boolean);
    g.setAttribute("aria-label", about.join(", "));
    make("title", {}, g).textContent = about.join("\n");
    make("rect", { class: "box", width, height, rx: kind === OPEN ? 12 : 8 }, g);
    if (shared && kind === NODE) make("rect", { class: "shared", width, height, rx: 8, fill: "url(#hatch)" }, g);
    if (partition) make("path", { class: `stripe backend-${String(partition.colour % 6)}`, d: `M8 0 H5 A5 5 0 0 0 0 5 V${String(height - 5)} A5 5 0 0 0 5 ${String(height)} H8 Z` }, g);
    const indent = 14;
    if (kind === OPEN) {
      const chevron = make("path", { class: "chevron", d: "M13 13 L18 19 L23 13 Z" }, g);
      chevron.setAttribute("data-chevron", "");
      const room = width - 60 - text.length * 7;
      const shownLabel = cut(label, room, advance);
      const title = make("text", { class: "label", x: 32, y: 21 }, g);
      title.textContent = shownLabel;
      const left = room - shownLabel.length * advance - 10;
      if (left > 40) {
        const sub = make("tspan", { class: "sublabel", dx: 8 }, title);
        sub.textContent = cut(sublabel, left, SUBLABEL_ADVANCE);
      }
      if (text) make("text", { class: "value", x: width - 14, y: 21, "text-anchor": "end" }, g).textContent = `${mark}${mark && " "}${text}`;
      return g;
    }
    const closed = kind !== NODE;
    if (closed) {
      const chevron = make("path", { class: "chevron", d: "M14 10 L20 15.5 L14 21 Z" }, g);
      chevron.setAttribute("data-chevron", "");
    }
    const start = closed ? 28 : indent;
    make("text", { class: "label", x: start, y: 20 }, g).textContent = cut(label, width - start - (this.#far ? 0 : 8), advance);
    make("text", { class: "sublabel", x: indent, y: closed ? 36 : 34 }, g).textContent = cut(sublabel, width - indent - 6, SUBLABEL_ADVANCE);
    const bottom = height - 8;
    if (text) {
      make("text", { class: "value", x: indent, y: bottom }, g).textContent = `${mark}${mark && " "}${text}`;
      if (!Number.isNaN(share) && this.#state?.metric !== "share") {
        make("text", { class: "share", x: width - 10, y: bottom, "text-anchor": "end" }, g).textContent = percent(share);
      }
      const long = (width - 16) * Math.min(1, share);
      if (long >= 1) {
        make("rect", { class: "bar", x: 8, y: height - 4, width: long, height: 2.5, rx: 1.2 }, g);
      }
    }
    return g;
  }

  #itemAt(event: Event): number | null {
    const target = event.target instanceof Element ? event.target.closest("g[data-item]") : null;
    const item = target?.getAttribute("data-item");
    return item === null || item === undefined ? null : Number(item);
  }

  #click(event: MouseEvent): void {
    if (event.defaultPrevented) return;
    const item = this.#itemAt(event);
    if (item === null) {
      this.#actions.select(null);
      return;
    }
    const id = this.#id(item);
    const group = this.#kind(item) !== NODE;
    if (group && event.target instanceof Element && event.target.hasAttribute("data-chevron")) {
      this.#actions.toggle(id);
      return;
    }
    this.#actions.select({ type: group ? "group" : "node", id });
  }

  #key(event: KeyboardEvent): void {
    const move: Record<string, [number, number]> = {
      ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0],
    };
    const direction = move[event.key];
    if (direction) this.#step(direction);
    else if (event.key === "Enter" || event.key === " ") {
      if (this.#selection?.type === "group") this.#actions.toggle(this.#selection.id);
    } else if (event.key === "f") this.fit(true);
    else if (event.key === "+" || event.key === "=") this.zoomBy(1.25);
    else if (event.key === "-") this.zoomBy(0.8);
    else if (event.key === "Escape") this.#actions.select(null);
    else return;
    event.preventDefault();
  }

  /** Selects the nearest item in a direction. */
  #step([dx, dy]: [number, number]): void {
    const scene = this.#scene;
    if (!scene) return;
    const item = this.#selection ? this.#find(this.#selection) : null;
    const centre = (i: number): [number, number] => {
      const [x, y, w, h] = this.#box(i);
      return [x + w / 2, y + (scene.kinds[i] === OPEN ? 16 : h / 2)];
    };
    let best: number | null = null;
    let least = Infinity;
    const from = item === null ? this.#transform.invert([this.svg.clientWidth / 2, 0]) : centre(item);
    for (let i = 0; i < scene.kinds.length; i++) {
      if (i === item) continue;
      const [x, y] = centre(i);
      const along = (x - from[0]) * dx + (y - from[1]) * dy;
      const across = Math.abs((x - from[0]) * dy) + Math.abs((y - from[1]) * dx);
      if (along <= 1) continue;
      const far = along + across * 2;
      if (far < least) {
        least = far;
        best = i;
      }
    }
    if (best === null) return;
    const selection: Selection = { type: scene.kinds[best] === NODE ? "node" : "group", id: scene.ids[best] ?? 0 };
    this.#actions.select(selection);
    const [x, y] = this.#transform.apply(centre(best));
    const inside = x > 40 && y > 40 && x < this.svg.clientWidth - 40 && y < this.svg.clientHeight - 40;
    if (!inside) this.center(selection);
  }
}

/** A path through corners, each rounded. */
function rounded(points: [number, number][]): string {
  const first = points[0];
  if (!first) return "";
  let d = `M${first[0].toFixed(1)} ${first[1].toFixed(1)}`;
  for (let i = 1; i < points.length; i++) {
    const [a, b, c] = [points[i - 1], points[i], points[i + 1]];
    if (!a || !b) break;
    if (!c) {
      d += `L${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
      break;
    }
    const before = Math.hypot(b[0] - a[0], b[1] - a[1]);
    const after = Math.hypot(c[0] - b[0], c[1] - b[1]);
    const r = Math.min(6, before / 2, after / 2);
    if (r < 0.5) {
      d += `L${b[0].toFixed(1)} ${b[1].toFixed(1)}`;
      continue;
    }
    const p = [b[0] + ((a[0] - b[0]) / before) * r, b[1] + ((a[1] - b[1]) / before) * r] as const;
    const q = [b[0] + ((c[0] - b[0]) / after) * r, b[1] + ((c[1] - b[1]) / after) * r] as const;
    d += `L${p[0].toFixed(1)} ${p[1].toFixed(1)}Q${b[0].toFixed(1)} ${b[1].toFixed(1)} ${q[0].toFixed(1)} ${q[1].toFixed(1)}`;
  }
  return d;
}
