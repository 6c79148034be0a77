/** Describes the positions of a wave's lanes, in words and by line. Does not depend on the editor. */

import type { Lane, LaneState, LaneValue, Source } from './protocol';

/** A lane as the view shows it. */
export interface ShownLane {
  lane: number;
  state: LaneState;
  item: string;
  /** The position of the lane, if it is not active in the frame. */
  place: string;
  value: string;
  /** The number of the value's color. Absent if there is no value, or no color left. */
  color?: number;
}

/** A line where lanes wait. */
export interface WaitingLine {
  source: Source;
  line: number;
  lanes: number[];
}

/** A value with the lanes that have it. */
export interface LegendEntry {
  value: string;
  count: number;
  color?: number;
}

/** The number of colors in the view. */
export const COLORS = 6;

/** Returns lanes as ranges: `0-26 even, 31`. */
export function ranges(lanes: readonly number[]): string {
  const parts: string[] = [];
  let at = 0;
  while (at < lanes.length) {
    const first = lanes[at]!;
    let step = (lanes[at + 1] ?? first + 1) - first;
    if (step > 2) {
      step = 1;
    }
    let end = at;
    while (end + 1 < lanes.length && lanes[end + 1]! - lanes[end]! === step) {
      end += 1;
    }
    // Two lanes are not enough for an even or odd range.
    if (step === 2 && end - at < 2) {
      end = at;
    }
    const last = lanes[end]!;
    const parity = step === 2 ? (first % 2 === 0 ? ' even' : ' odd') : '';
    parts.push(first === last ? `${first}` : `${first}-${last}${end === at ? '' : parity}`);
    at = end + 1;
  }
  return parts.join(', ');
}

/** Describes lanes, with the values of an expression in them. */
export function shownLanes(lanes: readonly Lane[], values: readonly LaneValue[]): ShownLane[] {
  const texts = new Map(values.map(({ lane, text }) => [lane, text]));
  const colors = new Map(legend(values).map(({ value, color }) => [value, color]));
  return lanes.map((lane) => {
    const value = texts.get(lane.lane) ?? '';
    const line = lane.source?.name && lane.line ? `${lane.source.name}:${lane.line}` : lane.pc;
    const color = colors.get(value);
    return {
      lane: lane.lane,
      state: lane.state,
      item: lane.workItem ? `(${lane.workItem.join(',')})` : '',
      place: line ? `waits at ${line}` : '',
      value,
      ...(color === undefined ? {} : { color }),
    };
  });
}

/** Returns the values of lanes, the most frequent first. A text in angle brackets is the reason for a missing value. */
export function legend(values: readonly LaneValue[]): LegendEntry[] {
  const counts = new Map<string, number>();
  for (const { text } of values) {
    if (!text.startsWith('<')) {
      counts.set(text, (counts.get(text) ?? 0) + 1);
    }
  }
  const sorted = [...counts].sort(([, one], [, other]) => other - one);
  return sorted.map(([value, count], color) => ({ value, count, ...(color < COLORS ? { color } : {}) }));
}

/** Returns the lines where lanes wait. */
export function waitingLines(lanes: readonly Lane[]): WaitingLine[] {
  const lines = new Map<string, WaitingLine>();
  for (const { lane, line, source } of lanes) {
    if (!line || !source) {
      continue;
    }
    const key = `${source.path ?? source.sourceReference}:${line}`;
    const found = lines.get(key) ?? { source, line, lanes: [] };
    found.lanes.push(lane);
    lines.set(key, found);
  }
  return [...lines.values()];
}
