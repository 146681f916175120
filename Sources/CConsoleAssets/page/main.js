// Puts the parts of the page together.

import { Actions } from "./actions.js";
import { charts, fetchSeries } from "./charts.js";
import { Detail } from "./detail.js";
import { EventList } from "./events.js";
import { element, isTrouble, printable, sign, states, tone } from "./format.js";
import { Route } from "./route.js";
import { Store } from "./store.js";
import { orders, Tree } from "./tree.js";
import { Wall } from "./wall.js";

const $ = (id) => document.getElementById(id);
const store = new Store();
const search = $("search");
const isSmall = matchMedia("(max-width: 900px)");

const route = new Route(show);
const actions = new Actions($("unlock"), $("mode"), () => detail.controls());
const visit = (path) => route.go({ path, isLog: false, ...(path === route.view.path ? {} : { find: "" }) });
const close = () => { route.go({ path: null, isLog: false, tab: "log", find: "" }); $("grid").focus(); };
const detail = new Detail(store, $("detail"), actions, { onClose: close, onPath: visit, onView: (change, how) => route.go(change, how) });
const tree = new Tree(store, $("grid"), visit);
const events = new EventList({ list: $("events"), newer: $("newer"), onlyTrouble: $("trouble-only"), onPath: visit });
store.addEventListener("events", ({ detail: news }) => events.take(news));
const wall = new Wall($("wall"), store, visit);

// MARK: what the address says

let chosen = null;
function show(view) {
  const { path, isLog } = view;
  const isOther = path !== detail.path;
  const wasLog = document.body.classList.contains("log-page");
  document.body.classList.toggle("open", path !== null);
  document.body.classList.toggle("log-page", isLog);
  if (document.activeElement !== search) search.value = view.search;
  $("sort").value = order(view);
  filter();
  detail.show(view);
  if (isOther) chosen = null;
  choose();
  if (isOther) drawCharts();
  // What had the focus may be hidden now: on a small screen the detail stands in the list's place.
  if (isLog && !wasLog) detail.log.log.focus();
  else if (wasLog && !isLog) $("grid").focus();
  else if (isOther && path !== null && $("grid").offsetParent === null) document.querySelector("#detail h2").focus();
}
// A small screen shows trouble first.
const order = (view) => (orders.includes(view.sort) ? view.sort : isSmall.matches ? "trouble" : "tree");
isSmall.addEventListener("change", () => show(route.view));

// The row may come later than the address.
function choose() {
  const { path } = route.view;
  if (path === null || path === chosen || !store.rows.has(path)) return;
  chosen = path;
  tree.choose(path, { reveals: true });
}

$("sort").append(...orders.map((name) => element("option", { value: name }, name)));
$("sort").addEventListener("change", () => route.go({ sort: $("sort").value }));
function sort() {
  const next = orders[(orders.indexOf(tree.order) + 1) % orders.length];
  route.go({ sort: next });
  $("news").textContent = `sorted by ${next}`;
}

// MARK: the line of states

const chips = new Map(states.toReversed().map((state) => {
  const figure = element("b");
  const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => toggle(state) }, sign(state), figure, element("span", {}, state));
  $("chips").append(chip);
  return [state, { chip, figure }];
}));
function toggle(state) {
  const { states: former } = route.view;
  route.go({ states: former.includes(state) ? former.filter((each) => each !== state) : [...former, state] });
}
function filter() {
  const wanted = new Set(route.view.states);
  for (const [state, { chip }] of chips) chip.setAttribute("aria-pressed", String(wanted.has(state)));
  tree.filter(route.view.search, wanted, order(route.view));
  summarise();
}
function summarise() {
  const counts = new Map();
  for (const row of store.rows.values()) counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
  for (const [state, { chip, figure }] of chips) {
    const number = counts.get(state) ?? 0;
    figure.textContent = store.isKnown ? number.toLocaleString("en") : "–";
    figure.className = number ? tone(state) : "dim";
    // It stays where it is: what moves under the pointer is missed.
    chip.classList.toggle("none", !number && !route.view.states.includes(state));
  }
  const all = store.rows.size;
  $("count").textContent = !store.isKnown ? "–" : tree.hits === all || tree.hits === undefined ? all.toLocaleString("en") : `${tree.hits.toLocaleString("en")} of ${all.toLocaleString("en")}`;
  const bad = [...store.rows.values()].filter((row) => isTrouble(row.state)).length;
  const subject = route.view.isLog ? printable(`${route.view.path} – `) : "";
  document.title = `${subject}${bad ? `${bad} in trouble – ` : ""}coordinatord`;
}
search.addEventListener("input", () => route.go({ search: search.value }, { replaces: true }));

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
  choose();
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
  $("problem").textContent = store.problem === null ? "" : `The daemon doesn't answer: ${store.problem}.${store.isKnown ? " The figures below are old." : ""} \`coordinatorctl doctor\` looks for the cause.`;
}
setInterval(() => { age(); tree.draw(); }, 1000);

// MARK: charts

// The figures of what is chosen, else of the whole tree. The place stays as high, also without any; what isn't told now leaves the charts as they are.
let drawn;
async function drawCharts() {
  const { path } = detail;
  const series = await fetchSeries(path);
  if (path !== detail.path || (series === undefined && path === drawn)) return;
  drawn = path;
  const list = series ? charts(series) : [];
  const remark = series === undefined ? "The console doesn't tell the figures at present." : series === null || path === null ? "No figures yet." : "It has no figures of its own: neither a process nor messages.";
  $("charts").setAttribute("aria-label", printable(`The last hour of ${path ?? "the tree"}`));
  $("charts").replaceChildren(...(list.length ? list : [element("p", { class: "dim" }, remark)]));
}
setInterval(() => { if (!document.hidden) drawCharts(); }, 10000);

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
// The address is the view's, not the skip link's.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("grid").focus(); });

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input:not([type=checkbox]), select");
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") {
    const { view } = route;
    if (event.target === search || (!detail.panel.contains(event.target) && (view.search || view.states.length))) { route.go({ search: "", states: [] }); search.value = ""; $("grid").focus(); }
    else if (event.target.matches("input:not([type=checkbox])") && event.target.value) return;
    else if (view.isLog) route.go({ isLog: false });
    else if (detail.path !== null) close();
    else if (isTyping) $("grid").focus();
    return;
  }
  if (isTyping) { if (event.target === search && ["Enter", "ArrowDown"].includes(event.key)) { event.preventDefault(); $("grid").focus(); } return; }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const keys = {
    "/": () => search.focus(), "!": () => { tree.nextTrouble(); $("grid").focus(); }, "?": () => $("help").showModal(), s: sort, y: () => detail.copy(),
    l: () => route.view.path !== null && route.go({ isLog: !route.view.isLog, tab: "log" }),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

// MARK: beginning

show(route.view);
drawCharts();
actions.begin().catch(() => {});
store.follow();
