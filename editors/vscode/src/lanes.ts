/** Where the lanes of a wave are, in words and by line; nothing of the editor. */

import type { Lane, LaneState, LaneValue, LanesBody, Source, StackFrame } from './protocol';

/** A lane as the view shows it. */
export interface ShownLane {
  lane: number;
  state: LaneState;
  item: string;
  /** Where the lane is, if it is not active in the frame. */
  place: string;
  value: string;
  /** Which of the colors its value has; absent if there is no value, or no color left. */
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

/** How many colors the view has. */
export const COLORS = 6;

interface FrameLanes {
  frame: StackFrame;
  lanes: LanesBody;
}

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
    // Two lanes with one between them are no pattern.
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

function base(path: string): string {
  return path.split(/[/\\]/).pop() ?? path;
}

/** Returns where a lane goes on, as it is seen in a frame: there, or in the innermost outer frame that it is in. */
function waiting(frames: readonly FrameLanes[], from: number, lane: number): { at: FrameLanes; lane: Lane } | undefined {
  for (const at of frames.slice(from)) {
    const found = at.lanes.lanes[lane];
    if (found?.state === 'waiting') {
      return { at, lane: found };
    }
    if (found?.state !== 'elsewhere') {
      return undefined;
    }
  }
  return undefined;
}

/** Describes the lanes of one of the frames of a wave. */
export function shownLanes(frames: readonly FrameLanes[], index: number, values: readonly LaneValue[]): ShownLane[] {
  const texts = new Map(values.map(({ lane, text }) => [lane, text]));
  const colors = new Map(legend(values).map(({ value, color }) => [value, color]));
  return (frames[index]?.lanes.lanes ?? []).map((lane) => {
    const value = texts.get(lane.lane) ?? '';
    const there = waiting(frames, index, lane.lane);
    const line = there?.lane.line ? `${base(there.lane.file ?? '?')}:${there.lane.line}` : there?.lane.pc;
    const color = colors.get(value);
    return {
      lane: lane.lane,
      state: lane.state,
      item: lane.workItem ? `(${lane.workItem.join(',')})` : '',
      place: there && line ? `waits in ${there.at.frame.name} at ${line}` : '',
      value,
      ...(color === undefined ? {} : { color }),
    };
  });
}

/** Returns the values of lanes, the most frequent first. Texts in angle brackets say why there is no value. */
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

/** Returns the lines where the lanes of a wave wait, each lane at its innermost place. */
export function waitingLines(frames: readonly FrameLanes[]): WaitingLine[] {
  const lines = new Map<string, WaitingLine>();
  for (const { lane } of frames[0]?.lanes.lanes ?? []) {
    const there = waiting(frames, 0, lane);
    if (!there?.lane.line || !there.lane.file) {
      continue;
    }
    // The path of the line table is none that an editor opens: the sources of the frames are.
    const name = base(there.lane.file);
    const source = [there.at, ...frames].map(({ frame }) => frame.source).find((one) => one?.name === name);
    if (!source) {
      continue;
    }
    const key = `${source.path ?? source.sourceReference}:${there.lane.line}`;
    const line = lines.get(key) ?? { source, line: there.lane.line, lanes: [] };
    line.lanes.push(lane);
    lines.set(key, line);
  }
  return [...lines.values()];
}
