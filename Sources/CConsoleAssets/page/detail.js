// One coordinator: facts, charts, lives, traces, output.

import { coordinatorCharts, fetchSeries } from "./charts.js";
import { clock, count, duration, element, printable, seconds, sign } from "./format.js";
import { staircase } from "./staircase.js";

const quote = (text) => (/^[\w/.:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const question = async (address) => { const response = await fetch(address); return response.ok ? response.json() : null; };

export class Detail {
  path = null;
  #timer = 0;
  #life = null;

  constructor(store, panel, actions, onClose) {
    Object.assign(this, { store, panel, actions, onClose });
    store.addEventListener("table", () => this.#facts());
  }

  show(path) {
    this.path = path;
    clearTimeout(this.#timer);
    this.panel.hidden = path === null;
    if (path === null) return;
    this.#life = null;
    this.parts = {
      title: element("h2"), state: element("p", { class: "state" }), facts: element("dl", { class: "facts" }), actions: element("div", { class: "actions" }),
      command: element("code"), charts: element("div"), lives: element("ol", { class: "lives" }), traces: element("div"), ask: element("form", { class: "ask" }), outputTitle: element("h3", {}, "Output"), log: element("div", { class: "log", tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Output" }),
    };
    const { title, state, facts, actions, command, charts, lives, traces, ask, log } = this.parts;
    title.textContent = printable(path);
    command.textContent = printable(`coordinatorctl restart ${quote(path)}`);
    const copy = element("button", { type: "button", onclick: () => this.copy(copy) }, "Copy");
    this.panel.replaceChildren(
      element("div", { class: "head" }, title, element("button", { type: "button", "aria-label": "Close the detail", onclick: () => this.onClose() }, "✕")),
      state, facts, actions, element("div", { class: "copy" }, command, copy),
      element("h3", {}, "Last hour"), charts, element("h3", {}, "Lives"), lives,
      element("h3", {}, "Traces"), ask, traces, this.parts.outputTitle, log);
    this.panel.scrollTop = 0;
    this.#facts();
    this.#controls();
    this.#refresh();
  }

  copy(button) {
    navigator.clipboard?.writeText(`coordinatorctl restart ${quote(this.path)}`).then(() => { if (button) { button.textContent = "Copied"; setTimeout(() => { button.textContent = "Copy"; }, 1500); } });
  }

  #facts() {
    const row = this.path === null ? null : this.store.rows.get(this.path);
    if (!this.parts || this.path === null) return;
    const { state, facts } = this.parts;
    if (!row) { state.replaceChildren("It's gone from the tree."); return; }
    const now = this.store.now;
    state.replaceChildren(sign(row.state), element("span", {}, row.since ? `${row.state} for ${seconds(now - row.since)}` : row.due ? `${row.state}${row.attempt ? `, attempt ${row.attempt}` : ""}, next start in ${seconds(row.due - now)}` : row.state));
    const placement = { worker: "worker process", program: "program", in_process: "in its parent's process" }[row.placement] ?? row.placement;
    const list = [["Type", row.type], ["Runs", row.pid ? `${placement} ${row.pid}` : placement], ["Life", `${row.life}, ${row.restarts} restarts`]];
    if (row.waiting !== undefined && row.waiting !== null) list.push(["Mailbox", `${count(row.waiting)} waiting${row.oldest ? `, the oldest for ${duration(now - row.oldest)}` : ""}, ${count(row.running)} running${row.stuck ? `, ${count(row.stuck)} of them stuck` : ""}, ${count(row.rate)}/s`]);
    if (row.exit) list.push(["Last exit", row.exit]);
    if (row.status) list.push(["Status", row.status]);
    if (row.health) list.push(["Health", row.health]);
    const toneOf = (name) => (name !== "Health" ? undefined : row.state === "unhealthy" ? "bad" : row.health === "healthy" ? "ok" : "hold");
    facts.replaceChildren(...list.flatMap(([name, value]) => [element("dt", {}, name), element("dd", { class: toneOf(name) }, String(value))]));
    // A new life has other output and lives at once.
    if (this.#life !== null && this.#life !== row.life) { clearTimeout(this.#timer); this.#timer = setTimeout(() => this.#refresh(), 200); }
    this.#life = row.life;
  }

  // The buttons of those who may change something.
  controls() { if (this.path !== null && this.parts) this.#controls(); }

  #controls() {
    const { actions, ask } = this.parts;
    const isUnlocked = this.actions.isUnlocked;
    actions.hidden = ask.hidden = !isUnlocked;
    actions.replaceChildren();
    ask.replaceChildren();
    if (!isUnlocked) return;
    if (this.path !== "/") {
      for (const operation of ["restart", "pause", "resume", "start", "stop", "kill"]) actions.append(element("button", { type: "button", onclick: () => this.#act(operation) }, operation));
    }
    const name = element("input", { type: "text", placeholder: "Message, such as Cart.Add", "aria-label": "Message", required: true });
    const payload = element("input", { type: "text", placeholder: '{"sku":"apple"}', "aria-label": "Payload, JSON" });
    ask.append(name, payload, element("button", {}, "Trace"));
    ask.onsubmit = (event) => { event.preventDefault(); this.#trace(name.value, payload.value); };
  }

  async #act(operation) {
    const row = this.store.rows.get(this.path);
    if (!row) return;
    const below = [...this.store.walk(row.path)].length - 1;
    if (["stop", "kill", "restart"].includes(operation) && !(await this.actions.confirm(operation, row, below))) return;
    try {
      await this.actions.send(operation, { path: row.path, incarnation: row.life, request_id: crypto.randomUUID() });
    } catch (error) { this.#complain(error); }
  }

  async #trace(message, payload) {
    try {
      await this.actions.send("trace", { path: this.path, message, payload: payload ? JSON.parse(payload) : {} });
    } catch (error) { this.#complain(error); }
    this.#refresh();
  }

  #complain(error) { this.parts.state.replaceChildren(sign("failed"), element("span", { class: "bad", role: "alert" }, error.message)); }

  async #refresh() {
    clearTimeout(this.#timer);
    const path = this.path;
    const name = encodeURIComponent(path);
    const [series, history, log, traces] = await Promise.all([
      fetchSeries(path), question(`/api/v1/history?path=${name}`), question(`/api/v1/logs?path=${name}&lines=200`), question(`/api/v1/traces?path=${name}`),
    ].map((answer) => answer.catch(() => null)));
    if (path !== this.path) return;
    const parts = this.parts;
    const charts = series ? coordinatorCharts(series) : [];
    parts.charts.replaceChildren(...(charts.length ? charts : [element("p", { class: "dim" }, series ? "No messages and no restarts since the console began." : "No figures yet.")]));
    const lives = (history?.lives ?? []).toReversed().slice(0, 8);
    parts.lives.replaceChildren(...(lives.length ? lives.map(life) : [element("li", { class: "dim" }, "No lives are known.")]));
    const list = (traces?.traces ?? []).slice(0, 5);
    parts.traces.replaceChildren(...(list.length ? list.map(staircase) : [element("p", { class: "dim" }, "None. With changes unlocked an ask can be traced here; coordinatorctl ask --trace does it in a terminal.")]));
    this.parts.outputTitle.textContent = log && log.path !== path ? `Output of ${log.path}` : "Output";
    this.#output(log?.lines ?? []);
    this.#timer = setTimeout(() => { if (!document.hidden) this.#refresh(); else this.#timer = setTimeout(() => this.#refresh(), 5000); }, 2500);
  }

  #output(lines) {
    const { log } = this.parts;
    const last = lines.at(-1);
    const mark = `${lines.length} ${last?.time ?? ""}`;
    if (log.dataset.mark === mark) return;
    log.dataset.mark = mark;
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 24;
    let former = lines[0]?.incarnation;
    log.replaceChildren(...(lines.length ? lines.flatMap((line) => {
      const list = [];
      if (line.incarnation !== former) { list.push(element("div", { class: "life" }, `life ${line.incarnation ?? "?"} begins`)); former = line.incarnation; }
      list.push(element("div", { class: line.stream }, element("span", { class: "time" }, `${clock(line.time)} `), line.gap ? `(${line.gap.lines ?? "some"} lines are missing: ${line.gap.reason})` : line.line));
      return list;
    }) : [element("span", { class: "dim" }, "Nothing was written yet.")]));
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }
}

const life = (each) => element("li", {}, element("span", { class: "figure" }, `life ${each.incarnation}`), element("span", { class: "figure dim" }, duration(each.duration_ms)), element("span", { class: `reason ${each.ended ? "" : "ok"}` }, each.ended ? `✗ ${each.reason ?? "ended"}` : "● lives"));
