// What has happened, newest first. Repeats are folded; what comes while the list is scrolled waits above it.

import { clock, duration, element, printable, sign } from "./format.js";

const kept = 400;
const shapes = { crashed: "failed", gave_up: "failed", start_failed: "failed", unresponsive: "unresponsive", unhealthy: "unhealthy", restarting: "restarting", failing: "failed", paused: "paused", violation: "unresponsive", dead_letters: "unresponsive", gap: "inactive", missed: "unresponsive", stopped: "inactive", operator: "starting", configuration: "starting", renewal: "starting", daemon_started: "starting", daemon_stopping: "stopping" };
const troubles = new Set(["crashed", "gave_up", "start_failed", "unresponsive", "unhealthy", "restarting", "failing", "violation", "dead_letters", "gap", "missed"]);

export class EventList {
  #entries = [];
  #waiting = [];

  constructor(store, list, newer, onlyTrouble, onPath) {
    Object.assign(this, { list, newer, onlyTrouble, onPath });
    store.addEventListener("events", ({ detail }) => this.take(detail));
    list.addEventListener("scroll", () => { if (list.scrollTop < 8) this.#release(); });
    newer.addEventListener("click", () => { list.scrollTop = 0; this.#release(); });
    onlyTrouble.addEventListener("change", () => this.draw());
    this.draw();
  }

  take({ missed, events }) {
    if (missed > 0) this.#waiting.push({ event: { kind: "gap", count: missed, time: events[0]?.event.time ?? new Date().toISOString() } });
    this.#waiting.push(...events);
    if (this.list.scrollTop < 8) this.#release();
    else { this.newer.hidden = false; this.newer.textContent = `${this.#waiting.length} new ↑`; }
  }

  #release() {
    this.newer.hidden = true;
    if (!this.#waiting.length) return;
    for (const { event } of this.#waiting) {
      const last = this.#entries[0];
      if (last && last.event.kind === event.kind && last.event.path === event.path && last.event.reason === event.reason && !event.request) { last.times += 1; last.event = event; }
      else this.#entries.unshift({ event, times: 1 });
    }
    this.#waiting = [];
    this.#entries.length = Math.min(this.#entries.length, kept);
    this.draw();
  }

  draw() {
    const shown = this.#entries.filter(({ event }) => !this.onlyTrouble.checked || troubles.has(event.kind));
    if (!shown.length) {
      this.list.replaceChildren(element("li", { class: "none" }, element("span"), element("span"), element("span", { class: "dim" }, this.onlyTrouble.checked ? "No trouble in the events that are kept." : "No events yet.")));
      return;
    }
    this.list.replaceChildren(...shown.slice(0, 200).map(({ event, times }) => this.#line(event, times)));
  }

  #line(event, times) {
    const what = element("span", { class: "what" });
    if (event.path) what.append(element("a", { href: `#at${event.path}`, onclick: (click) => { click.preventDefault(); this.onPath(event.path); } }, event.path), " ");
    what.append(printable(text(event)));
    if (times > 1) what.append(element("b", {}, ` ×${times}`));
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
