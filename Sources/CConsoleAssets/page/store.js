// What the page knows of the tree: rows by path, their order, and how old it all is.

export class Store extends EventTarget {
  rows = new Map();
  children = new Map();
  problem = null;
  heard = 0;
  skew = 0;
  #source = null;
  // The position in the stream, as its last message has named it.
  #position = "";
  #retry = 1000;
  #hiding = 0;

  constructor() {
    super();
    document.addEventListener("visibilitychange", () => this.follow());
  }

  // Follows the tree while the page is shown, and for half a minute longer.
  follow() {
    clearTimeout(this.#hiding);
    if (document.hidden) this.#hiding = setTimeout(() => this.#close(), 30000);
    else if (!this.#source) this.#open();
  }

  // The time of the daemon's machine, in milliseconds.
  get now() { return Date.now() + this.skew; }
  // Whether the rows have ever come: the tree has at least its root.
  get isKnown() { return this.rows.size > 0; }
  get age() { return this.heard ? Date.now() - this.heard : Infinity; }

  #open() {
    this.#close();
    const source = new EventSource(`/api/v1/stream${this.#position ? `?position=${encodeURIComponent(this.#position)}` : ""}`);
    this.#source = source;
    const hear = (kind, act) => source.addEventListener(kind, (message) => { this.#position = message.lastEventId || this.#position; act(JSON.parse(message.data)); });
    hear("table", (news) => this.take(news));
    hear("events", (detail) => this.dispatchEvent(new CustomEvent("events", { detail })));
    source.onerror = () => {
      // A refusal ends the source; an ended connection doesn't.
      if (source.readyState !== EventSource.CLOSED || source !== this.#source) return;
      this.#source = null;
      setTimeout(() => { if (!this.#source && !document.hidden) this.#open(); }, this.#retry * (1 + Math.random()));
      this.#retry = Math.min(15000, this.#retry * 2);
    };
  }

  #close() { this.#source?.close(); this.#source = null; }

  take({ now, whole, rows, gone, problem }) {
    this.heard = Date.now();
    this.skew = now - this.heard;
    this.#retry = 1000;
    this.problem = problem ?? null;
    let isShaped = whole;
    const moved = [];
    if (whole) {
      const kept = new Set(rows.map((row) => row.path));
      for (const path of this.rows.keys()) if (!kept.has(path)) this.rows.delete(path);
    }
    for (const path of gone) isShaped = this.rows.delete(path) || isShaped;
    for (const row of rows) {
      const former = this.rows.get(row.path);
      if (!former || former.place !== row.place) isShaped = true;
      if (former && former.state !== row.state) moved.push({ row, former: former.state });
      row.changed = former && former.state !== row.state ? Date.now() : former?.changed ?? 0;
      this.rows.set(row.path, row);
    }
    if (isShaped) this.#shape();
    this.dispatchEvent(new CustomEvent("table", { detail: { isShaped, moved, whole } }));
  }

  static parent(path) {
    if (path === "/") return null;
    const cut = path.lastIndexOf("/");
    return cut <= 0 ? "/" : path.slice(0, cut);
  }

  #shape() {
    this.children = new Map();
    for (const row of this.rows.values()) {
      const parent = Store.parent(row.path);
      if (parent === null) continue;
      if (!this.children.has(parent)) this.children.set(parent, []);
      this.children.get(parent).push(row);
    }
    for (const list of this.children.values()) list.sort((a, b) => a.place - b.place);
  }

  // The children as they are now; the lists hold the rows of the last change of the shape.
  below(path) { return (this.children.get(path) ?? []).map((row) => this.rows.get(row.path)).filter(Boolean); }

  *walk(path = "/") {
    const row = this.rows.get(path);
    if (!row) return;
    yield row;
    for (const child of this.below(path)) yield* this.walk(child.path);
  }
}
