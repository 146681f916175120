// Charts of the last hour: lines and bars without a library. A gap stays a gap; the scale begins at 0; the maximum is written out.

import { bytes, count, duration, element, svg } from "./format.js";

const width = 360;
const height = 54;

// One chart. `lines` are lists of numbers or null, oldest first, of which the newest stands at the right edge.
export function chart({ name, lines, bars = false, unit, labels = [] }) {
  const all = lines.flat().filter((value) => value !== null && value !== undefined);
  const most = all.length ? Math.max(...all) : 0;
  const top = most > 0 ? most : 1;
  const x = (index, length) => width - (length - 1 - index);
  const y = (value) => height - 1 - (value / top) * (height - 4);
  const drawing = svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
  drawing.append(svg("line", { class: "base", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5, "vector-effect": "non-scaling-stroke" }));
  lines.forEach((line, place) => {
    if (bars) {
      line.forEach((value, index) => {
        if (value > 0) drawing.append(svg("rect", { class: "bar", x: x(index, line.length) - 2, y: y(value), width: 2.4, height: height - 1 - y(value) }));
      });
      return;
    }
    for (const piece of pieces(line)) {
      const points = piece.map(([index, value]) => `${x(index, line.length)} ${y(value).toFixed(1)}`);
      // A point without neighbours is a dot.
      if (points.length === 1) { drawing.append(svg("path", { class: place ? "line second dot" : "line dot", d: `M${points[0]}h0` })); continue; }
      if (!place) drawing.append(svg("path", { class: "area", d: `M${points.join("L")}L${x(piece.at(-1)[0], line.length)} ${height - 1}L${x(piece[0][0], line.length)} ${height - 1}Z` }));
      drawing.append(svg("path", { class: place ? "line second" : "line", d: `M${points.join("L")}` }));
    }
  });
  const latest = lines.map((line) => line.at(-1));
  const now = bars ? count(all.reduce((sum, value) => sum + value, 0)) : latest.map((value, place) => `${labels[place] ? `${labels[place]} ` : ""}${unit(value)}`).join("  ");
  const words = all.length ? `${name}: now ${now}, at most ${unit(most)} in the last hour` : `${name}: no figures yet`;
  drawing.setAttribute("aria-label", words);
  return element("figure", { class: "chart" },
    element("header", {}, element("span", { class: "name" }, name), element("span", { class: "dim" }, all.length ? (bars ? "in the last hour" : `max ${unit(most)}`) : "no figures yet"), element("span", { class: "now" }, all.length ? now : "–")),
    drawing,
    element("div", { class: "axis", "aria-hidden": "true" }, element("span", {}, "60 min ago"), element("span", {}, "30"), element("span", {}, "now")));
}

function pieces(line) {
  const found = [];
  let piece = null;
  line.forEach((value, index) => {
    if (value === null || value === undefined) { piece = null; return; }
    if (!piece) { piece = []; found.push(piece); }
    piece.push([index, value]);
  });
  return found;
}

const rate = (value) => `${count(value)}/s`;
const latency = (value) => (value === null || value === undefined ? "–" : duration(value * 1000));
const percent = (value) => (value === null || value === undefined ? "–" : `${count(value)} %`);

const isKnown = (line) => line.some((value) => value !== null && value !== undefined);
const isMore = (line) => line.some((value) => value > 0);

// What figures have, without those that say nothing: a program has no messages, and what is calm no restarts.
export function charts(series) {
  const list = [];
  // Processor time is known from the second point on.
  if (isKnown(series.memory)) list.push(chart({ name: "CPU", lines: [series.cpu], unit: percent }), chart({ name: "Memory", lines: [series.memory], unit: bytes }));
  if (isMore(series.restarts)) list.push(chart({ name: "Restarts", lines: [series.restarts], bars: true, unit: count }));
  if (isMore(series.rate)) list.push(chart({ name: "Messages", lines: [series.rate], unit: rate }));
  if (isKnown(series.p99)) list.push(chart({ name: "Latency", lines: [series.p99, series.p50], labels: ["p99", "p50"], unit: latency }));
  else if (isMore(series.waiting)) list.push(chart({ name: "Waiting", lines: [series.waiting], unit: count }));
  return list;
}

// The figures of a path; null: there are none yet, undefined: the console doesn't tell.
export async function fetchSeries(path) {
  try {
    const response = await fetch(path === null ? "/api/v1/series" : `/api/v1/series?path=${encodeURIComponent(path)}`);
    return response.ok ? await response.json() : response.status === 404 ? null : undefined;
  } catch { return undefined; }
}
