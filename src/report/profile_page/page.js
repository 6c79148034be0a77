"use strict";
(() => {
// Text of files is shown by its characters only: what turns the direction of text around, or is not seen, is written by its number.
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;
const shown = (text) => String(text).replace(UNSEEN, (letter) => "\\u{" + letter.codePointAt(0).toString(16) + "}");
const find = (id) => document.getElementById(id);
const make = (tag, attributes, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, shown(value));
  for (const child of children) element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  return element;
};
const parsed = (id) => JSON.parse(find(id).textContent);
const page = parsed("profile"), files = parsed("sources");
const profile = page.document;
const total = Math.max(profile.samples, 1);
const percent = (part) => (part === null || part === undefined ? "-" : (100 * part).toFixed(1) + " %");
const listed = (stalls) => stalls.map(([name, count]) => `${name} ${count}`).join(", ");
const ofRow = (row) => Object.entries(row.stalls).sort((one, other) => other[1] - one[1]);
const heat = (samples, most) => ({ class: "heat", style: `--part: ${(0.6 * samples / Math.max(most, 1)).toFixed(3)}` });
const is_trace = profile.counts === "executions";
const latency = (row) => (row.cycles ? row.cycles.latency : 0);

find("title").textContent = shown(page.title);
const summary = [`${profile.samples} ${profile.counts}`, `${profile.unresolved} unresolved`];
for (const [reason, count] of Object.entries(profile.unresolved_reasons ?? {})) summary.push(`${count}: ${reason}`);
for (const [reason, count] of Object.entries(profile.discarded ?? {})) summary.push(`${count} not counted: ${reason}`);
for (const text of [...(profile.notes ?? []), ...(profile.problems ?? [])]) summary.push(text);
if (page.left_out) summary.push(`${page.left_out} lines with fewer samples are omitted`);
if (profile.limit) summary.push(`not complete: ${profile.limit}`);
find("summary").textContent = shown(summary.join(" · "));

/** Fills a table whose columns are [title, value to sort by, cell]; the first one sorts at first. */
const sortable = (id, columns, items, choose) => {
  const [head, body] = [find(id).tHead, find(id).tBodies[0]];
  const fill = (value) => {
    const order = [...items].sort((one, other) => {
      const [a, b] = [value(one), value(other)];
      return typeof a === "string" ? a.localeCompare(b) : b - a;
    });
    body.replaceChildren(...order.map((item) => {
      const row = make("tr", choose ? { tabindex: 0 } : {}, ...columns.map(([, , cell]) => cell(item)));
      if (choose) {
        const act = () => choose(item, row);
        row.addEventListener("click", act);
        row.addEventListener("keydown", (event) => { if (event.key === "Enter") act(); });
      }
      item.element = row;
      return row;
    }));
  };
  const titles = columns.map(([title, value], index) => {
    const button = make("button", { type: "button" }, title);
    button.addEventListener("click", () => fill(value));
    return make("th", index === columns.length - 1 ? { class: "text" } : {}, button);
  });
  head.replaceChildren(make("tr", {}, ...titles));
  fill(columns[0][1]);
};
const cell = (text) => make("td", {}, text);
const text = (content) => make("td", { class: "text" }, content);
const most = page.lines.reduce((most, line) => Math.max(most, line.row.samples), 0);
const mostOfFunctions = page.functions.reduce((most, row) => Math.max(most, row.samples), 0);
const stalls = (all) => make("td", { class: "stalls", title: listed(all) }, listed(all.slice(0, 2)));
const columns = (row_of, name, most) => [
  [is_trace ? "latency" : "samples", (item) => (is_trace ? latency(row_of(item)) : row_of(item).samples), (item) => make("td", heat(row_of(item).samples, most), is_trace ? latency(row_of(item)) : row_of(item).samples)],
  ["share", (item) => row_of(item).samples, (item) => cell(percent(row_of(item).samples / total))],
  ["lanes active", (item) => -(row_of(item).lanes_active ?? 2), (item) => cell(percent(row_of(item).lanes_active))],
  [name, (item) => row_of(item).by, (item) => text(row_of(item).by)],
];

/** Lines with samples, by file and number. */
const at = new Map();
for (const line of page.lines) if (line.at) at.set(line.at.join(":"), line);

const codeRows = (line) => line.code.map((one) => make("tr", { class: "code" },
  cell(is_trace ? one.latency : one.samples), cell(percent(one.lanes)), stalls(one.stalls), cell(""), text(`    ${one.pc ?? ""}  ${one.text ?? "?"}`)));
const head = () => find("source").tHead.replaceChildren(make("tr", {}, ...["samples", "lanes active", "stalls", "line"].map((title) => make("th", {}, title)), make("th", { class: "text" }, "source")));
let chosen = null;
const show = (line, element) => {
  chosen?.classList.remove("chosen");
  chosen = element;
  chosen?.classList.add("chosen");
  const body = find("source").tBodies[0];
  head();
  const file = line.at ? files[line.at[0]] : null;
  find("file").textContent = shown(line.row.file ?? line.row.by);
  find("warnings").replaceChildren(...(file?.warnings ?? []).map((warning) => make("p", {}, warning)));
  const rows = [];
  const annotated = (own, number, content) => {
    const is_open = own === line;
    const row = own
      ? make("tr", { tabindex: 0, class: is_open ? "chosen" : undefined }, make("td", heat(own.row.samples, most), is_trace ? latency(own.row) : own.row.samples), cell(percent(own.row.lanes_active)),
        stalls(ofRow(own.row)), cell(number), text(content))
      : make("tr", {}, cell(""), cell(""), cell(""), cell(number), text(content));
    if (own && !is_open) {
      const open = () => show(own, own.element);
      row.addEventListener("click", open);
      row.addEventListener("keydown", (event) => { if (event.key === "Enter") open(); });
    }
    rows.push(row);
    if (is_open) rows.push(...codeRows(line));
    return row;
  };
  let here = null;
  if (file && file.lines.length) {
    let last = null;
    for (const [number, content] of file.lines) {
      if (last !== null && number !== last + 1) rows.push(make("tr", { class: "gap" }, make("td", { colspan: 5 }, "⋮")));
      last = number;
      const own = at.get(`${line.at[0]}:${number}`);
      const row = annotated(own, number, content);
      if (own === line) here = row;
    }
  } else {
    const others = line.at ? page.lines.filter((other) => other.at && other.at[0] === line.at[0]) : [line];
    for (const own of others.sort((one, other) => one.row.line - other.row.line)) {
      const row = annotated(own, own.row.line ?? "?", "(source not found; use --source-dir)");
      if (own === line) here = row;
    }
  }
  body.replaceChildren(...rows);
  here?.scrollIntoView({ block: "center" });
};
sortable("lines", columns((line) => line.row, "line", most), page.lines, show);
sortable("functions", columns((row) => row, "function", mostOfFunctions), page.functions, null);
const place = (idle) => {
  const candidates = idle.candidates ?? [];
  const base = (file) => file.split("/").pop();
  if (!idle.branch) {
    const lines = [...new Set(candidates.filter((one) => one.file && one.line).map((one) => `${base(one.file)}:${one.line}`))];
    return lines.length ? `${idle.text}: ${lines.join(", ")}` : idle.text;
  }
  const { pc, function: name, file, line } = idle.branch;
  const short = file ? base(file) : null;
  return `${pc ?? `one of ${candidates.length} instructions`}${name ? " in " + name : ""}${short && line ? ` at ${short}:${line}` : ""}`;
};
if (profile.divergence.length) {
  sortable("idle", [
    ["lane samples", (idle) => idle.idle_lane_samples, (idle) => cell(idle.idle_lane_samples)],
    ["share", (idle) => idle.idle_lane_samples, (idle) => cell(percent(idle.share))],
    ["branch", place, (idle) => text(place(idle))],
  ], profile.divergence, (idle) => {
    const line = idle.branch && page.lines.find((one) => one.row.file === idle.branch.file && one.row.line === idle.branch.line);
    if (line) show(line, line.element);
  });
} else {
  find("idle-title").remove();
  find("idle").parentElement.remove();
}
const first = [...page.lines].sort((one, other) => (is_trace ? latency(other.row) - latency(one.row) : other.row.samples - one.row.samples))[0];
if (first) show(first, first.element);
})();
