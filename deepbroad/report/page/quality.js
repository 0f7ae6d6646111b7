// How good the probabilities are: loss curve, reliability, ROC and precision-recall.

function drawLoss() {
  const points = report.loss;
  if (!points.length) return;
  const chart = canvas("loss-chart", 260, "Training loss by iteration");
  const box = { left: 62, right: chart.width - 14, top: 28, bottom: 212 };
  const losses = points.map((p) => p[1]);
  const low = Math.min(...losses), high = Math.max(...losses);
  const [sx, sy] = axes(chart, box, [0, points[points.length - 1][0]],
    [low - 0.03 * (high - low), high], ["iteration", "loss in training"]);
  line(chart, points, sx, sy);
}

function drawReliability() {
  const own = report.reliability[Number(byId("reliability-class").value)];
  const chart = canvas("reliability-chart", 400, `Reliability of the probability of ${own.name}`, 560);
  const box = { left: 52, right: chart.width - 14, top: 28, bottom: 262 };
  const [sx, sy] = axes(chart, box, [0, 1], [0, 1], ["", "share of rows where it happened"]);
  line(chart, [[0, 0], [1, 1]], sx, sy, { stroke: look.grey, "stroke-dasharray": "4 4",
    "stroke-width": 1 });
  const most = Math.max(...own.bins.map((bin) => bin[4]));
  const floor = 350;
  for (const [said, share, below, above, rows] of own.bins) {
    const text = `said ${percent(said)}, happened ${percent(share)}, ${rows.toLocaleString("en")} rows`;
    node(chart.svg, "line", { x1: sx(said), x2: sx(said), y1: sy(below), y2: sy(above),
      stroke: look.colours[0] });
    const dot = node(chart.svg, "circle", { cx: sx(said), cy: sy(share), r: 4.5,
      fill: look.colours[0] });
    node(dot, "title", {}, text);
    const tall = Math.max(1, (rows / most) * 56);
    const bar = node(chart.svg, "rect", { x: sx(said) - 8, width: 16, y: floor - tall,
      height: tall, fill: look.pale });
    node(bar, "title", {}, text);
  }
  line(chart, own.bins, sx, sy, { "stroke-width": 1, "stroke-opacity": 0.5 });
  node(chart.svg, "line", { x1: box.left, x2: box.right, y1: floor, y2: floor, stroke: look.grey });
  node(chart.svg, "text", { x: (box.left + box.right) / 2, y: floor + 18,
    "text-anchor": "middle" }, "probability that the model says, and how many rows");
  node(chart.svg, "text", { x: (box.left + box.right) / 2, y: floor + 38, "text-anchor": "middle",
    fill: look.grey }, `mean gap (expected calibration error): ${percent(own.gap)}`);
}

function drawCurve(id, points, names, title, under) {
  const chart = canvas(id, 330, title, 420);
  const box = { left: 46, right: chart.width - 12, top: 46, bottom: 284 };
  const [sx, sy] = axes(chart, box, [0, 1], [0, 1], names);
  line(chart, under, sx, sy, { stroke: look.grey, "stroke-dasharray": "4 4", "stroke-width": 1 });
  line(chart, points, sx, sy);
  node(chart.svg, "text", { x: 4, y: 16, "font-weight": 600 }, title);
}

function drawCurves() {
  const own = report.curves;
  if (!own) return;
  const name = shorten(report.names[1], 24);
  drawCurve("roc-chart", own.roc, ["false alarms", `found of ${name}`],
    `ROC of ${name}: area ${own.area.toFixed(4)}`, [[0, 0], [1, 1]]);
  drawCurve("pr-chart", own.pr, ["recall", "precision"],
    `Mean precision ${own.precision.toFixed(4)}`, [[0, own.share], [1, own.share]]);
}

function startQuality() {
  const select = byId("reliability-class");
  fillSelect(select, report.reliability.map((own, i) => [i, own.name]));
  if (report.names.length === 2) select.value = "2";
  select.addEventListener("change", drawReliability);
  draw(drawReliability);
  draw(drawCurves);
  draw(drawLoss);
}
