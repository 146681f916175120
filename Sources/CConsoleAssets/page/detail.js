// One coordinator or program: what it is and how it is, what can be done, and beneath one of its output, events, lives and traces.

import { operations } from "./actions.js";
import { EventList, isAbout, isAt } from "./events.js";
import { FlowList } from "./flows.js";
import { bytes, count, duration, element, printable, seconds, sign } from "./format.js";
import { LogView } from "./log.js";
import { staircase } from "./staircase.js";

const quote = (text) => (/^[\w/.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const question = async (address) => { const response = await fetch(address); return response.ok ? response.json() : null; };

// The facts that are sentences.
const wide = new Set(["Waits for", "Last exit", "Health", "Mailbox", "Status", "Command"]);
const tabs = { log: "Output", events: "Events", flows: "Flows", lives: "Lives", traces: "Traces" };

export class Detail {
  path = null;
  tab = null;
  #timer = 0;
  #life = null;
  #offered = null;
  // The events that came before the answer about the former ones.
  #early = null;

  constructor(store, panel, actions, { onClose, onPath, onView }) {
    Object.assign(this, { store, panel, actions, onView });
    this.log = new LogView({ onFind: (find) => onView({ find }, { replaces: true }) });
    this.parts = {
      title: element("h2", { tabindex: "-1" }), state: element("p", { class: "state" }), problem: element("p", { class: "bad", role: "alert", hidden: true }),
      actions: element("div", { class: "actions", role: "group", "aria-label": "Changes" }), facts: element("dl", { class: "facts" }),
      tabs: element("div", { class: "tabs", role: "tablist", "aria-label": "Parts" }),
      events: element("ol", { class: "event-list", tabindex: "0", "aria-label": "Its events, newest first" }), newer: element("button", { type: "button", hidden: true }),
      lives: element("ol", { class: "lives" }), traces: element("div"), ask: element("form", { class: "ask" }),
    };
    const { title, state, problem, facts, newer, events, lives, traces, ask } = this.parts;
    this.events = new EventList({ list: events, newer, onPath });
    this.flows = new FlowList({ onPath, onSelect: () => this.#refresh(), onChange: (operation, flow) => this.#changeFlow(operation, flow) });
    // Of what is asked for while it's looked at.
    this.addresses = { flows: (path) => this.flows.address(path), lives: (path) => `/api/v1/history?path=${encodeURIComponent(path)}`, traces: (path) => `/api/v1/traces?path=${encodeURIComponent(path)}` };
    store.addEventListener("events", ({ detail }) => {
      const own = this.path === null ? [] : detail.events.filter(({ event }) => isAbout(event, this.path));
      if (this.#early) this.#early.push(...own);
      else if (own.length || (detail.missed && this.path !== null)) this.events.take({ missed: detail.missed, events: own });
    });
    store.addEventListener("table", () => this.#facts());
    const panels = { log: [this.log.node], events: [newer, events], flows: [this.flows.node], lives: [lives], traces: [ask, traces] };
    this.panels = Object.fromEntries(Object.entries(panels).map(([tab, parts]) => [tab, element("div", { class: "panel", role: "tabpanel", id: `panel-${tab}`, "aria-labelledby": `tab-${tab}`, tabindex: Object.hasOwn(this.addresses, tab) ? "0" : null, hidden: true }, ...parts)]));
    this.buttons = Object.fromEntries(Object.entries(tabs).map(([tab, name]) => [tab, element("button", { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": `panel-${tab}`, onclick: () => onView({ tab }) }, name)]));
    this.parts.tabs.append(...Object.values(this.buttons));
    this.parts.tabs.addEventListener("keydown", (event) => this.#tabKey(event));
    panel.append(
      element("div", { class: "head" }, title, this.parts.actions, element("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Esc)", onclick: onClose }, "✕")),
      state, problem, facts, this.parts.tabs, ...Object.values(this.panels));
  }

  // Shows what the address says.
  show({ path, tab, find, isLog }) {
    const isOther = path !== this.path;
    this.path = path;
    this.panel.hidden = path === null;
    if (isOther) this.#begin();
    const isProgram = this.store.rows.get(path)?.kind === "program";
    this.#open(isLog || !Object.hasOwn(tabs, tab) || (tab === "traces" && isProgram) ? "log" : tab);
    this.log.show(this.tab === "log" ? path : null, { find, isPage: isLog });
  }

  #begin() {
    const { title, facts, lives, traces } = this.parts;
    this.#life = this.#offered = null;
    this.tab = null;
    this.#complain("");
    this.events.clear();
    this.flows.clear();
    for (const part of [facts, lives, traces]) part.replaceChildren();
    if (this.path === null) { clearTimeout(this.#timer); return; }
    title.textContent = printable(this.path);
    this.#facts();
    this.controls();
    this.#fetchEvents(this.path);
  }

  #open(tab) {
    if (tab === this.tab) return;
    this.tab = this.path === null ? null : tab;
    for (const [name, button] of Object.entries(this.buttons)) {
      button.setAttribute("aria-selected", String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
      this.panels[name].hidden = name !== tab;
    }
    this.#refresh();
  }

  #tabKey(event) {
    const all = Object.keys(tabs).filter((tab) => !this.buttons[tab].hidden);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = all[(all.indexOf(this.tab) + step + all.length) % all.length];
    this.onView({ tab: next });
    this.buttons[next].focus();
  }

  // The command for a terminal, for those who may change nothing here.
  copy() {
    if (this.path === null || !navigator.clipboard) return;
    const command = `coordinatorctl restart ${quote(this.path)}`;
    navigator.clipboard.writeText(command).then(() => { document.getElementById("news").textContent = printable(`copied: ${command}`); });
  }

  #facts() {
    if (this.path === null) return;
    const { state, facts } = this.parts;
    const row = this.store.rows.get(this.path);
    this.buttons.flows.hidden = this.tab !== "flows" && ![...this.store.rows.values()].some((each) => each.flows && (isAt(each.path, this.path) || isAt(this.path, each.path)));
    if (!row) {
      state.replaceChildren(element("span", { class: "hold" }, this.store.isKnown ? "There's nothing at this path." : "Waiting for the daemon."));
      facts.replaceChildren();
      this.#offer(null);
      return;
    }
    const now = this.store.now;
    const next = row.due ? `${row.state}${row.attempt ? `, attempt ${row.attempt}` : ""}, next start in ${seconds(row.due - now)}` : row.state;
    state.replaceChildren(sign(row.state), element("span", {}, row.since ? `${row.state} for ${seconds(now - row.since)}` : next));
    this.#fill(facts, this.#list(row, now));
    this.buttons.traces.hidden = row.kind === "program";
    this.#offer(row);
    // A new life has other lives at once.
    if (this.#life !== null && this.#life !== row.life) { clearTimeout(this.#timer); this.#timer = setTimeout(() => this.#refresh(), 200); }
    this.#life = row.life;
  }

  // Changes only what has changed, so that a selection of text stays.
  #fill(facts, list) {
    const names = list.map(([name]) => name).join();
    if (facts.dataset.names !== names || !facts.childElementCount) facts.replaceChildren(...list.map(([name]) => element("div", { class: wide.has(name) ? "wide" : null }, element("dt", {}, name), element("dd"))));
    facts.dataset.names = names;
    list.forEach(([, value, tone], place) => {
      const node = facts.children[place].lastChild;
      const text = printable(String(value));
      if (node.textContent !== text) node.textContent = text;
      node.title = text;
      node.className = tone ?? "";
    });
  }

  // What there is to know of a row; what isn't known is left out.
  #list(row, now) {
    const placement = row.path === "/" ? "process" : { worker: "worker process", program: "process", in_process: "in its parent's process" }[row.placement] ?? row.placement;
    const more = row.processes > 1 ? `, and ${row.processes - 1} more` : "";
    const mail = row.waiting === undefined || row.waiting === null ? null : `${count(row.waiting)} waiting${row.oldest ? `, the oldest for ${duration(now - row.oldest)}` : ""}, ${count(row.running)} running${row.stuck ? `, ${count(row.stuck)} of them stuck` : ""}, ${count(row.rate)}/s`;
    const isDown = ["failed", "failing", "restarting"].includes(row.state);
    const list = [
      ["Waits for", row.awaits?.join(", ")], ["Last exit", row.exit, isDown ? "bad" : undefined],
      ["Health", row.health, row.state === "unhealthy" ? "bad" : row.health === "healthy" ? "ok" : "hold"],
      ["CPU", row.memory === undefined ? null : row.cpu === undefined ? "–" : `${count(row.cpu)} %`], ["Memory", row.memory === undefined ? null : bytes(row.memory)],
      ["Runs", row.pid ? `${placement} ${row.pid}${more}` : null], ["User", row.user],
      ["Life", `${row.life}, ${row.restarts} restarts`], [row.kind === "program" ? "Program" : "Type", row.type],
      ["Flows", row.flows ? `${count(row.flows.open)} open${row.flows.parked ? `, ${count(row.flows.parked)} parked` : ""}${row.flows.due ? `, ${count(row.flows.due)} due` : ""}` : null, row.flows?.parked ? "bad" : undefined],
      ["Mailbox", mail], ["Status", row.status], ["Command", row.command, "mono"],
    ];
    return list.filter(([, value]) => value !== undefined && value !== null && value !== "");
  }

  // The controls of those who may change something.
  controls() {
    this.#offered = null;
    this.#offer(this.path === null ? null : this.store.rows.get(this.path));
    if (this.tab === "flows") this.#refresh();
    const { ask } = this.parts;
    ask.hidden = !this.actions.isUnlocked;
    ask.replaceChildren();
    if (ask.hidden) return;
    const name = element("input", { type: "text", placeholder: "Message, such as Cart.Add", "aria-label": "Message", required: true });
    const payload = element("input", { type: "text", placeholder: '{"sku":"apple"}', "aria-label": "Payload, JSON" });
    ask.append(name, payload, element("button", {}, "Trace"));
    ask.onsubmit = (event) => { event.preventDefault(); this.#trace(name.value, payload.value); };
  }

  // Offers what the state allows. Buttons that stay are left as they are, so that they keep the focus.
  #offer(row) {
    const { actions } = this.parts;
    const list = row && this.actions.isUnlocked ? operations(row) : [];
    if (this.#offered === list.join()) return;
    this.#offered = list.join();
    const focused = actions.contains(document.activeElement) ? document.activeElement : null;
    actions.replaceChildren(...list.map((operation) => [...actions.children].find((button) => button.textContent === operation) ?? element("button", { type: "button", onclick: () => this.#act(operation) }, operation)));
    actions.hidden = !list.length;
    if (focused) (focused.isConnected ? focused : actions.firstElementChild ?? this.parts.title).focus();
  }

  async #act(operation) {
    const row = this.store.rows.get(this.path);
    if (!row) return;
    const below = [...this.store.walk(row.path)].length - 1;
    const text = `Life ${row.life}${row.pid ? `, process ${row.pid}` : ""}${below ? `, and ${below} coordinators below it` : ""}.`;
    if (["stop", "kill", "restart"].includes(operation) && !(await this.actions.confirm(operation, row.path, text))) return;
    this.#complain("");
    try {
      await this.actions.send(operation, { path: row.path, incarnation: row.life, request_id: crypto.randomUUID() });
    } catch (error) { if (this.path === row.path) this.#complain(`${operation}: ${error.message}`); }
  }

  async #changeFlow(operation, flow) {
    const texts = { skip: "Its page is taken for done, without being performed or undone.", cancel: "All that the flow has done is undone." };
    if (texts[operation] && !(await this.actions.confirm(operation, flow.path, texts[operation]))) return;
    this.#complain("");
    try {
      await this.actions.send(`flow-${operation}`, { path: flow.path, page: operation === "skip" ? flow.page_number ?? 0 : undefined, request_id: crypto.randomUUID() });
    } catch (error) { this.#complain(`${operation} ${flow.path}: ${error.message}`); }
    this.#refresh();
  }

  async #trace(message, payload) {
    this.#complain("");
    try {
      await this.actions.send("trace", { path: this.path, message, payload: payload ? JSON.parse(payload) : {} });
    } catch (error) { this.#complain(`trace: ${error.message}`); }
    this.#refresh();
  }

  // Tells what went wrong, until the next change or another selection.
  #complain(text) {
    this.parts.problem.hidden = !text;
    this.parts.problem.textContent = printable(text);
  }

  async #fetchEvents(path) {
    const early = (this.#early = []);
    const answer = await question(`/api/v1/events?path=${encodeURIComponent(path)}&limit=200`).catch(() => null);
    if (early !== this.#early) return;
    this.#early = null;
    this.events.take({ missed: 0, events: [...(answer?.events ?? []), ...early] });
  }

  // What isn't told by the stream is asked for while it's looked at.
  async #refresh() {
    clearTimeout(this.#timer);
    const { path, tab } = this;
    if (path === null || !Object.hasOwn(this.addresses, tab)) return;
    const answer = document.hidden ? null : await question(this.addresses[tab](path)).catch(() => null);
    if (path !== this.path || tab !== this.tab) return;
    if (answer?.flows) this.flows.take(answer, { path, now: this.store.now, isUnlocked: this.actions.isUnlocked });
    const { lives, traces } = this.parts;
    if (answer?.lives) {
      const list = answer.lives.toReversed().slice(0, 50);
      lives.replaceChildren(...(list.length ? list.map(life) : [element("li", { class: "dim" }, "No lives are known.")]));
    }
    if (answer?.traces) {
      const list = answer.traces.slice(0, 10);
      traces.replaceChildren(...(list.length ? list.map(staircase) : [element("p", { class: "dim" }, "None. With changes unlocked an ask can be traced here; coordinatorctl ask --trace does it in a terminal.")]));
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#refresh(), 2500);
  }
}

const life = (each) => element("li", {}, element("span", { class: "figure" }, `life ${each.incarnation}`), element("span", { class: "figure dim" }, duration(each.duration_ms)), element("span", { class: `reason ${each.ended ? "" : "ok"}` }, each.ended ? `✗ ${each.reason ?? "ended"}` : "● lives"));
