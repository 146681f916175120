// Puts the parts of the page together.

import { Actions } from "./actions.js";
import { fetchSeries, treeCharts } from "./charts.js";
import { Detail } from "./detail.js";
import { EventList } from "./events.js";
import { element, isTrouble, printable, sign, states, tone } from "./format.js";
import { Store } from "./store.js";
import { Tree } from "./tree.js";
import { Wall } from "./wall.js";

const $ = (id) => document.getElementById(id);
const store = new Store();
const chosenStates = new Set();
const search = $("search");

const actions = new Actions($("unlock"), $("mode"), () => detail.controls());
const detail = new Detail(store, $("detail"), actions, () => { show(null); $("grid").focus(); });
const tree = new Tree(store, $("grid"), { onChoose: () => {}, onOpen: show });
const visit = (path) => { tree.choose(path, { reveals: true }); show(path); };
new EventList(store, $("events"), $("newer"), $("trouble-only"), visit);
const wall = new Wall($("wall"), store, visit);

function show(path) {
  if (path === detail.path) return;
  detail.show(path);
  history.replaceState(null, "", path === null ? "#" : `#at${path}`);
}

// MARK: the line of states

const chips = new Map(states.toReversed().map((state) => {
  const figure = element("b");
  const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => toggle(state) }, sign(state), figure, element("span", {}, state));
  $("chips").append(chip);
  return [state, { chip, figure }];
}));
function toggle(state) {
  if (!chosenStates.delete(state)) chosenStates.add(state);
  filter();
}
function filter() {
  for (const [state, { chip }] of chips) chip.setAttribute("aria-pressed", String(chosenStates.has(state)));
  tree.filter(search.value, chosenStates);
  summarise();
}
function summarise() {
  const counts = new Map();
  for (const row of store.rows.values()) counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
  for (const [state, { chip, figure }] of chips) {
    const number = counts.get(state) ?? 0;
    figure.textContent = number.toLocaleString("en");
    figure.className = number ? tone(state) : "dim";
    // It stays where it is: what moves under the pointer is missed.
    chip.classList.toggle("none", !number && !chosenStates.has(state));
  }
  const all = store.rows.size;
  $("count").textContent = tree.hits === all || tree.hits === undefined ? all.toLocaleString("en") : `${tree.hits.toLocaleString("en")} of ${all.toLocaleString("en")}`;
  const bad = [...store.rows.values()].filter((row) => isTrouble(row.state)).length;
  document.title = bad ? `${bad} in trouble – coordinatord` : "coordinatord";
}
search.addEventListener("input", filter);

// MARK: how old all this is

// Trouble is told to screen readers, at most once in five seconds; figures never are.
const untold = new Map();
let told = -Infinity;
let telling = 0;
function note(moved) {
  for (const { row } of moved) {
    if (isTrouble(row.state)) untold.set(row.path, row.state); else untold.delete(row.path);
  }
  if (untold.size && !telling) telling = setTimeout(tell, Math.max(0, told + 5000 - Date.now()));
}
function tell() {
  telling = 0;
  if (!untold.size) return;
  told = Date.now();
  const [path, state] = untold.entries().next().value;
  $("news").textContent = printable(untold.size === 1 ? `${path} is ${state}` : `${untold.size} coordinators in trouble, first ${path}`);
  untold.clear();
}

store.addEventListener("table", ({ detail: news }) => {
  summarise();
  age();
  note(news.moved);
});
function age() {
  const link = $("link");
  const isLate = store.age > 3000 || store.problem !== null;
  link.classList.toggle("late", isLate);
  document.body.classList.toggle("late", isLate && store.heard > 0);
  link.textContent = !store.heard ? "connecting…" : !isLate ? "live" : store.problem ? "the daemon doesn't answer" : `as of ${Math.round(store.age / 1000)} s ago, reconnecting…`;
  $("problem").hidden = store.problem === null;
  $("problem").textContent = store.problem === null ? "" : `The daemon doesn't answer: ${store.problem}. The figures below are old. \`coordinatorctl doctor\` looks for the cause.`;
}
setInterval(() => { age(); tree.draw(); }, 1000);

// MARK: charts

async function charts() {
  const series = await fetchSeries().catch(() => null);
  if (series) $("charts").replaceChildren(...treeCharts(series));
}
charts();
setInterval(() => { if (!document.hidden) charts(); }, 10000);

// MARK: colours and keys

const themes = ["system", "light", "dark"];
function paint(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme; else document.documentElement.dataset.theme = theme;
  $("theme").textContent = `Theme: ${theme}`;
  wall.draw();
}
$("theme").addEventListener("click", () => {
  const next = themes[(themes.indexOf(localStorage.getItem("theme") ?? "system") + 1) % themes.length];
  localStorage.setItem("theme", next);
  paint(next);
});
paint(localStorage.getItem("theme") ?? "system");
$("help-button").addEventListener("click", () => $("help").showModal());

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input, textarea");
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    if (search.value || chosenStates.size) { search.value = ""; chosenStates.clear(); filter(); $("grid").focus(); }
    else if (detail.path !== null) { show(null); $("grid").focus(); }
    else if (isTyping) $("grid").focus();
    return;
  }
  if (isTyping) { if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); $("grid").focus(); } return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = { "/": () => search.focus(), "!": () => { tree.nextTrouble(); $("grid").focus(); }, "?": () => $("help").showModal(), s: () => { $("news").textContent = `sorted by ${tree.sort()}`; }, y: () => detail.path !== null && detail.copy() };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

// MARK: beginning

store.addEventListener("table", () => {
  const path = decodeURIComponent(location.hash.slice(3));
  if (location.hash.startsWith("#at/") && store.rows.has(path)) visit(path);
}, { once: true });
actions.begin().catch(() => {});
store.open();
