// All coordinators at a glance: a cell each, in the order of the tree. What is in trouble is larger than its neighbours, and has another colour.

import { isTrouble, printable, tone } from "./format.js";

const cell = 8;

export class Wall {
  #rows = [];

  constructor(canvas, store, onPath) {
    Object.assign(this, { canvas, store });
    canvas.addEventListener("click", (event) => {
      const index = Math.floor((event.offsetY - 8) / cell) * this.perLine + Math.floor((event.offsetX - 16) / cell);
      const row = this.#rows[index];
      if (row) onPath(row.path);
    });
    canvas.addEventListener("mousemove", (event) => {
      const row = this.#rows[Math.floor((event.offsetY - 8) / cell) * this.perLine + Math.floor((event.offsetX - 16) / cell)];
      canvas.title = row ? printable(`${row.path}: ${row.state}`) : "";
    });
    new ResizeObserver(() => this.draw()).observe(canvas.parentElement);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    store.addEventListener("table", ({ detail }) => { if (detail.isShaped || detail.moved.length) this.draw(); });
  }

  draw() {
    const { canvas } = this;
    this.#rows = [...this.store.walk()];
    // A few coordinators are all in view anyway.
    canvas.hidden = this.#rows.length <= 60;
    if (canvas.hidden) return;
    const width = canvas.parentElement.clientWidth - 32;
    this.perLine = Math.max(1, Math.floor(width / cell));
    const height = Math.ceil(this.#rows.length / this.perLine) * cell;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    canvas.style.height = `${height + 12}px`;
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const colours = Object.fromEntries(["ok", "move", "hold", "bad", "dim"].map((name) => [name, style.getPropertyValue(`--${name}`)]));
    this.#rows.forEach((row, index) => {
      const [x, y] = [(index % this.perLine) * cell, Math.floor(index / this.perLine) * cell];
      const kind = tone(row.state);
      context.fillStyle = colours[kind === "off" ? "dim" : kind];
      context.globalAlpha = row.state === "active" ? 0.42 : 1;
      const inset = isTrouble(row.state) ? 0.5 : 1.5;
      context.fillRect(x + inset, y + inset, cell - 2 * inset, cell - 2 * inset);
    });
  }
}
