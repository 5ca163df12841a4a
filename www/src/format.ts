/** Numbers as text. */

import type { Unit } from "./protocol";

export type ScaleName = "ns" | "us" | "ms" | "s" | "cycles" | "cycles-at";

export interface Scale {
  name: ScaleName;
  /** Clock rate in Hz, for `cycles-at`. */
  hertz: number;
}

const TIMES: [string, number][] = [
  ["s", 1],
  ["ms", 1e-3],
  ["µs", 1e-6],
  ["ns", 1e-9],
];
const CYCLES: [string, number][] = [
  ["Gcyc", 1e9],
  ["Mcyc", 1e6],
  ["kcyc", 1e3],
  ["cyc", 1],
];

/** Seconds of one tick; null when ticks are cycles of an unknown rate. */
export function secondsPerTick(scale: Scale): number | null {
  switch (scale.name) {
    case "ns":
      return 1e-9;
    case "us":
      return 1e-6;
    case "ms":
      return 1e-3;
    case "s":
      return 1;
    case "cycles":
      return null;
    case "cycles-at":
      return scale.hertz > 0 ? 1 / scale.hertz : null;
  }
}

/** Ticks in the largest unit that keeps three digits. */
export function ticks(value: number, scale: Scale): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const seconds = secondsPerTick(scale);
  const [amount, units] = seconds === null ? [value, CYCLES] : [value * seconds, TIMES];
  const unit = units.find(([, size]) => Math.abs(amount) >= size * 0.9995) ?? units[units.length - 1];
  if (!unit) return String(amount);
  const number = amount / unit[1];
  const size = Math.abs(number);
  // Of single nanoseconds and cycles there are no fractions but in means.
  const whole = (unit[0] === "ns" || unit[0] === "cyc") && Number.isInteger(value);
  const digits = whole ? 0 : size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return `${number.toFixed(digits)} ${unit[0]}`;
}

/**
 * A name for a place with room for one line: marks that turn the direction of writing, line ends
 * and other controls become visible, and no more is kept than anybody reads.
 */
export function oneLine(name: string): string {
  return name.slice(0, 1000).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\u2423");
}

/** A fraction as a percentage with up to three digits. */
export function percent(fraction: number): string {
  if (!Number.isFinite(fraction)) return "–";
  const value = fraction * 100;
  if (value === 0) return "0 %";
  if (value < 0.01) return "<0.01 %";
  return `${value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} %`;
}

export function bytes(value: number): string {
  if (value < 1000) return `${count(value)} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let at = -1;
  let size = value;
  while (size >= 999.5 && at < units.length - 1) {
    size /= 1000;
    at++;
  }
  return `${size.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${units[at] ?? "B"}`;
}

export function count(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString("en-US") : value.toFixed(2);
}

/** A figure of an event, in its unit. */
export function figure(value: number, unit: Unit, scale: Scale): string {
  switch (unit) {
    case "ticks":
      return ticks(value, scale);
    case "modelled-ticks":
      return `≈ ${ticks(value, scale)}`;
    case "us":
      return ticks(value, { name: "us", hertz: 0 });
    case "bytes":
      return bytes(value);
    case "count":
    case "counter":
      return count(value);
  }
}

/** Whether a figure can be compared with execute. */
export function isTime(unit: Unit): boolean {
  return unit === "ticks" || unit === "modelled-ticks";
}

/** What an event is called: delegate ops often have an id and no name. */
export function eventName(event: { name: string; label: string | null; delegateDebugId: string | null }): string {
  return event.name || (event.label ?? event.delegateDebugId ?? "(no name)");
}
