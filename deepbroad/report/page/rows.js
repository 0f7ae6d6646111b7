// Single rows: how their effects add up to the log odds of a class. Then everything starts.

let listed = [];

function listRows() {
  const which = byId("row-which").value, order = byId("row-order").value;
  listed = report.rows.filter((row) => which === "all" || (row.y === row.best) === (which === "right"));
  if (order === "worst") listed.sort((a, b) => b.loss - a.loss);
  if (order === "unsure") listed.sort((a, b) => Math.max(...a.p) - Math.max(...b.p));
  fillSelect(byId("row-number"), listed.map((row) => [row.row,
    `${row.row}: ${shorten(report.names[row.y], 24)}` +
    (row.y === row.best ? "" : `, taken for ${shorten(report.names[row.best], 24)}`)]));
  drawRow();
}

function drawRow() {
  const select = byId("row-number"), place = select.selectedIndex, row = listed[place];
  byId("row-previous").disabled = place <= 0;
  byId("row-next").disabled = place < 0 || place >= listed.length - 1;
  if (!row) {
    byId("row-chart").replaceChildren();
    byId("row-values").replaceChildren();
    byId("row-said").textContent = "There are no such rows here.";
    return;
  }
  const chosen = byId("row-class").value;
  const c = chosen === "best" ? report.classes.indexOf(row.best) : Number(chosen);
  const name = report.names[report.classes[c]];
  byId("row-said").textContent = `Row ${row.row} is ${report.names[row.y]}; the model says ` +
    `${report.names[row.best]}, and ${percent(row.p[c])} for ${name}.`;
  drawWaterfall(row, c, name);
  fillTable(byId("row-values"), ["attribute", "value"],
    row.values.map((value, i) => [report.attributes[i], value]));
}

function stepsOf(row, c) {
  const pick = (numbers) => (isBinary ? (c ? numbers[0] : -numbers[0]) : numbers[c]);
  const scores = ofClass(row.scores, c);
  const steps = row.steps.map((text, i) => [text, scores[i]]);
  steps.sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  steps.unshift(["intercept", pick(row.intercept)]);
  if (row.n_rest) {
    steps.push([`${row.n_rest.toLocaleString("en")} smaller effects`, pick(row.rest)]);
  }
  return steps;
}

function drawWaterfall(row, c, name) {
  const steps = stepsOf(row, c), tall = 25;
  const chart = canvas("row-chart", 52 + tall * (steps.length + 1),
    `Contributions of row ${row.row} to the log odds of ${name}`);
  const left = Math.min(340, chart.width * 0.46);
  let sum = 0;
  const ends = steps.map((step) => (sum += step[1]));
  const low = Math.min(0, ...ends), high = Math.max(0, ...ends);
  const sx = scale(low, high, left + 8, chart.width - 50);
  node(chart.svg, "line", { x1: sx(0), x2: sx(0), y1: 18, y2: chart.height - 24,
    stroke: look.grey, "stroke-dasharray": "2 3" });
  const bar = (i, text, from, to, colour, said) => {
    const y = 22 + tall * i;
    fitted(chart, { x: left - 6, y: y + 13, "text-anchor": "end" }, text, left - 8);
    node(chart.svg, "rect", { x: Math.min(sx(from), sx(to)), y, height: 17, fill: colour,
      width: Math.max(1, Math.abs(sx(to) - sx(from))), class: "step" });
    node(chart.svg, "text", { x: Math.max(sx(from), sx(to)) + 4, y: y + 13 }, said);
  };
  steps.forEach(([text, score], i) => {
    const colour = i ? (score > 0 ? look.up : look.down) : look.grey;
    bar(i, text, ends[i] - score, ends[i], colour, signed(score));
  });
  bar(steps.length, "log odds", 0, sum, look.grey, signed(sum));
  const against = isBinary ? "" : " against the mean of all classes";
  fitted(chart, { x: 4, y: 12, "font-weight": 600 }, `log odds of ${name}${against}`,
    chart.width - 8);
}

function moveRow(by) {
  byId("row-number").selectedIndex += by;
  drawRow();
}

function startRows() {
  if (!report.rows || !report.rows.length) return;
  fillSelect(byId("row-class"), [["best", "the predicted one"],
    ...report.classes.map((c, i) => [i, report.names[c]])]);
  for (const id of ["row-which", "row-order"]) {
    byId(id).addEventListener("change", () => {
      byId("row-number").replaceChildren();  // begin with the first of the new list
      listRows();
    });
  }
  for (const id of ["row-number", "row-class"]) byId(id).addEventListener("change", drawRow);
  byId("row-previous").addEventListener("click", () => moveRow(-1));
  byId("row-next").addEventListener("click", () => moveRow(1));
  byId("row-note").textContent = `${report.rows.length.toLocaleString("en")} of ` +
    `${report.n_rows.toLocaleString("en")} rows are here` +
    (report.rows.length < report.n_rows ? ": those of largest loss, and others by chance. " : ". ") +
    (report.classes.length < report.names.length ? "Predictions of classes that this page " +
      "leaves out are not among them. " : "") + "Rows are counted from 0. Effects beyond the largest of a row are summed.";
  draw(listRows);
}

function hideParts() {
  const absent = { curves: !report.curves, effects: !report.effects, rows: !report.rows };
  for (const part of document.querySelectorAll("[data-part]")) {
    part.hidden = absent[part.dataset.part];
  }
  if (report.unexplained) {
    byId("unexplained").hidden = false;
    byId("unexplained").textContent = `No effects: ${report.unexplained}`;
  }
}

hideParts();
startQuality();
startEffects();
startRows();
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  for (const drawing of drawings) drawing();
});
