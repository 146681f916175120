// The durable flows at a path and below: how each is, and what can be done about it.

import { duration, element } from "./format.js";

const selections = { "": "all", open: "open", parked: "parked", due: "due", finished: "finished" };
const tones = { parked: "bad", unwinding: "hold", unwound: "hold", finished: "off" };

// What can be done in each status.
const possible = { open: ["retry", "cancel", "resume"], unwinding: ["retry", "resume"], parked: ["retry", "skip", "cancel"] };

const text = (page) => (typeof page === "string" ? page : JSON.stringify(page));

export class FlowList {
  // What is shown, so that what hasn't changed keeps the focus and a selection of text.
  #shown = "";
  // What changes with the time alone.
  #times = [];

  // `onChange(operation, flow)` carries a change out; `onPath` shows a flow's own coordinator; `onSelect` asks anew.
  constructor({ onChange, onPath, onSelect }) {
    Object.assign(this, { onChange, onPath });
    this.selection = element("select", { onchange: onSelect }, ...Object.entries(selections).map(([value, name]) => element("option", { value }, name)));
    this.rows = element("tbody");
    this.table = element("table", {},
      element("caption", { class: "hidden" }, "Durable flows"),
      element("thead", {}, element("tr", {}, ...["Flow", "Status", "Page", "Changed"].map((name) => element("th", { scope: "col" }, name)))),
      this.rows);
    this.remark = element("p", { class: "dim", role: "status" });
    this.node = element("div", { class: "flows" }, element("label", {}, "Show ", this.selection), this.remark, this.table);
  }

  address(path) {
    const words = new URLSearchParams({ path, limit: "100" });
    if (this.selection.value) words.set("selection", this.selection.value);
    return `/api/v1/flows?${words}`;
  }

  clear() { this.#shown = ""; this.rows.replaceChildren(); this.remark.textContent = ""; this.table.hidden = true; }

  take(answer, { path, now, isUnlocked }) {
    const { flows, next, unanswered } = answer;
    this.table.hidden = !flows.length;
    const remarks = [flows.length ? null : "There are none.", next ? "There are more: coordinatorctl flows lists all of them." : null, unanswered?.length ? `${unanswered.join(", ")} didn't answer.` : null];
    const remark = remarks.filter(Boolean).join(" ");
    if (this.remark.textContent !== remark) this.remark.textContent = remark;
    const shown = JSON.stringify([path, flows, isUnlocked]);
    if (shown === this.#shown) { for (const update of this.#times) update(now); return; }
    this.#times = [];
    this.#shown = shown;
    const focus = this.rows.contains(document.activeElement) ? document.activeElement.dataset.place : undefined;
    this.rows.replaceChildren(...flows.map((flow) => this.#row(flow, path, now, isUnlocked)));
    if (focus !== undefined) (this.rows.querySelector(`[data-place="${CSS.escape(focus)}"]`) ?? this.selection).focus();
  }

  #row(flow, path, now, isUnlocked) {
    const name = path !== "/" && flow.path.startsWith(`${path}/`) ? flow.path.slice(path.length + 1) : flow.path;
    const timed = (text) => {
      const node = document.createTextNode(text(now));
      this.#times.push((time) => { if (node.data !== text(time)) node.data = text(time); });
      return node;
    };
    const due = Date.parse(flow.due);
    const failures = flow.failures ? `, ${flow.failures} attempts failed` : "";
    const actions = isUnlocked ? possible[flow.status] ?? [] : [];
    const pages = flow.pages.map(text);
    return element("tr", {},
      element("th", { scope: "row" }, element("button", { type: "button", class: "to", title: `${flow.path}, ${flow.type}`, "data-place": flow.path, onclick: () => this.onPath(flow.path) }, name)),
      element("td", { class: tones[flow.status] ?? null }, `${flow.status}${failures}`, flow.due ? timed((time) => (due > time ? `, due in ${duration(due - time)}` : ", due")) : null, flow.error ? element("div", { class: "error" }, flow.error) : null,
        actions.length ? element("div", { class: "actions", role: "group", "aria-label": `Changes of ${flow.path}` }, ...actions.map((operation) =>
          element("button", { type: "button", "data-place": `${operation} ${flow.path}`, onclick: () => this.onChange(operation, flow) }, operation))) : null),
      element("td", { title: pages.join(" › ") || "none" }, pages.at(-1) ?? "–"),
      element("td", { class: "figure dim" }, timed((time) => `${duration(time - Date.parse(flow.changed))} ago`)));
  }
}
