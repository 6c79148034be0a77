/** The page of the view *Lanes*. Values come from untrusted files, so everything is inserted as text. */

interface ShownLane {
  lane: number;
  state: string;
  item: string;
  place: string;
  value: string;
  color?: number;
}

interface State {
  title: string;
  lanes: ShownLane[];
  legend: { value: string; count: number; color?: number }[];
  expression: string;
  error: string;
  focus: number | null;
}

declare function acquireVsCodeApi(): { postMessage(message: object): void };

const api = acquireVsCodeApi();
const COLUMNS = 8;
const STATES: Record<string, string> = {
  active: 'active',
  waiting: 'waits',
  elsewhere: 'not in this frame',
  unknown: 'position unknown',
};

function element<T extends HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

const grid = element<HTMLDivElement>('grid');
const expression = element<HTMLInputElement>('expression');
/** The lane with the keyboard focus. */
let current = 0;
let state: State | undefined;

function describe(lane: ShownLane): string {
  const parts = [`lane ${lane.lane}`];
  if (lane.item) {
    parts.push(`work-item ${lane.item}`);
  }
  parts.push(lane.place && lane.state === 'waiting' ? lane.place : STATES[lane.state] ?? lane.state);
  if (lane.place && lane.state !== 'waiting') {
    parts.push(lane.place);
  }
  if (lane.value && state?.expression) {
    parts.push(`${state.expression} = ${lane.value}`);
  }
  return parts.join(', ');
}

function cells(): HTMLButtonElement[] {
  return [...grid.querySelectorAll('button')];
}

function move(to: number): void {
  const all = cells();
  const cell = all[to];
  if (!cell) {
    return;
  }
  for (const one of all) {
    one.tabIndex = -1;
  }
  cell.tabIndex = 0;
  current = to;
  cell.focus();
}

function cell(lane: ShownLane): HTMLButtonElement {
  const button = document.createElement('button');
  const isFocus = state?.focus === lane.lane;
  button.type = 'button';
  button.setAttribute('role', 'gridcell');
  button.setAttribute('aria-selected', String(isFocus));
  button.setAttribute('aria-label', describe(lane));
  button.title = describe(lane);
  button.tabIndex = lane.lane === current ? 0 : -1;
  button.className = `lane ${lane.state in STATES ? lane.state : 'unknown'}`;
  if (lane.color !== undefined) {
    button.classList.add(`color-${lane.color}`);
  }
  const number = document.createElement('span');
  number.textContent = String(lane.lane);
  button.append(number);
  if (lane.value && !lane.value.startsWith('<')) {
    const value = document.createElement('span');
    value.className = 'value';
    value.textContent = lane.value;
    button.append(value);
  }
  const describeHere = (): void => {
    element('detail').textContent = describe(lane);
  };
  button.addEventListener('click', () => api.postMessage(isFocus ? { kind: 'all' } : { kind: 'lane', lane: lane.lane }));
  button.addEventListener('focus', () => {
    current = lane.lane;
    describeHere();
  });
  button.addEventListener('mouseenter', describeHere);
  return button;
}

function show(next: State): void {
  const hadFocus = grid.contains(document.activeElement);
  state = next;
  current = Math.min(next.focus ?? current, Math.max(0, next.lanes.length - 1));
  element('title').textContent = next.title;
  element('error').textContent = next.error;
  element('detail').textContent = '';
  element<HTMLButtonElement>('all').disabled = next.focus === null;
  if (document.activeElement !== expression) {
    expression.value = next.expression;
  }
  const rows: HTMLElement[] = [];
  for (let first = 0; first < next.lanes.length; first += COLUMNS) {
    const row = document.createElement('div');
    row.setAttribute('role', 'row');
    row.append(...next.lanes.slice(first, first + COLUMNS).map(cell));
    rows.push(row);
  }
  grid.replaceChildren(...rows);
  const entries = next.legend.length > 0 ? next.legend.map(valueEntry) : stateEntries(next.lanes);
  element('legend').replaceChildren(...entries);
  if (hadFocus) {
    cells()[current]?.focus();
  }
}

function entry(className: string, text: string): HTMLLIElement {
  const item = document.createElement('li');
  const sample = document.createElement('span');
  sample.className = `sample ${className}`;
  sample.setAttribute('aria-hidden', 'true');
  item.append(sample, text);
  return item;
}

function valueEntry({ value, count, color }: State['legend'][number]): HTMLLIElement {
  return entry(color === undefined ? '' : `color-${color}`, `${value} × ${count}`);
}

function stateEntries(lanes: ShownLane[]): HTMLLIElement[] {
  return Object.entries(STATES).flatMap(([name, text]) => {
    const count = lanes.filter((lane) => lane.state === name).length;
    return count > 0 ? [entry(name, `${text} × ${count}`)] : [];
  });
}

grid.addEventListener('keydown', (event) => {
  const steps: Record<string, number> = {
    ArrowRight: current + 1,
    ArrowLeft: current - 1,
    ArrowDown: current + COLUMNS,
    ArrowUp: current - COLUMNS,
    Home: 0,
    End: cells().length - 1,
  };
  const to = steps[event.key];
  if (to !== undefined) {
    event.preventDefault();
    move(to);
  }
});
element('all').addEventListener('click', () => api.postMessage({ kind: 'all' }));
element('watch').addEventListener('submit', (event) => {
  event.preventDefault();
  api.postMessage({ kind: 'watch', expression: expression.value });
});
expression.addEventListener('change', () => api.postMessage({ kind: 'watch', expression: expression.value }));
window.addEventListener('message', (event: MessageEvent<State>) => show(event.data));
api.postMessage({ kind: 'ready' });
