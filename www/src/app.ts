/** One viewer: its state, what users can do, and drawing it. No globals. */

import { nothing, render } from "lit";
import { CallError, Client } from "./client";
import { openSample } from "./flavour";
import { page } from "./panels/page";
import type { ErrorInfo, EventInfo, Grouping, Metric, OpenResult } from "./protocol";
import { GraphView } from "./render/graph";
import { initialState, type Selection, type State } from "./state";
import type { Stats } from "./worker/messages";

/** Opening that takes less than this shows no progress, in milliseconds. */
const PROGRESS_AFTER = 300;
const EVENT_PAGE = 10_000;

export class App {
  readonly state: State = initialState();
  readonly graph: GraphView;
  #client: Client;
  #expanded = new Map<string, Set<number>>();
  #scheduled = false;
  /** Set while a view is put together: what is half ready is not worth drawing. */
  #held = false;
  #opening = 0;
  #root: HTMLElement;
  /** Told when files were chosen, and when what they give is on the screen. */
  onChosen: () => void = () => undefined;
  onDrawn: (stats: Stats) => void = () => undefined;

  constructor(root: HTMLElement, client = new Client()) {
    this.#root = root;
    this.#client = client;
    this.graph = new GraphView({
      select: (selection) => void this.select(selection),
      toggle: (group) => void this.toggle(group),
    });
    this.#client.onProgress = (progress) => {
      if (performance.now() - this.#opening > PROGRESS_AFTER) this.update({ progress });
    };
    this.#client.onCrash = () => {
      Object.assign(this.state, { ...initialState(), notices: this.state.notices, samples: this.state.samples });
      this.graph.clear();
      this.draw();
    };
    this.#listen();
    this.draw();
  }

  /** Ends the viewer; it cannot be used any more. */
  close(): void {
    this.#client.close();
    render(nothing, this.#root);
  }

  #listen(): void {
    const root = this.#root;
    let depth = 0;
    root.addEventListener("dragenter", (event) => {
      event.preventDefault();
      depth++;
      this.update({ dragging: true });
    });
    root.addEventListener("dragover", (event) => {
      event.preventDefault();
    });
    root.addEventListener("dragleave", () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) this.update({ dragging: false });
    });
    root.addEventListener("drop", (event) => {
      event.preventDefault();
      depth = 0;
      this.update({ dragging: false });
      const files = [...(event.dataTransfer?.files ?? [])];
      if (files.length > 0) void this.open(files);
    });
  }

  update(change: Partial<State>): void {
    Object.assign(this.state, change);
    this.draw();
  }

  draw(): void {
    if (this.#scheduled || this.#held) return;
    this.#scheduled = true;
    requestAnimationFrame(() => {
      this.#scheduled = false;
      render(page(this), this.#root);
      const host = this.#root.querySelector<HTMLElement>("[data-graph-host]");
      if (host) this.graph.attach(host);
    });
  }

  fail(error: unknown, file = ""): void {
    const info: ErrorInfo =
      error instanceof CallError
        ? error.info
        : { code: "internal", message: error instanceof Error ? error.message : String(error), place: "", next: "" };
    this.update({ notices: [...this.state.notices, { file, error: info }].slice(-20) });
  }

  async open(files: File[]): Promise<void> {
    await this.#open(() => this.#client.call("open", { files }));
  }

  async openSample(id: string): Promise<void> {
    await this.#open(async () => this.#client.call("openBytes", { files: await openSample(id) }));
  }

  async #open(act: () => Promise<OpenResult>): Promise<void> {
    this.onChosen();
    this.#opening = performance.now();
    try {
      const result = await act();
      const { bytesRead, engineMs } = this.#client.stats;
      const notices = result.rejected.map((r) => ({ file: r.name, error: r.error }));
      const opened = result.files.length > (this.state.opened?.files.length ?? 0);
      this.#held = opened;
      this.update({ opened: result, progress: null, notices });
      if (opened && result.current !== null) await this.show(result.current);
      this.#held = false;
      this.draw();
      await this.#painted();
      this.onDrawn({ ...this.#client.stats, bytesRead, engineMs });
    } catch (error) {
      this.#held = false;
      this.update({ progress: null });
      if (!(error instanceof CallError && error.info.code === "cancelled")) this.fail(error);
    }
  }

  async #painted(): Promise<void> {
    for (let i = 0; i < 2; i++) await new Promise((resolve) => requestAnimationFrame(resolve));
  }

  cancel(): void {
    this.#client.cancel();
  }

  async closeAll(): Promise<void> {
    await this.#client.call("closeAll", {});
    Object.assign(this.state, { ...initialState(), samples: this.state.samples });
    this.#expanded.clear();
    this.graph.clear();
    this.draw();
  }

  async show(view: number): Promise<void> {
    try {
      const info = await this.#client.call("view", { view });
      const { block, graph } = info;
      this.update({
        view: info, block, graph, selection: null, details: null, events: null,
        tab: info.graphs.length === 0 ? "events" : "graph",
      });
      await this.refresh(true);
    } catch (error) {
      this.fail(error);
    }
  }

  async setBlock(block: number): Promise<void> {
    const graph = this.state.view?.blocks[block]?.graph ?? this.state.graph;
    const moved = graph !== this.state.graph;
    this.update({ block, graph, events: null });
    await this.refresh(moved);
  }

  async setGraph(graph: number): Promise<void> {
    const { view } = this.state;
    try {
      if (view && view.graphs[graph]?.loaded === false) {
        this.update({ view: await this.#client.call("loadGraph", { view: view.id, graph }) });
      }
      this.update({ graph, selection: null, details: null });
      await this.refresh(true);
    } catch (error) {
      this.fail(error);
      // The chooser goes back to the graph that is shown.
      this.draw();
    }
  }

  /** Opens the module that a delegate call carries as a graph of its own. */
  async openInside(node: number): Promise<void> {
    const { view, graph } = this.state;
    if (!view || graph === null) return;
    try {
      const info = await this.#client.call("openInside", { view: view.id, graph, node });
      this.update({ view: info, graph: info.graph, selection: null, details: null });
      await this.refresh(true);
    } catch (error) {
      this.fail(error);
    }
  }

  async setMethod(method: string | null): Promise<void> {
    const { view, block } = this.state;
    if (!view || block === null) return;
    try {
      const info = await this.#client.call("setMethod", { view: view.id, block, method });
      this.#expanded.clear();
      this.update({ view: info, graph: info.blocks[block]?.graph ?? null, selection: null, details: null, events: null });
      await this.refresh(true);
    } catch (error) {
      this.fail(error);
    }
  }

  async setGrouping(grouping: Grouping): Promise<void> {
    const keep = this.state.selection?.type === "node" ? this.state.selection : null;
    this.update({ grouping, selection: keep, details: keep ? this.state.details : null });
    await this.refresh(true);
  }

  async setMetric(metric: Metric): Promise<void> {
    this.update({ metric });
    await this.refresh(false);
  }

  async setEstimates(estimates: boolean): Promise<void> {
    this.update({ estimates });
    await this.refresh(false);
  }

  #expansionKey(): string {
    const { view, graph, grouping } = this.state;
    return `${String(view?.record?.id)}/${String(graph)}/${grouping}`;
  }

  async #expansion(): Promise<Set<number>> {
    const key = this.#expansionKey();
    const { view, graph, grouping } = this.state;
    let set = this.#expanded.get(key);
    if (!set && view && graph !== null) {
      set = new Set(await this.#client.call("initialExpansion", { view: view.id, graph, grouping }));
      this.#expanded.set(key, set);
    }
    return set ?? new Set();
  }

  /** Fetches drawing and figures again; `fit` shows the whole drawing. */
  async refresh(fit: boolean, anchor?: number): Promise<void> {
    const { view, graph, block, grouping, metric, estimates, tab } = this.state;
    try {
      if (view && graph !== null) {
        const expanded = Uint32Array.from(await this.#expansion());
        const [scene, overlay] = await Promise.all([
          this.#client.call("scene", { view: view.id, graph, grouping, expanded }),
          block === null ? null : this.#client.call("overlay", { view: view.id, graph, block, grouping, metric, estimates }),
        ]);
        this.update({ scene, overlay });
        this.graph.show(scene, overlay, this.state, { fit, anchor });
      } else {
        this.update({ scene: null, overlay: null });
        this.graph.clear();
      }
      if (this.state.selection) await this.#loadDetails(this.state.selection);
      if (tab === "events") await this.loadEvents();
    } catch (error) {
      this.fail(error);
    }
  }

  redraw(): void {
    const { scene, overlay } = this.state;
    if (scene) this.graph.show(scene, overlay, this.state, { fit: false });
    this.draw();
  }

  async loadEvents(): Promise<void> {
    const { view, block, events } = this.state;
    if (!view || block === null || events !== null) return;
    const rows: EventInfo[] = [];
    for (;;) {
      const page = await this.#client.call("events", { view: view.id, block, from: rows.length, count: EVENT_PAGE });
      rows.push(...page.rows);
      if (page.rows.length === 0 || rows.length >= page.total) break;
    }
    this.update({ events: rows });
  }

  async toggle(group: number): Promise<void> {
    const set = await this.#expansion();
    if (set.has(group)) set.delete(group);
    else set.add(group);
    await this.refresh(false, group);
  }

  /** Opens every closed group that is shown, or closes all. */
  async expandAll(open: boolean): Promise<void> {
    const set = await this.#expansion();
    const { scene } = this.state;
    if (!scene) return;
    if (open) scene.kinds.forEach((kind, i) => kind === 1 && set.add(scene.ids[i] ?? 0));
    else set.clear();
    await this.refresh(true);
  }

  async select(selection: Selection | null): Promise<void> {
    this.update({ selection, details: selection ? this.state.details : null, values: new Map() });
    this.graph.select(selection);
    if (!selection) return;
    try {
      await this.#loadDetails(selection);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Reads the values of a parameter, buffer or constant of a node. */
  async loadValues(node: number, name: string): Promise<void> {
    const { view, graph, values } = this.state;
    const key = `${String(node)}/${name}`;
    if (!view || graph === null || values.has(key)) return;
    try {
      values.set(key, await this.#client.call("tensorValues", { view: view.id, graph, node, name }));
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      values.set(key, error.info);
    }
    this.draw();
  }

  async #loadDetails(selection: Selection): Promise<void> {
    const { view, graph, block, grouping, estimates } = this.state;
    if (!view || graph === null) return;
    const details =
      selection.type === "node"
        ? await this.#client.call("nodeDetails", { view: view.id, graph, block, node: selection.id })
        : await this.#client.call("groupDetails", { view: view.id, graph, block, grouping, group: selection.id, estimates });
    if (this.state.selection === selection) this.update({ details });
  }

  /** Shows a node of the graph that the block's events are on. */
  async jumpToEvent(node: number): Promise<void> {
    const { view, block, graph } = this.state;
    const of = block === null ? null : (view?.blocks[block]?.graph ?? null);
    this.update({ tab: "graph" });
    if (of !== null && of !== graph) await this.setGraph(of);
    await this.jump(node);
  }

  /** Shows a node wherever it is, opening the groups around it. */
  async jump(node: number): Promise<void> {
    const { view, graph, grouping } = this.state;
    if (!view || graph === null) return;
    try {
      const { groups } = await this.#client.call("locate", { view: view.id, graph, grouping, node });
      const set = await this.#expansion();
      const closed = groups.filter((g) => !set.has(g));
      closed.forEach((g) => set.add(g));
      this.update({ tab: "graph" });
      if (closed.length > 0) await this.refresh(false);
      await this.select({ type: "node", id: node });
      this.graph.center({ type: "node", id: node });
    } catch (error) {
      this.fail(error);
    }
  }
}
