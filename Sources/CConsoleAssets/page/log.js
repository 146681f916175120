// What a child has written, with search; it follows what is written while its end is in view.

import { clock, element, printable } from "./format.js";
import { format } from "./route.js";

const pause = 1500;
const patience = 30000;

// Whether the browser's search for an expression takes a time that grows with the line alone: it tries each way in which groups and repetitions can
// match, and would stand still for minutes.
const isQuick = (find, line) => line.length <= 2000 && !/[()|\\]|\[[^\]]*\[|\[\]/.test(find) && (find.match(/[*+?{]/g) ?? []).length < 2;

export class LogView {
  path = null;
  #timer = 0;
  #asked = 0;
  #lines = [];
  // The lives of whose output the latest lines are, by paths.
  #lives = new Map();

  constructor({ onFind }) {
    this.title = element("span", { class: "dim" });
    this.search = element("input", { type: "search", placeholder: "Search the output", "aria-label": "Search the output, by a regular expression", autocomplete: "off", spellcheck: "false" });
    this.following = element("input", { type: "checkbox" });
    this.page = element("a", { target: "_blank", rel: "noopener" }, "own page ↗");
    this.status = element("p", { class: "bad", role: "status" });
    this.log = element("div", { class: "log", tabindex: "0", role: "log", "aria-live": "off", "aria-label": "Output" });
    this.bar = element("div", { class: "log-bar" }, this.search, element("label", { class: "check" }, this.following, "follow"), this.title, element("span", { class: "grow" }), this.page);
    this.node = element("div", { class: "log-view" }, this.bar, this.status, this.log);
    this.following.checked = true;
    this.following.addEventListener("change", () => { if (this.following.checked) this.#again(); });
    // Who reads further up isn't moved, and who comes back to the end follows again.
    this.log.addEventListener("scroll", () => {
      const isAtEnd = this.#isAtEnd;
      if (isAtEnd && !this.following.checked) { this.following.checked = true; this.#again(); } else if (!isAtEnd && this.log.dataset.top > this.log.scrollTop) this.following.checked = false;
      this.log.dataset.top = this.log.scrollTop;
    });
    let typing = 0;
    this.search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => onFind(this.search.value), 250); });
  }

  get #isAtEnd() { return this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 24; }

  // Shows the output of a path, or nothing any more.
  show(path, { find = "", isPage = false } = {}) {
    const isSame = path === this.path && find === this.find && isPage === this.isPage;
    Object.assign(this, { path, find, isPage });
    if (isSame) return;
    clearTimeout(this.#timer);
    if (path === null) return;
    if (document.activeElement !== this.search) this.search.value = find;
    this.page.hidden = isPage;
    this.page.href = format({ path, isLog: true, find, tab: "log", search: "", sort: "", states: [] });
    this.following.checked = true;
    this.#lines = [];
    this.log.dataset.top = 0;
    this.log.replaceChildren(element("span", { class: "dim" }, "…"));
    this.#again();
  }

  async #again() {
    clearTimeout(this.#timer);
    const asked = ++this.#asked;
    const { path, find } = this;
    // What a long log costs the daemon to search is asked for less often.
    let rest = pause;
    if (!document.hidden) {
      const began = performance.now();
      const words = new URLSearchParams({ path, lines: this.isPage ? 1000 : 500 });
      if (find) words.set("pattern", find);
      const response = await fetch(`/api/v1/logs?${words}`, { signal: AbortSignal.timeout(patience) }).catch(() => null);
      const answer = await response?.json().catch(() => null);
      rest = Math.max(pause, 10 * (performance.now() - began));
      if (asked !== this.#asked || path !== this.path || find !== this.find) return;
      this.status.textContent = response?.ok ? "" : printable(answer?.error?.message ?? "The console doesn't answer.");
      if (response?.ok) {
        this.title.textContent = answer.path === path ? "" : printable(`of ${answer.path}`);
        this.#draw(answer.lines);
      }
    }
    this.#timer = setTimeout(() => { if (this.following.checked) this.#again(); }, rest);
  }

  // Adds what is new, so that a selection of text stays.
  #draw(lines) {
    const { log } = this;
    if (!lines.length) {
      this.#lines = [];
      log.replaceChildren(element("span", { class: "dim" }, this.find ? "No line matches." : "Nothing was written yet."));
      return;
    }
    const last = this.#lines.at(-1);
    const known = last ? lines.findLastIndex((line) => line.time === last.time && line.line === last.line && line.path === last.path) : -1;
    if (known < 0) { log.replaceChildren(); this.#lives.clear(); }
    this.#lines = lines;
    for (const line of lines.slice(known + 1)) {
      const former = this.#lives.get(line.path);
      if (former !== undefined && line.incarnation !== former) log.append(element("div", { class: "life" }, `${line.path === this.path ? "" : `${line.path}: `}life ${line.incarnation ?? "?"} begins`));
      this.#lives.set(line.path, line.incarnation);
      log.append(this.#line(line));
    }
    while (log.childElementCount > lines.length * 2) log.firstElementChild.remove();
    if (this.following.checked) log.scrollTop = log.scrollHeight;
  }

  #line(line) {
    const text = line.gap ? [`(${line.gap.lines ?? "some"} lines are missing: ${line.gap.reason})`] : this.#marked(line.line);
    const whose = line.path === this.path || line.path === undefined ? null : element("span", { class: "dim" }, `${line.path} `);
    return element("div", { class: line.stream }, element("span", { class: "time" }, `${clock(line.time)} `), whose, ...text);
  }

  // The parts of a line, those that match marked, where the daemon's expression is one of the browser's too, and quick.
  #marked(line) {
    let expression;
    try { expression = this.find && isQuick(this.find, line) ? new RegExp(this.find, "g") : null; } catch { expression = null; }
    if (!expression) return [line];
    const parts = [];
    let end = 0;
    for (const match of line.matchAll(expression)) {
      if (!match[0]) continue;
      parts.push(line.slice(end, match.index), element("mark", {}, match[0]));
      end = match.index + match[0].length;
    }
    return [...parts, line.slice(end)];
  }
}
