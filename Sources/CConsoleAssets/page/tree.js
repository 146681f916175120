// The tree as a table whose rows open and close. Only the rows in view are in the document, and the chosen one.

import { columns, fitting } from "./columns.js";
import { count, element, isTrouble, printable, seconds, sign, states, tone } from "./format.js";
import { Store } from "./store.js";

export const orders = ["tree", "trouble", "cpu", "memory", "restarts", "rate", "waiting"];

export class Tree {
  chosen = "/";
  #folded = new Set();
  #lines = [];
  #pool = [];
  #filter = { words: [], states: new Set() };
  #shown = [];
  order = "tree";
  #isFirst = true;
  #frame = 0;

  constructor(store, grid, onOpen) {
    this.store = store;
    this.grid = grid;
    this.onOpen = onOpen;
    this.rowHeight = 26;
    this.spacer = element("div", { role: "presentation" });
    this.probe = element("div", { class: "probe", role: "presentation" });
    grid.append(this.spacer, this.probe);
    this.heads = new Map(columns.map((column) => [column, element("span", { class: column.isNumber ? "cell number" : "cell" }, column.title)]));
    document.getElementById("heads").append(...this.heads.values());
    grid.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => {
      this.#fit();
      // The list has given room to what is open; otherwise its beginning stays in view.
      if (document.body.classList.contains("open")) this.#reveal();
      this.draw();
    }).observe(grid);
    grid.addEventListener("keydown", (event) => this.#key(event));
    store.addEventListener("table", ({ detail }) => {
      if (this.#isFirst && store.rows.size) { this.#isFirst = false; this.#foldWell(); }
      this.#fit();
      this.arrange();
    });
  }

  // Chooses the columns for the rows that there are and the room that there is.
  #fit() {
    this.digit ||= this.probe.offsetWidth / 100;
    const shown = fitting([...this.store.rows.values()], this.grid.clientWidth, this.digit || 8);
    if (shown.length === this.#shown.length && shown.every((column, place) => column === this.#shown[place])) return;
    this.#shown = shown;
    this.grid.parentElement.style.setProperty("--columns", shown.map(({ ch, track }) => track ?? `${ch}ch`).join(" "));
    for (const column of columns) {
      const isHidden = !shown.includes(column);
      this.heads.get(column).hidden = isHidden;
      for (const row of this.#pool) row.cells[column.key].hidden = isHidden;
    }
  }

  // On the first sight, subtrees without trouble are folded when not all fits.
  #foldWell() {
    if (this.store.rows.size * this.rowHeight <= Math.max(300, this.grid.clientHeight)) return;
    for (const row of this.store.rows.values()) {
      if (row.path === "/" || !this.store.below(row.path).length) continue;
      if (![...this.store.walk(row.path)].some((each) => isTrouble(each.state))) this.#folded.add(row.path);
    }
  }

  // Shows the rows that match, in an order.
  filter(text, chosenStates, order) {
    this.#filter = { words: text.toLowerCase().split(/\s+/).filter(Boolean), states: chosenStates };
    this.order = orders.includes(order) ? order : "tree";
    this.arrange();
  }

  #matches(row) {
    const { words, states } = this.#filter;
    if (states.size && !states.has(row.state)) return false;
    const text = `${row.path} ${row.type} ${row.state} ${row.pid ?? ""} ${row.user ?? ""} ${row.command ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  // Decides which rows there are, in which order and depth.
  arrange() {
    const { words, states: wanted } = this.#filter;
    const isFiltered = words.length > 0 || wanted.size > 0;
    const lines = [];
    let hits = 0;
    if (this.order !== "tree") {
      for (const row of this.store.walk()) if (this.#matches(row)) lines.push({ path: row.path, depth: 0, position: 0, size: 0 });
      hits = lines.length;
      const rank = (path) => {
        const row = this.store.rows.get(path);
        return this.order === "trouble" ? -states.indexOf(row.state) : row[this.order] ?? -1;
      };
      lines.sort((a, b) => rank(b.path) - rank(a.path));
    } else {
      const add = (row, depth, position, size) => {
        const index = lines.length;
        const below = this.store.below(row.path);
        lines.push({ path: row.path, depth, position, size, folds: below.length > 0, isOpen: isFiltered || !this.#folded.has(row.path) });
        const isHit = this.#matches(row);
        if (isHit) hits += 1;
        let isKept = isHit;
        if (lines[index].isOpen) below.forEach((child, place) => { isKept = add(child, depth + 1, place + 1, below.length) || isKept; });
        // A row that matches keeps its ancestors.
        if (isFiltered && !isKept) lines.length = index;
        return isKept;
      };
      const root = this.store.rows.get("/");
      if (root) add(root, 0, 1, 1);
    }
    this.#lines = lines;
    this.hits = isFiltered ? hits : this.store.rows.size;
    if (!this.#lines.some((line) => line.path === this.chosen)) {
      // The nearest ancestor that is still shown.
      let path = this.chosen;
      while (path && !this.#lines.some((line) => line.path === path)) path = Store.parent(path);
      if (path && !this.store.rows.has(this.chosen)) this.chosen = path;
    }
    this.grid.setAttribute("aria-rowcount", lines.length);
    this.spacer.style.height = `${lines.length * this.rowHeight}px`;
    const empty = document.getElementById("empty");
    empty.hidden = lines.length > 0;
    if (!lines.length) empty.textContent = this.store.rows.size ? `Nothing matches among ${this.store.rows.size.toLocaleString("en")} coordinators. Esc clears the filters.` : "Waiting for the daemon.";
    this.draw();
  }

  draw() {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#drawNow(); });
  }

  #drawNow() {
    const first = Math.max(0, Math.floor(this.grid.scrollTop / this.rowHeight) - 4);
    const last = Math.min(this.#lines.length, Math.ceil((this.grid.scrollTop + this.grid.clientHeight) / this.rowHeight) + 4);
    const wanted = [];
    for (let index = first; index < last; index += 1) wanted.push(index);
    const chosen = this.#lines.findIndex((line) => line.path === this.chosen);
    if (chosen >= 0 && (chosen < first || chosen >= last)) wanted.push(chosen);
    while (this.#pool.length < wanted.length) this.#pool.push(this.#makeRow());
    this.#pool.forEach((row, place) => {
      row.hidden = place >= wanted.length;
      if (!row.hidden) this.#fill(row, wanted[place]);
    });
    this.grid.setAttribute("aria-activedescendant", chosen >= 0 ? this.#pool[wanted.indexOf(chosen)].id : "");
  }

  #makeRow() {
    const cells = Object.fromEntries(columns.map((column) => [column.key, element("span", { role: "gridcell", class: `cell ${column.isNumber ? "number" : column.key}`, hidden: !this.#shown.includes(column) })]));
    const twist = element("span", { class: "twist", "aria-hidden": "true" });
    const parts = { twist, start: element("span", { class: "start" }), end: element("span"), size: element("span", { class: "size" }), type: element("span", { class: "type" }) };
    cells.name.append(twist, element("span", { class: "key" }, parts.start, parts.end), parts.size, parts.type);
    parts.meter = element("i");
    parts.bar = element("span", { class: "meter", "aria-hidden": "true" }, parts.meter);
    parts.waiting = element("span", { class: "figure" });
    cells.waiting.classList.add("mailbox");
    cells.waiting.append(parts.bar, parts.waiting);
    const row = element("div", { role: "row", class: "row", id: `row-${this.#pool.length}`, hidden: true }, ...Object.values(cells));
    Object.assign(row, { cells, parts });
    row.addEventListener("click", (event) => {
      this.choose(row.dataset.path);
      if (event.target === twist) this.#fold(row.dataset.path, !this.#folded.has(row.dataset.path));
      else this.onOpen(row.dataset.path);
    });
    this.spacer.append(row);
    return row;
  }

  #fill(node, index) {
    const line = this.#lines[index];
    const row = this.store.rows.get(line.path);
    if (!row) { node.hidden = true; return; }
    const now = this.store.now;
    const isFolded = line.folds && !line.isOpen;
    const sum = isFolded ? this.#sum(row) : row;
    node.dataset.path = row.path;
    node.style.transform = `translateY(${index * this.rowHeight}px)`;
    node.classList.toggle("chosen", line.path === this.chosen);
    node.classList.toggle("changed", Date.now() - row.changed < 3000);
    const attributes = { "aria-rowindex": index + 1, "aria-level": line.depth + 1, "aria-posinset": line.position || index + 1, "aria-setsize": line.size || this.#lines.length, "aria-selected": line.path === this.chosen };
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (line.folds) node.setAttribute("aria-expanded", String(line.isOpen)); else node.removeAttribute("aria-expanded");

    const { cells, parts } = node;
    parts.twist.textContent = line.folds ? (line.isOpen ? "▾" : "▸") : "";
    parts.twist.hidden = this.order !== "tree";
    parts.twist.style.marginLeft = `${Math.min(line.depth, 12) * 16}px`;
    const name = printable(this.order !== "tree" || row.path === "/" ? row.path : row.key);
    // The end of a name tells most, so that its middle gives way.
    const cut = name.length > 14 ? name.length - 9 : name.length;
    set(parts.start, name.slice(0, cut));
    set(parts.end, name.slice(cut));
    set(parts.size, isFolded ? `· ${sum.size.toLocaleString("en")}` : "");
    set(parts.type, row.kind === "program" ? row.type.split("/").at(-1) : row.type);
    cells.name.title = printable(row.path);
    const state = isFolded ? sum.worst : row.state;
    const words = isFolded && sum.worst !== "active" && sum.worst !== row.state ? `${sum.worstCount.toLocaleString("en")} ${sum.worst}` : ["restarting", "failing"].includes(state) && row.due ? `${state}, ${seconds(row.due - now)}` : state;
    if (cells.state.dataset.state !== state) { cells.state.replaceChildren(sign(state), element("span")); cells.state.dataset.state = state; }
    set(cells.state.lastChild, words);
    cells.state.lastChild.className = state === "active" ? "" : tone(state);
    cells.restarts.classList.toggle("hold", sum.restarts > 0);
    const waiting = sum.waiting;
    set(parts.waiting, waiting === undefined || waiting === null ? "–" : count(waiting));
    parts.waiting.classList.toggle("zero", !waiting);
    // Logarithmic: the mailbox of a coordinator holds 1,024 messages.
    parts.meter.style.width = waiting ? `${Math.min(100, 10 * Math.log2(1 + waiting))}%` : "0";
    parts.bar.style.visibility = waiting === undefined || waiting === null ? "hidden" : "";
    parts.bar.classList.toggle("high", waiting > 256);
    for (const { key, text, isZero } of this.#shown) {
      if (!text) continue;
      set(cells[key], text(sum, row, now));
      cells[key].classList.toggle("zero", isZero?.(sum, row) === true);
    }
    cells.note.classList.toggle("bad", isTrouble(row.state) && row.state !== "paused");
    cells.note.title = cells.note.textContent;
  }

  // A folded row takes the worst state, the oldest message, and the sums of counts, rates and what processes use.
  #sum(row) {
    const sum = { size: -1, restarts: 0, oldest: undefined, worst: "active", worstCount: 0 };
    for (const each of this.store.walk(row.path)) {
      sum.size += 1;
      sum.restarts += each.restarts;
      for (const key of ["waiting", "rate", "cpu", "memory"]) if (each[key] !== undefined && each[key] !== null) sum[key] = (sum[key] ?? 0) + each[key];
      if (each.oldest && !(sum.oldest < each.oldest)) sum.oldest = each.oldest;
      if (each.state === sum.worst) sum.worstCount += 1;
      else if (states.indexOf(each.state) < states.indexOf(sum.worst)) { sum.worst = each.state; sum.worstCount = 1; }
    }
    return sum;
  }

  #fold(path, isFolded) {
    if (isFolded) this.#folded.add(path); else this.#folded.delete(path);
    this.arrange();
  }

  // Chooses a row, opens what is above it, and scrolls it into view.
  choose(path, { reveals = false } = {}) {
    if (!this.store.rows.has(path)) return;
    if (reveals) {
      for (let above = Store.parent(path); above; above = Store.parent(above)) this.#folded.delete(above);
      this.arrange();
    }
    this.chosen = path;
    this.#reveal();
    this.draw();
  }

  // Scrolls to the chosen row, unless it's in view.
  #reveal() {
    const index = this.#lines.findIndex((line) => line.path === this.chosen);
    if (index < 0) return;
    const top = index * this.rowHeight;
    if (top < this.grid.scrollTop) this.grid.scrollTop = top;
    else if (top + this.rowHeight > this.grid.scrollTop + this.grid.clientHeight) this.grid.scrollTop = top + this.rowHeight - this.grid.clientHeight;
  }

  nextTrouble() {
    const all = [...this.store.walk()];
    const from = all.findIndex((row) => row.path === this.chosen);
    const next = [...all.slice(from + 1), ...all.slice(0, from + 1)].find((row) => isTrouble(row.state));
    if (next) { this.choose(next.path, { reveals: true }); this.onOpen(next.path); }
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const index = Math.max(0, this.#lines.findIndex((line) => line.path === this.chosen));
    const line = this.#lines[index];
    if (!line) return;
    const page = Math.max(1, Math.floor(this.grid.clientHeight / this.rowHeight) - 1);
    const go = (to) => this.choose(this.#lines[Math.max(0, Math.min(this.#lines.length - 1, to))].path);
    const keys = {
      ArrowDown: () => go(index + 1), j: () => go(index + 1), ArrowUp: () => go(index - 1), k: () => go(index - 1),
      Home: () => go(0), End: () => go(this.#lines.length - 1), PageDown: () => go(index + page), PageUp: () => go(index - page),
      ArrowRight: () => (line.folds && !line.isOpen ? this.#fold(line.path, false) : line.folds ? go(index + 1) : undefined),
      ArrowLeft: () => (line.folds && line.isOpen ? this.#fold(line.path, true) : Store.parent(line.path) ? this.choose(Store.parent(line.path)) : undefined),
      Enter: () => this.onOpen(line.path), " ": () => line.folds && this.#fold(line.path, line.isOpen),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }
}

function set(node, text) { text = printable(text); if (node.textContent !== text) node.textContent = text; }
