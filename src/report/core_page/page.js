"use strict";
(() => {
// Text of files is shown by its characters only: what turns the direction of text around, or is not seen, is written by its number.
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
const LONGEST = 4096;
const shown = (text) => {
  const all = String(text);
  const cut = all.length > LONGEST ? all.slice(0, LONGEST) + "…" : all;
  return cut.replace(UNSEEN, (letter) => "\\u{" + letter.codePointAt(0).toString(16) + "}");
};
const find = (id) => document.getElementById(id);
/** An element with attributes and children; a child that is no element becomes a text. There is no other way to make one. */
const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== undefined && value !== false) element.setAttribute(name, shown(value));
  }
  for (const child of children.flat(2)) {
    if (child === null || child === undefined || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
};
/** A part that is scrolled by itself, also by keys. */
const wide = (name, ...children) => make("div", { class: "wide", tabindex: "0", role: "region", "aria-label": name }, ...children);
const counted = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

const parsed = (id) => {
  const element = find(id);
  return element && JSON.parse(element.textContent);
};
const page = parsed("core");
const { sources, cut } = parsed("end");
const core = page.document;
const waves = core.waves;
/** A log knows neither GPUs nor queues. */
const isLog = core.note === null;
const groupOf = new Map();
for (const group of core.groups) for (const index of group.waves) groupOf.set(index, group);

/** Details are parsed when they are asked for, and kept. */
const details = new Map();
const detailOf = (index) => {
  if (!details.has(index)) details.set(index, parsed(`wave-${index}`));
  return details.get(index);
};
/** The state of each lane: that of the details, or else only whether it is active. */
const statesOf = (wave) => {
  const detail = detailOf(wave.index);
  if (detail && detail.lanes.length) return detail.lanes.map((place) => detail.places[place].state);
  const exec = BigInt(wave.exec);
  return Array.from({ length: wave.lanes }, (_, lane) => ((exec >> BigInt(lane)) & 1n ? "active" : "unknown"));
};
const at = (wave) => (wave.workgroup && wave.wave_in_group !== null ? `(${wave.workgroup})/${wave.wave_in_group}` : "(?,?,?)/?");
const stackOf = (wave) => groupOf.get(wave.index)?.stack ?? [];
const line = (wave) => (wave.file ? `${wave.file.split(/[\\/]/).pop()}${wave.line ? ":" + wave.line : ""}` : wave.pc);
const where = (wave) => `${wave.function ?? stackOf(wave)[0] ?? "?"}${wave.function ? " at " + line(wave) : ""}`;
const isFault = (wave) => wave.stop.some((name) => page.reasons[name]?.fault);
const state = (of) => make("span", { class: of.stop?.length ? "alarm" : "" }, of.stop?.length ? of.stop.join(", ") : of.state);

/** A list that draws only the rows that are seen. */
class List {
  constructor(box, height, row, choose) {
    Object.assign(this, { box, height, row, choose, items: [], chosen: -1 });
    this.inner = box.appendChild(make("div", { role: "presentation" }));
    let isAsked = false;
    const later = () => {
      if (!isAsked) requestAnimationFrame(() => { isAsked = false; this.draw(); });
      isAsked = true;
    };
    box.addEventListener("scroll", later, { passive: true });
    new ResizeObserver(later).observe(box);
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.pick(Number(row.dataset.at), true);
    });
  }
  set(items, chosen) {
    this.items = items;
    this.chosen = chosen;
    this.inner.style.height = `${items.length * this.height}px`;
    this.show();
  }
  /** Brings the chosen row into view. */
  show() {
    const top = Math.max(this.chosen, 0) * this.height;
    const { scrollTop, clientHeight } = this.box;
    if (top < scrollTop) this.box.scrollTop = top;
    else if (top + this.height > scrollTop + clientHeight) this.box.scrollTop = top + this.height - clientHeight;
    this.draw();
  }
  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - 4);
    const last = Math.min(this.items.length, first + Math.ceil(this.box.clientHeight / this.height) + 8);
    const rows = [];
    for (let at = first; at < last; at++) {
      const row = make("div", { class: `row${at === this.chosen ? " chosen" : ""}`, role: "option", id: `${this.box.id}-${at}`,
        "aria-selected": String(at === this.chosen), "aria-setsize": this.items.length, "aria-posinset": at + 1, "data-at": at }, this.row(this.items[at]));
      row.style.cssText = `top:${at * this.height}px;height:${this.height}px;line-height:${this.height}px`;
      rows.push(row);
    }
    this.inner.replaceChildren(...rows);
    if (this.chosen >= first && this.chosen < last) this.box.setAttribute("aria-activedescendant", `${this.box.id}-${this.chosen}`);
    else this.box.removeAttribute("aria-activedescendant");
  }
  pick(at, isClick) {
    if (!this.items.length) return;
    this.chosen = Math.min(Math.max(at, 0), this.items.length - 1);
    this.show();
    this.choose(this.items[this.chosen], isClick);
  }
  key(event) {
    const screen = Math.max(1, Math.floor(this.box.clientHeight / this.height) - 1);
    const to = { ArrowUp: this.chosen - 1, ArrowDown: this.chosen + 1, PageUp: this.chosen - screen, PageDown: this.chosen + screen,
      Home: 0, End: this.items.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.pick(to);
  }
}

/** The kernel's name in the source, or its symbol. */
const kernelOf = (of) => of.kernel_function ?? of.kernel ?? "?";

// What is chosen.
let group = null, wave = null, lane = null, frame = 0;

const bar = (of) => make("span", { class: "bar", "aria-hidden": "true" }, statesOf(of).map((name) => make("i", { class: name })));
const groupList = new List(find("groups"), 24, (of) => [
  `${String(of.waves.length).padStart(6)} ${of.state.padEnd(8)} `,
  make("b", {}, kernelOf(waves[of.waves[0] - 1])), ` ${of.stack[0] ?? ""}`,
  of.stack.length > 1 ? make("span", { class: "quiet" }, ` ← ${of.stack.slice(1).join(" ← ")}`) : "",
], (of, isClick) => chooseGroup(isClick && of === group ? null : of));
const waveList = new List(find("waves"), 24, (of) => [
  `${String(of.index).padStart(6)} `, bar(of), state(of), ` ${kernelOf(of)} ${at(of)} `, make("span", { class: "quiet" }, where(of)),
], (of) => chooseWave(of));

/** What the search looks in. */
const texts = new Map();
const textOf = (of) => {
  if (!texts.has(of.index)) texts.set(of.index, [of.index, kernelOf(of), at(of), of.state, ...of.stop, ...stackOf(of)].join(" ").toLowerCase());
  return texts.get(of.index);
};
const listWaves = () => {
  const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const from = group ? group.waves.map((index) => waves[index - 1]) : waves;
  const found = words.length ? from.filter((of) => words.every((word) => textOf(of).includes(word))) : from;
  waveList.set(found, wave ? found.indexOf(wave) : -1);
  find("waves-count").textContent = found.length === waves.length ? String(found.length) : `${found.length} of ${waves.length}`;
};
const chooseGroup = (of) => {
  group = of;
  groupList.chosen = of ? core.groups.indexOf(of) : -1;
  groupList.draw();
  listWaves();
  if (of && !of.waves.includes(wave?.index)) waveList.pick(0);
};
const chooseWave = (of) => {
  wave = of;
  lane = null;
  frame = detailOf(of.index)?.own ?? 0;
  drawWave();
};
const chooseLane = (to) => { lane = to; drawWave(); };
const chooseFrame = (to) => { frame = to; drawWave(); };

const placeText = (place) => {
  const file = place.source && sources[place.source[0]]?.name;
  return place.source ? `${file}:${place.source[1]}` : place.pc ?? "an unknown place";
};
const LEGEND = { active: "active", waiting: "waiting", elsewhere: "off: elsewhere, or never started", unknown: "off: position unknown" };

const aboutLane = (detail, states) => {
  if (lane === null) return "Choose a lane to see where it is, and its values.";
  const item = detail?.items?.[lane];
  const name = `Lane ${lane}${item ? `, work-item (${item})` : ""}: `;
  const place = detail?.places?.[detail.lanes[lane]];
  if (!place) return name + (states[lane] === "active" ? "active" : "not active");
  if (place.state === "active") return `${name}active at ${placeText(place)}`;
  if (place.reason === "not-dispatched") return `${name}not started by the dispatch`;
  if (place.state === "waiting") {
    const resumes = place.resumes ? `, resumes at ${place.resumes}` : "";
    return `${name}waiting at ${placeText(place)}${resumes}`;
  }
  if (place.frame) return `${name}did not enter this function; waiting in frame ${place.frame}, at ${placeText(place)}`;
  return `${name}not active${place.reason ? ": " + place.reason : ""}`;
};

/** Keys in a part of the panel, which is drawn anew by them. */
const keys = (element, id, moves) => {
  element.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
    find(id)?.focus();
  });
  return element;
};

const drawLanes = (detail) => {
  const states = statesOf(wave);
  const cells = states.map((name, index) => make("i", { class: `${name}${index === lane ? " chosen" : ""}`, role: "option", id: `lane-${index}`, "aria-selected": String(index === lane),
    "aria-label": `lane ${index}, ${LEGEND[name]}`, title: `lane ${index}: ${LEGEND[name]}`, "data-lane": index }, index));
  const grid = make("div", { class: "cells", id: "lanes", tabindex: 0, role: "listbox", "aria-label": "Lanes", "aria-activedescendant": lane === null ? undefined : `lane-${lane}` }, cells);
  grid.addEventListener("click", (event) => {
    const to = event.target.dataset.lane;
    if (to !== undefined) { chooseLane(Number(to) === lane ? null : Number(to)); find("lanes").focus(); }
  });
  const by = (step) => () => chooseLane(lane === null ? 0 : Math.min(Math.max(lane + step, 0), states.length - 1));
  // A narrow window has fewer columns.
  const columns = () => getComputedStyle(grid).gridTemplateColumns.split(" ").length;
  keys(grid, "lanes", { ArrowLeft: by(-1), ArrowRight: by(1), ArrowUp: () => by(-columns())(), ArrowDown: () => by(columns())(), Home: () => chooseLane(0), End: () => chooseLane(states.length - 1) });
  const legend = Object.entries(LEGEND).map(([name, text]) => {
    const count = states.filter((of) => of === name).length;
    return count ? [make("i", { class: name }), ` ${count} ${text}`] : [];
  });
  return [make("h3", {}, "Lanes"), grid, make("p", { class: "legend quiet" }, legend), make("p", { id: "about-lane" }, aboutLane(detail, states))];
};

const frameText = (of) => {
  const place = of.source ? `${sources[of.source[0]]?.name}:${of.source[1]}` : of.pc;
  const mark = { inlined: " (inlined)", symbol: " (symbol)" }[of.kind] ?? "";
  return `${of.function ?? "?"}${mark} at ${place}`;
};
const drawStack = (detail) => {
  const rows = detail?.frames.length ? detail.frames.map(frameText) : stackOf(wave);
  const list = make("ol", { id: "stack", tabindex: 0, role: "listbox", "aria-label": "Call stack" }, rows.map((text, level) =>
    make("li", { class: detail && level === frame ? "chosen" : "", role: "option", "aria-selected": String(level === frame), "data-level": level }, `#${String(level).padEnd(3)}${text}`)));
  list.addEventListener("click", (event) => {
    const level = event.target.closest("li")?.dataset.level;
    if (level !== undefined && detail?.frames[level]) { chooseFrame(Number(level)); find("stack").focus(); }
  });
  const last = (detail?.frames.length ?? 0) - 1;
  const to = (level) => () => { if (level >= 0 && level <= last) chooseFrame(level); };
  keys(list, "stack", { ArrowUp: to(frame - 1), ArrowDown: to(frame + 1), Home: to(0), End: to(last) });
  const more = detail?.more_frames ? `… ${counted(detail.more_frames, "more frame")}; ` : "";
  return [make("h3", {}, "Stack"), list, detail?.end ? make("p", { class: "quiet" }, `${more}${detail.end}`) : ""];
};

const drawSource = (detail) => {
  const of = detail?.frames[frame];
  if (!of?.source) return [];
  const [file, here] = of.source;
  const { name, lines, warnings } = sources[file];
  if (!lines.length && !warnings.length) return [make("h3", {}, `Source: ${name}`), make("p", { class: "quiet" }, `The source of ${name} is not in this page; give its directory with --source-dir DIR.`)];
  // The lanes that are in this call frame, by line.
  const marks = new Map();
  detail.lanes.forEach((index, number) => {
    const place = detail.places[index];
    if (detail.frames[place.frame]?.call === of.call && place.source?.[0] === file) {
      const known = marks.get(place.source[1]) ?? { active: 0, waiting: 0, lanes: [] };
      known[place.state === "active" ? "active" : "waiting"]++;
      known.lanes.push(number);
      marks.set(place.source[1], known);
    }
  });
  // The line of the access at which the wave faulted.
  const access = wave.fault?.candidates[0];
  const last = (path) => path?.split(/[\\/]/).pop();
  const faulted = access && last(access.file) === last(name) ? access.line : null;
  const near = lines.filter(([number]) => Math.abs(number - here) <= 8 || marks.has(number) || number === faulted);
  const rows = near.map(([number, text]) => {
    const mark = marks.get(number);
    const counts = mark ? [mark.active ? [make("i", { class: "active" }), ` ${mark.active} `] : "", mark.waiting ? [make("i", { class: "waiting" }), ` ${mark.waiting} `] : ""] : "";
    const kind = number === here ? "here" : mark?.lanes.includes(lane) ? "lane-line" : "";
    return make("tr", { class: kind, title: mark ? `lanes ${mark.lanes.join(", ")}` : undefined }, make("td", {}, number === faulted ? make("span", { class: "alarm" }, "fault ") : "", counts), make("td", {}, number), make("td", {}, text || " "));
  });
  const notes = warnings.map((text) => make("p", { class: "alarm" }, text));
  return [make("h3", {}, `Source: ${name}`), ...notes, wide("Source", make("table", { class: "source" }, rows))];
};

/** The states of lanes that have no values in a frame. */
const ABSENT = new Set(["inactive", "not-in-frame"]);
const valueText = ([name, text]) => (name === "ok" || (name === "partial" && text) ? text : ABSENT.has(name) ? "" : `<${text || name}>`);
const drawVariables = (detail) => {
  const of = detail?.frames[frame];
  if (!of) return [];
  const title = make("h3", {}, `Variables of ${of.function ?? "?"} (frame ${frame})`);
  if (!of.variables.length) return [title, make("p", { class: "quiet" }, of.message ?? "There are none.")];
  // Lanes that have a value of at least one variable.
  const columns = new Set();
  for (const { lanes, values } of of.variables) for (const [number, value] of lanes) if (!ABSENT.has(values[value][0])) columns.add(number);
  const order = [...columns].sort((a, b) => a - b);
  const item = (number) => detail.items[number];
  const head = make("tr", {}, make("th", {}, "lane"), order.map((number) => make("th", { class: number === lane ? "chosen" : "", title: item(number) ? `work-item (${item(number)})` : undefined }, number)));
  const rows = of.variables.map((variable) => {
    const name = make("td", { title: [variable.kind, variable.scope && `in ${variable.scope}`, variable.note].filter(Boolean).join("; ") }, make("span", { class: "quiet" }, `${variable.type} `), make("b", {}, variable.name), variable.note ? " *" : "");
    const values = new Map(variable.lanes.map(([number, value]) => [number, valueText(variable.values[value])]));
    const all = new Set(order.map((number) => values.get(number) ?? ""));
    if (all.size === 1 && order.length > 1) {
      const text = [...all][0];
      return make("tr", {}, name, make("td", { colspan: order.length, class: "value all", title: text }, text, make("span", { class: "quiet" }, text ? "  in all of these" : "")));
    }
    return make("tr", {}, name, order.map((number) => make("td", { class: `value${number === lane ? " chosen" : ""}`, title: values.get(number) }, values.get(number) ?? "")));
  });
  const notes = [...new Set(of.variables.map((variable) => variable.note).filter(Boolean))].map((note) => make("p", { class: "quiet" }, `* ${note}`));
  const more = of.more ? make("p", { class: "quiet" }, `… ${counted(of.more, "more variable")}`) : "";
  return [title, chosenValues(of), wide("Variables", make("table", { class: "values" }, head, rows)), notes, more];
};
/** The values of the chosen lane, one below the other: in a wide table they are hard to find. */
const chosenValues = (of) => {
  if (lane === null) return "";
  const texts = of.variables.map((variable) => {
    const value = variable.lanes.find(([number]) => number === lane)?.[1];
    return value === undefined ? "" : valueText(variable.values[value]);
  });
  if (!texts.some(Boolean)) return make("p", { id: "chosen-values" }, `Lane ${lane} is not active in this frame.`);
  const rows = of.variables.map((variable, index) => make("tr", {}, make("td", {}, variable.name), make("td", {}, `= ${texts[index]}`)));
  return wide("Values in the lane", make("table", { id: "chosen-values" }, make("tr", {}, make("th", { colspan: 2, class: "quiet" }, `in lane ${lane}`)), rows));
};

const drawWave = () => {
  const panel = find("wave");
  const place = [panel.scrollTop, ...[...panel.querySelectorAll(".wide")].map((box) => box.scrollLeft)];
  if (!wave) {
    panel.replaceChildren(make("p", { class: "quiet" }, waves.length ? "Choose a wave." : `There are no waves in this ${isLog ? "log" : "core"}.`));
    return;
  }
  const detail = detailOf(wave.index);
  const reasons = wave.stop.map((name) => {
    const late = page.reasons[name]?.late ? "; reported late, the faulting instruction is before this pc" : "";
    return make("p", {}, make("span", { class: "alarm" }, name), ` ${page.reasons[name]?.text ?? ""}${late}`);
  });
  const facts = [isLog ? "" : `queue ${wave.queue_id}`, wave.packet_id === null ? "" : `packet ${wave.packet_id}`, isLog ? "" : `XCC ${wave.xcc}`, `pc ${wave.pc}`, `exec ${wave.exec}`, wave.lanes ? `${wave.lanes} lanes` : "",
    wave.halted_at_launch ? "held at launch, it never ran" : ""].filter(Boolean).join(", ");
  const lost = detail ? [] : [make("p", {}, `The lanes, variables and source of this wave are not in this page (${cut === "work" ? "analyzing all waves takes too long" : "there are too many waves"}). `,
    cut === "work" ? "" : "Use --all to include them; ", `hetdwarf vars --core FILE --wave ${wave.index} shows them.`)];
  const notes = (detail?.notes ?? []).map((note) => make("p", { class: "quiet" }, note));
  panel.replaceChildren(
    make("h2", { id: "wave-title" }, `wave ${wave.index} of ${kernelOf(wave)} ${at(wave)}: `, state(wave)),
    ...reasons, make("p", { class: "quiet" }, facts), ...lost, ...notes,
    ...[drawLanes(detail), drawStack(detail), drawSource(detail), drawVariables(detail)].flat(2).filter((part) => part instanceof Node));
  panel.scrollTop = place[0];
  [...panel.querySelectorAll(".wide")].forEach((box, index) => { box.scrollLeft = place[index + 1] ?? 0; });
  setAddress(`#wave=${wave.index}${lane === null ? "" : `&lane=${lane}`}&frame=${frame}`);
};

// Soon, and not at once: browsers refuse more than some 200 in 10 seconds, which a held key makes.
let addressTimer = 0;
const setAddress = (address) => {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    try {
      history.replaceState(null, "", address);
    } catch { /* A page inside of another may not. */ }
  }, 200);
};

const table = (title, head, rows) => wide(title, make("table", {}, make("tr", {}, head.map((text) => make("th", { class: "quiet" }, text))), rows.map((row) => make("tr", {}, row.map((text) => make("td", {}, text))))));
const MOST_ROWS = 500;
const drawAbout = () => {
  const [summary, body] = find("about").children;
  const { problems } = core;
  const ofCore = isLog ? "" : `${counted(core.agents.length, "GPU")}, ${counted(core.queues.length, "queue")}, ${counted(core.dispatches.length, "dispatch").replace("dispatchs", "dispatches")}, `;
  summary.replaceChildren(...[`${ofCore}${counted(core.code_objects.length, "code object")}`,
    problems.length ? make("span", { class: "alarm" }, `; ${counted(problems.length, "part")} could not be read`) : "; everything could be read"]);
  const part = (title, head, items, row) => items.length ? [make("h3", {}, title), table(title, head, items.slice(0, MOST_ROWS).map(row)),
    items.length > MOST_ROWS ? make("p", { class: "quiet" }, `… ${items.length - MOST_ROWS} more (--format json has all)`) : ""] : [];
  // It is made when it is wanted.
  find("about").addEventListener("toggle", () => body.replaceChildren(...[
    ...part("What could not be read", ["where", "offset", "what"], problems, (of) => [of.where, of.offset, of.message]),
    ...part("GPUs", ["gpu id", "target", "location", "XCCs"], core.agents, (of) => [of.gpu_id, of.target, of.location, of.xcc]),
    ...part("Queues", ["id", "gpu id", "type", "waves", "read", "write"], core.queues, (of) => [of.queue_id, of.gpu_id, of.type, of.waves, of.read_id, of.write_id]),
    ...part("Dispatches", ["queue", "packet", "kernel", "grid", "workgroup"], core.dispatches, (of) => [of.queue_id, of.packet_id, kernelOf(of), `(${of.grid_size})`, `(${of.workgroup_size})`]),
    ...part("Code objects", ["loaded at", "target", "from"], core.code_objects, (of) => [of.load_address, of.target ?? "not found", of.file ?? of.uri]),
  ].filter((child) => child instanceof Node)), { once: true });
};

/** What happened: the sentence, and of a fault the instruction and its lanes. */
const drawVerdict = () => {
  const { verdict } = core;
  const said = verdict.kind === "none" ? [verdict.text] : [make("span", { class: "alarm" }, verdict.kind.replaceAll("-", " ")), ": ", verdict.text];
  const fault = waves[(verdict.wave ?? 0) - 1]?.fault;
  const [first, ...others] = fault?.candidates ?? [];
  const lanes = (first?.lanes ?? []).slice(0, 8).map((of) => `lane ${of.lane}${of.work_item ? `, work-item (${of.work_item})` : ""}: ${of.address}`);
  const more = (first?.lanes.length ?? 0) - lanes.length;
  const of = (one) => `${one.pc}  ${one.instruction}  ${one.inlined.join(" \u2190 ")}`;
  const rest = first ? [make("p", {}, of(first)), make("p", { class: "quiet" }, lanes.join("; "), more > 0 ? `; ${counted(more, "lane")} more` : ""),
    ...others.map((one) => make("p", { class: "quiet" }, `or, less likely: ${of(one)}`))] : [];
  find("verdict").replaceChildren(make("p", {}, said), ...rest);
};

const start = () => {
  drawVerdict();
  find("title").textContent = shown(page.title);
  const count = (name) => waves.filter((of) => of.state === name).length;
  const busy = new Set(waves.map((of) => of.gpu_id));
  const agents = core.agents.filter((of) => !waves.length || busy.has(of.gpu_id));
  const targets = [...new Set((isLog ? core.code_objects : agents).map((of) => of.target).filter(Boolean))].join(", ");
  find("summary").replaceChildren(shown([`${counted(waves.length, "wave")}${targets ? ` on ${targets}` : ""}`, ...["stopped", "running", "unsure"].filter(count).map((name) => `${count(name)} ${name}`)].join(", ")));
  find("groups-count").textContent = core.groups.length;
  drawAbout();
  groupList.set(core.groups, -1);
  const wanted = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (/^\d+$/.test(wanted.get(name) ?? "") ? Number(wanted.get(name)) : null);
  // In a hang, the waves that others wait for.
  const hung = core.workgroups.find((of) => of.at_barrier.length && of.elsewhere.length);
  const first = waves[(number("wave") ?? 0) - 1] ?? waves.find(isFault) ?? waves[(hung?.elsewhere[0] ?? 0) - 1] ?? waves.find((of) => of.state === "stopped") ?? waves[0];
  if (first) {
    chooseWave(first);
    if (number("lane") !== null && number("lane") < first.lanes) lane = number("lane");
    if (detailOf(first.index)?.frames[number("frame") ?? -1]) frame = number("frame");
  }
  drawWave();
  listWaves();
  find("search").addEventListener("input", listWaves);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape") {
      if (lane !== null) chooseLane(null);
      else if (find("search").value) { find("search").value = ""; listWaves(); }
      else if (group) chooseGroup(null);
      return;
    }
    if (event.target.tagName === "INPUT") return;
    const to = { g: "groups", w: "waves", l: "lanes", s: "stack", "/": "search" }[event.key];
    if (to && find(to)) { event.preventDefault(); find(to).focus(); }
  });
};
start();
})();
