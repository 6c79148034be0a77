/** The parts of hetdwarf's answers that the extension uses. docs/editor.md lists the requests that only hetdwarf has. */

export type LaneState = 'active' | 'waiting' | 'elsewhere' | 'unknown';

export interface Lane {
  lane: number;
  state: LaneState;
  workItem?: [number, number, number];
  /** The address at which the lane resumes, if it waits or is in a caller. */
  pc?: string;
  line?: number | null;
  source?: Source;
}

export interface LanesBody {
  lanes: Lane[];
  focus: number | null;
}

export interface Source {
  name?: string;
  path?: string;
  sourceReference?: number;
  origin?: string;
}

export interface StackFrame {
  id: number;
  name: string;
  line: number;
  column: number;
  source?: Source;
}

export interface Group {
  kernel?: string | null;
  stack: string[];
  state: string;
  waves: number[];
}

export interface Thread {
  id: number;
  name: string;
}

/** The value of an expression in a lane. */
export interface LaneValue {
  lane: number;
  text: string;
}

export interface StoppedBody {
  reason: string;
  description?: string;
  text?: string;
  threadId?: number;
}
