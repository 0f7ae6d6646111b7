"use strict";
// Small SVG charts. Text of users only ever becomes text nodes and attributes, never markup.

const report = JSON.parse(document.getElementById("payload").textContent);
const look = report.look;
const byId = (id) => document.getElementById(id);
// Everything that is drawn, to draw it again when the width of the page changes.
const drawings = [];

function node(parent, tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}

function element(parent, tag, text, attributes) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  parent.appendChild(made);
  return made;
}

// Empties a figure and returns an SVG in it that is as wide as the figure, `most` at most.
function canvas(id, height, label, most) {
  const figure = byId(id);
  const width = Math.max(280, Math.min(most || 880, figure.clientWidth || 880));
  figure.replaceChildren();
  const svg = node(figure, "svg", {
    viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label,
    style: `max-width:${width}px`,
  });
  return { svg, width, height };
}

function draw(drawing) {
  drawings.push(drawing);
  drawing();
}

function shorten(text, longest) {
  return text.length <= longest ? text : text.slice(0, Math.max(1, longest - 1)) + "…";
}

// Of names joined by an ampersand each is cut by itself, so that all can be told apart: short ones
// leave room to long ones.
function shortenEach(text, longest) {
  const parts = text.split(" & ");
  let room = longest - 3 * (parts.length - 1);
  if (text.length <= longest || room < 4 * parts.length) return shorten(text, longest);
  const lengths = parts.map(() => 0);
  const ascending = parts.map((_, k) => k).sort((a, b) => parts[a].length - parts[b].length);
  ascending.forEach((place, done) => {
    lengths[place] = Math.min(parts[place].length, Math.floor(room / (parts.length - done)));
    room -= lengths[place];
  });
  return parts.map((part, k) => shorten(part, lengths[k])).join(" & ");
}

// A text beside an axis, shortened until it fits; a tooltip has it whole.
function fitted(chart, attributes, text, room) {
  const made = node(chart.svg, "text", attributes, text);
  let wide = made.getComputedTextLength();
  if (wide <= room) return;
  let longest = Math.ceil((text.length * room) / wide);
  do {
    made.textContent = shortenEach(text, longest--);
    wide = made.getComputedTextLength();
  } while (wide > room && longest > 1);
  node(made, "title", {}, text);
}

function scale(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

// Round numbers from low to high, about `count` of them.
function ticks(low, high, count) {
  const raw = (high - low || 1) / count;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    found.push(Number((k * step).toPrecision(12)));
  }
  return found;
}

const number = (value) => Number(value.toPrecision(4)).toLocaleString("en");
const percent = (value) => (100 * value).toFixed(1) + "%";
const signed = (value) => (value >= 0 ? "+" : "−") + Math.abs(value).toFixed(2);

// Axes with grid and names; returns the scales of x and y.
function axes(chart, box, x, y, names) {
  const sx = scale(x[0], x[1], box.left, box.right);
  const sy = scale(y[0], y[1], box.bottom, box.top);
  for (const tick of ticks(x[0], x[1], box.right - box.left > 400 ? 8 : 4)) {
    node(chart.svg, "line", { x1: sx(tick), x2: sx(tick), y1: box.top, y2: box.bottom,
      stroke: "#e3e8ec" });
    node(chart.svg, "text", { x: sx(tick), y: box.bottom + 16, "text-anchor": "middle",
      fill: look.grey }, number(tick));
  }
  for (const tick of ticks(y[0], y[1], 5)) {
    node(chart.svg, "line", { x1: box.left, x2: box.right, y1: sy(tick), y2: sy(tick),
      stroke: "#e3e8ec" });
    node(chart.svg, "text", { x: box.left - 6, y: sy(tick) + 4, "text-anchor": "end",
      fill: look.grey }, number(tick));
  }
  const middle = (box.left + box.right) / 2;
  node(chart.svg, "text", { x: middle, y: box.bottom + 34, "text-anchor": "middle" }, names[0]);
  node(chart.svg, "text", { x: 4, y: box.top - 8 }, names[1]);
  return [sx, sy];
}

function line(chart, points, sx, sy, attributes) {
  const path = points.map((p, i) => `${i ? "L" : "M"}${sx(p[0]).toFixed(1)} ${sy(p[1]).toFixed(1)}`);
  node(chart.svg, "path", Object.assign({ d: path.join(""), fill: "none",
    stroke: look.colours[0], "stroke-width": 2 }, attributes));
}

function fillSelect(select, options) {
  const before = select.value;
  select.replaceChildren();
  for (const [value, text] of options) element(select, "option", text, { value });
  if (options.some((option) => String(option[0]) === before)) select.value = before;
}

// A table of texts; the first column names the rows.
function fillTable(place, headings, rows) {
  place.replaceChildren();
  const table = element(place, "table");
  const top = element(element(table, "thead"), "tr");
  for (const heading of headings) element(top, "th", heading, { scope: "col" });
  const body = element(table, "tbody");
  for (const row of rows) {
    const tr = element(body, "tr");
    row.forEach((text, i) => element(tr, i ? "td" : "th", text,
      i ? { class: "n" } : { scope: "row" }));
  }
}

// Red for more, blue for less, white for nothing.
function shade(value, largest) {
  const end = value > 0 ? [178, 24, 43] : [33, 102, 172];
  const t = Math.min(1, Math.abs(value) / (largest || 1));
  return `rgb(${end.map((c) => Math.round(255 + (c - 255) * t)).join(",")})`;
}
