/** What one viewer shows. Plain data; `App` changes it and draws it. */

import type { Scale } from "./format";
import type {
  Details, ErrorInfo, EventInfo, Grouping, Metric, OpenProgress, OpenResult, Overlay, Scene, TensorValues, ViewInfo,
} from "./protocol";

export interface Notice {
  /** The file it is about; empty when it is about none. */
  file: string;
  error: ErrorInfo;
}

export interface Selection {
  type: "node" | "group";
  id: number;
}

export interface EventSort {
  column: string;
  down: boolean;
}

export interface State {
  opened: OpenResult | null;
  view: ViewInfo | null;
  graph: number | null;
  block: number | null;
  grouping: Grouping;
  metric: Metric;
  /** Whether delegate ops that no map ties to the graph are shown where they most likely belong. */
  estimates: boolean;
  scale: Scale;
  scene: Scene | null;
  overlay: Overlay | null;
  selection: Selection | null;
  details: Details | null;
  /** Values of the selected node's parameters that were asked for, or why there are none. */
  values: Map<string, TensorValues | ErrorInfo>;
  /** Set while files are opened, once that has taken long enough to be worth telling. */
  progress: OpenProgress | null;
  notices: Notice[];
  /** What is open below the header. */
  drawer: "diagnostics" | "off-graph" | null;
  tab: "graph" | "events" | "memory";
  events: EventInfo[] | null;
  eventFilter: string;
  eventSort: EventSort;
  dragging: boolean;
  samples: { id: string; title: string; about: string }[];
}

export function initialState(): State {
  return {
    opened: null,
    view: null,
    graph: null,
    block: null,
    grouping: "module",
    metric: "avg",
    estimates: true,
    scale: { name: "ns", hertz: 1e9 },
    scene: null,
    overlay: null,
    selection: null,
    details: null,
    values: new Map(),
    progress: null,
    notices: [],
    drawer: null,
    tab: "graph",
    events: null,
    eventFilter: "",
    eventSort: { column: "", down: true },
    dragging: false,
    samples: [],
  };
}
