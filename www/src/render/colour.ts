/** The heat scale: steps on a logarithmic axis, since profiles are skewed. */

export interface HeatScale {
  low: number;
  high: number;
  steps: number;
}

const STEPS = 7;
/** What is smaller than this part of the largest value shares the lowest step. */
const DECADES = 4;

/** A scale over the finite positive values; null when there are none. */
export function heatScale(values: Iterable<number>): HeatScale | null {
  let low = Infinity;
  let high = 0;
  for (const value of values) {
    if (!(value > 0) || !Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (high === 0) return null;
  low = Math.max(low, high / 10 ** DECADES);
  if (low > high / 10) low = high / 10;
  return { low, high, steps: STEPS };
}

/** The step of a value, 0 the coolest; -1 for none. */
export function heatStep(scale: HeatScale | null, value: number): number {
  if (!scale || Number.isNaN(value)) return -1;
  if (!(value > 0)) return 0;
  const at = Math.log(value / scale.low) / Math.log(scale.high / scale.low);
  return Math.max(0, Math.min(scale.steps - 1, Math.floor(at * scale.steps)));
}

/** The smallest value of a step. */
export function stepStart(scale: HeatScale, step: number): number {
  return scale.low * (scale.high / scale.low) ** (step / scale.steps);
}
