// What attributes and pairs of them do to the log odds of a class.

const isBinary = report.names.length === 2;
const ALONE = "";

function drawImportances() {
  const bars = report.bars, left = report.n_effects - bars.length;
  const chart = canvas("importance-chart", 34 + 24 * bars.length, "Importance of effects");
  const names = Math.min(290, chart.width * 0.46);
  const most = Math.max(...bars.map((bar) => bar[2])) || 1;
  const sx = scale(0, most, names, chart.width - 62);
  bars.forEach(([name, order, importance, share], i) => {
    const y = 6 + 24 * i;
    fitted(chart, { x: names - 6, y: y + 13, "text-anchor": "end" }, name, names - 8);
    node(chart.svg, "rect", { x: names, y, width: Math.max(1, sx(importance) - names), height: 17,
      fill: look.colours[(order - 1) % look.colours.length] });
    node(chart.svg, "text", { x: sx(importance) + 5, y: y + 13 }, percent(share));
  });
  const orders = [...new Set(bars.map((bar) => bar[1]))].sort();
  let x = 4;
  for (const order of orders) {
    const text = ["", "one attribute", "pair", "triple"][order] || `${order} attributes`;
    node(chart.svg, "rect", { x, y: chart.height - 15, width: 11, height: 11,
      fill: look.colours[(order - 1) % look.colours.length] });
    node(chart.svg, "text", { x: x + 16, y: chart.height - 5 }, text);
    x += 30 + 6.6 * text.length;
  }
  if (left) {
    node(chart.svg, "text", { x: chart.width - 4, y: chart.height - 5, "text-anchor": "end",
      fill: look.grey }, `and ${left.toLocaleString("en")} smaller`);
  }
}

function findEffect(first, second) {
  return report.effects.find((effect) => {
    const [a, b] = effect.attributes;
    return second === ALONE ? effect.attributes.length === 1 && a === first
      : (a === first && b === second) || (a === second && b === first);
  });
}

// The scores of a chosen class; of two classes the page has the second's only.
function ofClass(scores, place) {
  return isBinary ? (place ? scores[0] : scores[0].map((score) => -score)) : scores[place];
}

// The chosen effect as rows (values of the first attribute) and columns.
function chosenEffect() {
  const first = byId("effect-first").value, second = byId("effect-second").value;
  const effect = findEffect(first, second);
  if (!effect) return null;
  const scores = ofClass(effect.scores, Number(byId("effect-class").value));
  if (second === ALONE) return { effect, first, second, scores };
  const turned = effect.attributes[0] !== first;
  const [down, across] = turned ? [1, 0] : [0, 1];
  const width = effect.values[1].length;
  const grid = effect.values[down].map((_, i) => effect.values[across].map((_, j) =>
    scores[turned ? j * width + i : i * width + j]));
  return { effect, first, second, grid, down: effect.values[down], across: effect.values[across] };
}

function drawEffect() {
  const chosen = chosenEffect();
  if (!chosen) return;
  const name = report.names[report.classes[Number(byId("effect-class").value)]];
  if (chosen.grid) drawHeatMap(chosen, name);
  else if (chosen.effect.cuts) drawSteps(chosen, name);
  else drawValues(chosen, name);
  if (chosen.grid) {
    fillTable(byId("effect-table"), [`${chosen.first} ↓ ${chosen.second} →`, ...chosen.across],
      chosen.down.map((value, i) => [value, ...chosen.grid[i].map(signed)]));
  } else {
    const own = chosen.effect;
    fillTable(byId("effect-table"), [chosen.first, "log odds", "share of rows"],
      own.values[0].map((value, i) => [value, signed(chosen.scores[i]),
        percent(own.weights[0][i])]));
  }
  const cut = chosen.effect.of.map((all, i) => all - chosen.effect.values[i].length);
  const hidden = cut.map((n, i) => n && `${n.toLocaleString("en")} rarer values of ` +
    chosen.effect.attributes[i]).filter(Boolean);
  const said = [`Log odds of ${name}. Importance ${chosen.effect.importance.toFixed(3)}: the ` +
    `standard deviation of this effect${isBinary ? "" : ", over all classes"}.`];
  if (hidden.length) said.push(`Not drawn: ${hidden.join(", ")}.`);
  if (report.left_out) {
    said.push(`${report.left_out.toLocaleString("en")} smaller pairs are left out of this page.`);
  }
  if (report.deeper) {
    said.push(`${report.deeper.toLocaleString("en")} effects of three attributes or more ` +
      "are not drawn.");
  }
  byId("effect-note").textContent = said.join(" ");
}

function drawHeatMap(chosen, name) {
  const { grid, down, across } = chosen;
  const probe = canvas("effect-chart", 10, "");
  const left = Math.min(150, probe.width * 0.3), top = 14;
  const cell = (probe.width - left - 8) / across.length;
  const tall = Math.max(18, Math.min(34, 380 / down.length));
  // Names of values lie flat where all of them fit, else they are turned.
  const flat = Math.max(...across.map((value) => value.length)) * 7 < cell;
  const foot = flat ? 40 : 96;
  const chart = canvas("effect-chart", top + tall * down.length + foot + 48,
    `Heat map of ${chosen.first} and ${chosen.second}: log odds of ${name}`);
  const largest = Math.max(...grid.flat().map(Math.abs)) || 1;
  const written = cell > 38 && tall >= 16;
  const step = Math.ceil(16 / cell);
  grid.forEach((row, i) => {
    const y = top + tall * i;
    fitted(chart, { x: left - 5, y: y + tall / 2 + 4, "text-anchor": "end" }, down[i], left - 6);
    row.forEach((score, j) => {
      const box = node(chart.svg, "rect", { x: left + cell * j, y, width: cell + 0.4,
        height: tall + 0.4, fill: shade(score, largest), class: "cell" });
      node(box, "title", {}, `${chosen.first}: ${down[i]}, ${chosen.second}: ${across[j]}: ` +
        signed(score));
      if (written) {
        node(chart.svg, "text", { x: left + cell * (j + 0.5), y: y + tall / 2 + 4,
          "text-anchor": "middle", "pointer-events": "none",
          fill: Math.abs(score) > 0.55 * largest ? "#fff" : "#1c2126" }, score.toFixed(2));
      }
    });
  });
  const bottom = top + tall * down.length;
  node(chart.svg, "rect", { x: left, y: top, width: cell * across.length,
    height: tall * down.length, fill: "none", stroke: "#7c8894" });
  across.forEach((value, j) => {
    if (j % step) return;
    const x = left + cell * (j + 0.5), y = bottom + (flat ? 16 : 12);
    node(chart.svg, "text", flat ? { x, y, "text-anchor": "middle" }
      : { x, y, "text-anchor": "end", transform: `rotate(-40 ${x} ${y})` }, shorten(value, 18));
  });
  node(chart.svg, "text", { x: 4, y: 10, "font-weight": 600 }, shorten(chosen.first, 40) + " ↓");
  node(chart.svg, "text", { x: chart.width - 8, y: bottom + foot, "text-anchor": "end",
    "font-weight": 600 }, shorten(chosen.second, 40) + " →");
  drawLegend(chart, left, bottom + foot + 14, largest);
}

function drawLegend(chart, x, y, largest) {
  const wide = Math.min(220, chart.width - x - 70), n = 22;
  for (let k = 0; k < n; k++) {
    node(chart.svg, "rect", { x: x + (wide / n) * k, y, width: wide / n + 0.4, height: 10,
      fill: shade(((k + 0.5) / n) * 2 - 1, 1) });
  }
  node(chart.svg, "text", { x, y: y + 24 }, signed(-largest));
  node(chart.svg, "text", { x: x + wide / 2, y: y + 24, "text-anchor": "middle" }, "0");
  node(chart.svg, "text", { x: x + wide, y: y + 24, "text-anchor": "middle" }, signed(largest));
}

// A number: steps between its cuts, the outer bins open, missing as a point beyond.
function drawSteps(chosen, name) {
  const { effect, scores } = chosen, cuts = effect.cuts, n = cuts.length + 1;
  const chart = canvas("effect-chart", 390, `Effect of ${chosen.first} on the log odds of ${name}`);
  const box = { left: 52, right: chart.width - 14, top: 28, bottom: 240 };
  const margin = 0.08 * (cuts[n - 2] - cuts[0]) || Math.max(1, Math.abs(cuts[0]) * 0.1);
  const edges = [cuts[0] - margin, ...cuts, cuts[n - 2] + margin];
  const beyond = edges[n] + margin, isMissing = scores.length > n;
  const low = Math.min(0, ...scores), high = Math.max(0, ...scores);
  const [sx, sy] = axes(chart, box, [edges[0], isMissing ? beyond + margin / 2 : edges[n]],
    [low, high], [chosen.first, `log odds of ${shorten(name, 40)}`]);
  line(chart, [[edges[0], 0], [edges[n], 0]], sx, sy, { stroke: look.grey, "stroke-width": 1 });
  const points = [];
  for (let i = 0; i < n; i++) points.push([edges[i], scores[i]], [edges[i + 1], scores[i]]);
  line(chart, points, sx, sy);
  const most = Math.max(...effect.weights[0]) || 1, floor = 366;
  effect.weights[0].forEach((weight, i) => {
    const x = i < n ? sx(edges[i]) : sx(beyond) - 8;
    const wide = i < n ? sx(edges[i + 1]) - sx(edges[i]) : 16;
    const tall = (weight / most) * 74;
    const bar = node(chart.svg, "rect", { x, width: Math.max(0.5, wide - 0.5), y: floor - tall,
      height: tall, fill: look.pale });
    node(bar, "title", {}, `${effect.values[0][i]}: ${signed(scores[i])}, ` +
      `${percent(weight)} of rows`);
  });
  if (isMissing) {
    node(chart.svg, "circle", { cx: sx(beyond), cy: sy(scores[n]), r: 4.5, fill: look.colours[0] });
    node(chart.svg, "text", { x: chart.width - 2, y: floor + 16, "text-anchor": "end" }, "missing");
  }
  node(chart.svg, "text", { x: box.left, y: floor + 16 }, "share of rows in each bin");
}

// Categories: a bar for each value, and how frequent it is.
function drawValues(chosen, name) {
  const { effect, scores } = chosen, values = effect.values[0], line_ = 24;
  const chart = canvas("effect-chart", 40 + line_ * values.length,
    `Effect of ${chosen.first} on the log odds of ${name}`);
  const left = Math.min(200, chart.width * 0.34), right = chart.width - 70;
  const low = Math.min(0, ...scores), high = Math.max(0, ...scores);
  const sx = scale(low, high, left + 44, right - 44);
  values.forEach((value, i) => {
    const y = 26 + line_ * i, x = Math.min(sx(0), sx(scores[i]));
    fitted(chart, { x: left - 6, y: y + 13, "text-anchor": "end" }, value, left - 8);
    node(chart.svg, "rect", { x, y, width: Math.max(1, Math.abs(sx(scores[i]) - sx(0))),
      height: 17, fill: scores[i] > 0 ? look.up : look.down });
    node(chart.svg, "text", { x: scores[i] > 0 ? sx(scores[i]) + 4 : sx(scores[i]) - 4, y: y + 13,
      "text-anchor": scores[i] > 0 ? "start" : "end" }, signed(scores[i]));
    node(chart.svg, "text", { x: chart.width - 2, y: y + 13, "text-anchor": "end",
      fill: look.grey }, percent(effect.weights[0][i]));
  });
  node(chart.svg, "line", { x1: sx(0), x2: sx(0), y1: 20, y2: chart.height - 12,
    stroke: look.grey });
  node(chart.svg, "text", { x: 4, y: 12, "font-weight": 600 },
    `log odds of ${shorten(name, Math.floor(chart.width / 14))}`);
  node(chart.svg, "text", { x: chart.width - 2, y: 12, "text-anchor": "end", fill: look.grey },
    "rows");
}

function fillSecond() {
  const first = byId("effect-first").value, options = [];
  if (findEffect(first, ALONE)) options.push([ALONE, "nothing (alone)"]);
  for (const effect of report.effects) {
    if (effect.attributes.length === 2 && effect.attributes.includes(first)) {
      const other = effect.attributes[effect.attributes[0] === first ? 1 : 0];
      options.push([other, `${other} (${effect.importance.toFixed(3)})`]);
    }
  }
  fillSelect(byId("effect-second"), options);
}

function startEffects() {
  if (!report.effects || !report.effects.length) return;
  const classes = report.classes.map((c, i) => [i, report.names[c]]);
  const single = new Map();
  for (const { attributes, importance } of report.effects) {
    for (const name of attributes) {
      single.set(name, Math.max(single.get(name) || 0, importance));
    }
  }
  const names = [...single].sort((a, b) => b[1] - a[1]).map((item) => item[0]);
  fillSelect(byId("effect-class"), classes);
  if (isBinary) byId("effect-class").value = "1";
  fillSelect(byId("effect-first"), names.map((name) => [name, name]));
  const pair = report.effects.find((effect) => effect.attributes.length === 2);
  if (pair) byId("effect-first").value = pair.attributes[0];
  fillSecond();
  if (pair) byId("effect-second").value = pair.attributes[1];
  byId("effect-first").addEventListener("change", () => { fillSecond(); drawEffect(); });
  byId("effect-second").addEventListener("change", drawEffect);
  byId("effect-class").addEventListener("change", drawEffect);
  draw(drawImportances);
  draw(drawEffect);
}
