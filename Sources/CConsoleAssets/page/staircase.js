// The way of one message as a staircase: a step for each coordinator that has handled it, on one axis of time.

import { clock, element, grouped } from "./format.js";

export function staircase({ time, message, path, trace }) {
  const whole = Math.max(1, trace.duration_us);
  const part = (us) => `${Math.max(0, Math.min(100, (us / whole) * 100))}%`;
  const open = [];
  const steps = trace.hops.map((hop) => {
    const end = hop.start_us + hop.duration_us;
    while (open.length && (open.at(-1).start_us > hop.start_us || open.at(-1).start_us + open.at(-1).duration_us < end)) open.pop();
    const depth = open.length;
    open.push(hop);
    const where = element("span", { class: "where mono", title: `${hop.path} · ${hop.type} · process ${hop.pid}` }, element("span", {}, `${depth ? "└ " : ""}${hop.path}`));
    where.firstChild.style.marginLeft = `${Math.max(0, depth - 1) * 10}px`;
    const own = element("i", { class: hop.error ? "failed" : null });
    own.style.left = part(hop.start_us);
    own.style.width = part(hop.duration_us);
    const span = element("span", { class: "span", role: "img", "aria-label": `from ${grouped(hop.start_us)} µs, ${grouped(hop.duration_us)} µs long, waited ${grouped(hop.waited_us)} µs` }, own);
    if (hop.waited_us > 0) {
      const wait = element("i", { class: "wait" });
      wait.style.left = part(hop.start_us - hop.waited_us);
      wait.style.width = part(hop.waited_us);
      span.prepend(wait);
    }
    return element("div", { class: "hop" }, where, span, element("span", { class: "figure" }, `${grouped(hop.duration_us)} µs`));
  });
  const outcome = trace.error ? `✗ ${trace.error.message}` : "✓";
  return element("article", { class: "trace", "aria-label": `${message}, ${grouped(trace.duration_us)} microseconds` },
    element("p", { class: "title" }, element("b", {}, message), element("span", { class: trace.error ? "bad" : "ok" }, outcome), element("span", { class: "grow" }), element("span", { class: "figure" }, `${grouped(trace.duration_us)} µs`), element("span", { class: "dim" }, clock(time))),
    ...steps,
    steps.length ? null : element("p", { class: "dim" }, `${path} asked; no row handled it.`));
}
