// Texts of figures and times, and elements. Text goes in by textContent alone: names and log lines are others' words.

export const states = ["failed", "failing", "unresponsive", "unhealthy", "restarting", "paused", "stopping", "starting", "waiting", "inactive", "active"];
const tones = { failed: "bad", failing: "bad", unresponsive: "bad", unhealthy: "bad", restarting: "hold", paused: "hold", stopping: "hold", starting: "move", waiting: "move", inactive: "off", active: "ok" };
export const tone = (state) => tones[state] ?? "bad";
export const isTrouble = (state) => ["failed", "failing", "unresponsive", "unhealthy", "restarting", "paused"].includes(state);

// Control characters, and marks that turn the direction of writing, as what they are.
export function printable(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "title" || key === "aria-label") node.setAttribute(key, printable(value));
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== undefined && child !== null).map((child) => (typeof child === "string" ? printable(child) : child)));
  return node;
}

const svgSpace = "http://www.w3.org/2000/svg";
export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// The shapes of the states differ, also without colour.
const shapes = {
  active: [["circle", { cx: 6.5, cy: 6.5, r: 5, fill: "currentColor" }]],
  starting: [["circle", { cx: 6.5, cy: 6.5, r: 4.8, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }], ["path", { d: "M6.5 1.7a4.8 4.8 0 0 1 0 9.6z", fill: "currentColor" }]],
  waiting: [["circle", { cx: 6.5, cy: 6.5, r: 4.8, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }], ["path", { d: "M6.5 3.6v3.2l2.1 1.4", fill: "none", stroke: "currentColor", "stroke-width": 1.4 }]],
  paused: [["path", { d: "M3 1.5h2.6v10H3zM7.4 1.5H10v10H7.4z", fill: "currentColor" }]],
  stopping: [["circle", { cx: 6.5, cy: 6.5, r: 4.8, fill: "none", stroke: "currentColor", "stroke-width": 1.8, "stroke-dasharray": "5 2.6" }]],
  restarting: [["path", { d: "M10.9 4.2A5 5 0 1 0 11.5 7.6", fill: "none", stroke: "currentColor", "stroke-width": 1.8 }], ["path", { d: "M12.4 1.4v4.2H8.2z", fill: "currentColor" }]],
  failing: [["path", { d: "M10.9 4.2A5 5 0 1 0 11.5 7.6", fill: "none", stroke: "currentColor", "stroke-width": 1.8 }], ["path", { d: "M12.4 1.4v4.2H8.2z", fill: "currentColor" }], ["path", { d: "M4.9 4.9l3.2 3.2M8.1 4.9L4.9 8.1", stroke: "currentColor", "stroke-width": 1.4 }]],
  inactive: [["circle", { cx: 6.5, cy: 6.5, r: 4.8, fill: "none", stroke: "currentColor", "stroke-width": 1.5 }]],
  failed: [["rect", { x: 0.8, y: 0.8, width: 11.4, height: 11.4, rx: 2, fill: "currentColor" }], ["path", { d: "M4 4l5 5M9 4l-5 5", stroke: "var(--ground)", "stroke-width": 1.7 }]],
  unresponsive: [["path", { d: "M6.5 0.3l6.2 6.2-6.2 6.2L0.3 6.5z", fill: "currentColor" }], ["path", { d: "M5 5.2a1.5 1.5 0 1 1 2.2 1.3c-.5.3-.7.6-.7 1.1M6.5 9.2v.9", stroke: "var(--ground)", "stroke-width": 1.3, fill: "none" }]],
  unhealthy: [["path", { d: "M6.5 0.6l6.3 11.4H0.2z", fill: "currentColor" }], ["path", { d: "M6.5 4.6v3.6M6.5 9.4v1.2", stroke: "var(--ground)", "stroke-width": 1.5, fill: "none" }]],
};
export function sign(state) {
  return svg("svg", { class: `sign ${tone(state)}`, viewBox: "0 0 13 13", "aria-hidden": "true" }, ...(shapes[state] ?? shapes.unresponsive).map(([name, attributes]) => svg(name, attributes)));
}

const digits = (value) => (value >= 100 || Number.isInteger(value) ? Math.round(value).toString() : value >= 10 ? value.toFixed(0) : value.toFixed(1));
export function count(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value >= 1e6) return `${digits(value / 1e6)} M`;
  if (value >= 1e4) return `${digits(value / 1e3)} k`;
  return digits(value);
}
export function bytes(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (value >= 1000 && place < units.length - 1) { value /= 1024; place += 1; }
  return `${digits(value)} ${units[place]}`;
}
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  ms = Math.max(0, ms);
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${digits(ms)} ms`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)}m${String(s % 60).padStart(2, "0")}`;
  if (s < 86400) return `${Math.floor(s / 3600)}h${String(Math.floor(s / 60) % 60).padStart(2, "0")}`;
  return `${Math.floor(s / 86400)}d${Math.floor(s / 3600) % 24}h`;
}
// Whole seconds, for what counts up or down on the page.
export const seconds = (ms) => duration(Number.isFinite(ms) ? Math.max(0, Math.round(ms / 1000)) * 1000 || 0.0001 : ms).replace("0 µs", "0 s");
export function clock(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "–" : date.toLocaleTimeString([], { hourCycle: "h23" });
}
export function grouped(value) { return Math.round(value).toLocaleString("en"); }
