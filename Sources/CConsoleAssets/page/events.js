// What has happened, newest first. Repeats and the turns of a crash loop are folded; what comes while the list is scrolled isn't shown until it's at its top again.

import { clock, duration, element, printable, sign } from "./format.js";
import { format, parse } from "./route.js";

const kept = 400;
const shapes = { crashed: "failed", gave_up: "failed", start_failed: "failed", unresponsive: "unresponsive", unhealthy: "unhealthy", restarting: "restarting", failing: "failed", paused: "paused", violation: "unresponsive", dead_letters: "unresponsive", gap: "inactive", missed: "unresponsive", stopped: "inactive", operator: "starting", configuration: "starting", renewal: "starting", daemon_started: "starting", daemon_stopping: "stopping" };
const troubles = new Set(["crashed", "gave_up", "start_failed", "unresponsive", "unhealthy", "restarting", "failing", "violation", "dead_letters", "gap", "missed"]);

// Each turn of a crash loop has several of these.
const turns = new Set(["crashed", "start_failed", "restarting", "failing", "restarted"]);
const ends = new Set(["crashed", "start_failed"]);

// Whether a path is another one, or below it.
export const isAt = (path, other) => other === "/" || path === other || path.startsWith(`${other}/`);
// An event without a path is about the whole tree.
export const isAbout = (event, path) => isAt(event.path ?? "/", path);

export class EventList {
  #entries = [];
  // The entries of crash loops, by path.
  #loops = new Map();
  // The number of events that have come and aren't shown.
  #unread = 0;
  // What has come: a stream that begins anew, and an answer about former events, tell some of them again.
  #seen = new Set();

  constructor({ list, newer, onlyTrouble, onPath }) {
    Object.assign(this, { list, newer, onlyTrouble, onPath });
    list.addEventListener("scroll", () => { if (list.scrollTop < 8 && this.#unread) this.draw(); });
    newer.addEventListener("click", () => { list.scrollTop = 0; this.draw(); });
    onlyTrouble?.addEventListener("change", () => this.draw());
    this.draw();
  }

  clear() {
    this.#entries = [];
    this.#loops.clear();
    this.#seen.clear();
    this.list.scrollTop = 0;
    this.draw();
  }

  take({ missed, events }) {
    const news = events.map(({ event }) => event).filter((event) => this.#isNew(event));
    if (missed > 0) news.unshift({ kind: "gap", count: missed, time: events[0]?.event.time ?? new Date().toISOString() });
    if (!news.length) return;
    for (const event of news) this.#enter(event);
    for (const entry of this.#entries.splice(kept)) if (this.#loops.get(entry.event.path) === entry) this.#loops.delete(entry.event.path);
    if (this.list.scrollTop < 8) { this.draw(); return; }
    this.#unread += news.length;
    this.newer.hidden = false;
    this.newer.textContent = `${this.#unread.toLocaleString("en")} new ↑`;
  }

  #isNew({ boot, number, kind }) {
    const name = `${boot} ${number} ${kind}`;
    if (this.#seen.has(name)) return false;
    this.#seen.add(name);
    if (this.#seen.size > 4096) this.#seen.delete(this.#seen.values().next().value);
    return true;
  }

  #enter(event) {
    const loop = this.#loops.get(event.path);
    if (!turns.has(event.kind)) {
      this.#loops.delete(event.path);
      const last = this.#entries[0];
      const isRepeat = last && !last.end && last.event.kind === event.kind && last.event.path === event.path && last.event.reason === event.reason && !event.request;
      if (isRepeat) { last.times += 1; last.event = event; } else this.#entries.unshift({ event, times: 1 });
      return;
    }
    // One line for the whole loop, with its latest end, how many there were, and what came after it.
    const entry = loop ?? { event, times: 0, end: null };
    entry.event = event;
    if (ends.has(event.kind)) { entry.times += 1; entry.end = event; }
    if (loop) this.#entries.splice(this.#entries.indexOf(loop), 1);
    this.#entries.unshift(entry);
    this.#loops.set(event.path, entry);
  }

  draw() {
    this.#unread = 0;
    this.newer.hidden = true;
    const shown = this.#entries.filter(({ event, end }) => !this.onlyTrouble?.checked || end || troubles.has(event.kind));
    if (!shown.length) {
      this.list.replaceChildren(element("li", { class: "none" }, element("span"), element("span"), element("span", { class: "dim" }, this.onlyTrouble?.checked ? "No trouble in the events that are kept." : "No events yet.")));
      return;
    }
    this.list.replaceChildren(...shown.slice(0, 200).map((entry) => this.#line(entry)));
  }

  #line({ event, times, end }) {
    const what = element("span", { class: "what" });
    if (event.path) what.append(element("a", { href: format({ ...parse(""), path: event.path }), onclick: (click) => { click.preventDefault(); this.onPath(event.path); } }, event.path), " ");
    what.append(printable(text(end ?? event)));
    if (times > 1) what.append(element("b", {}, ` ×${times}`));
    if (end && end !== event) what.append(element("span", { class: "dim" }, ` · ${text({ ...event, reason: null })}`));
    return element("li", {}, element("time", { datetime: event.time, title: event.time }, clock(event.time)), sign(shapes[event.kind] ?? "active"), what);
  }
}

// One sentence for people.
export function text(event) {
  const reason = event.reason ? `: ${event.reason}` : "";
  switch (event.kind) {
    case "failing":
    case "restarting": return `restarts${event.attempt > 1 ? `, attempt ${event.attempt}` : ""}${event.delay_ms ? `, in ${duration(event.delay_ms)}` : ""}${reason}`;
    case "gave_up": return `failed for good${reason}`;
    case "start_failed": return `could not start${reason}`;
    case "violation": return `broke a rule of its link${reason}`;
    case "dead_letters": return `${event.count ?? 1} messages dropped${reason}`;
    case "gap": return `${event.count ?? "some"} events are missing here`;
    case "operator": return `${event.request?.operation ?? "operation"} by ${event.request?.user ?? event.request?.uid ?? "?"}${event.request?.command ? ` (${event.request.command})` : ""}: ${event.request?.outcome ?? ""}`;
    case "daemon_started": return `the daemon is ready${reason}`;
    case "daemon_stopping": return `the daemon stops${reason}`;
    case "configuration": return `configuration applied${reason}`;
    default: return `${event.kind.replaceAll("_", " ")}${event.incarnation > 1 && event.kind === "restarted" ? ` as life ${event.incarnation}` : ""}${reason}`;
  }
}
