// Changes, for those who have the token. It's kept by the tab alone, and sent in a header, so that no other site's page can use it.

import { printable } from "./format.js";

const key = "coordinator-token";

export class Actions {
  isUnlocked = false;
  operations = [];

  constructor(button, badge, onChange) {
    Object.assign(this, { button, badge, onChange });
    button.addEventListener("click", () => (this.isUnlocked ? this.lock() : document.getElementById("token-dialog").showModal()));
    document.getElementById("token-dialog").addEventListener("close", (event) => {
      const field = document.getElementById("token");
      if (event.target.returnValue === "unlock" && field.value) { sessionStorage.setItem(key, field.value); this.#show(true); }
      field.value = "";
    });
  }

  async begin() {
    const { readOnly, operations, version } = await (await fetch("/api/v1/console")).json();
    document.getElementById("version").textContent = version;
    this.operations = operations;
    this.button.hidden = readOnly;
    this.#show(!readOnly && sessionStorage.getItem(key) !== null);
  }

  lock() { sessionStorage.removeItem(key); this.#show(false); }

  #show(isUnlocked) {
    this.isUnlocked = isUnlocked;
    this.badge.hidden = false;
    this.badge.textContent = isUnlocked ? "changes unlocked" : "read-only";
    this.badge.classList.toggle("open", isUnlocked);
    this.button.textContent = isUnlocked ? "Lock" : "Unlock changes…";
    this.onChange();
  }

  // Sends a change, and returns its answer; what failed is thrown as text for people.
  async send(operation, body) {
    const response = await fetch(`/api/v1/${operation}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${sessionStorage.getItem(key) ?? ""}` },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.ok) return answer;
    if (response.status === 401) this.lock();
    throw new Error(answer.error?.message ?? `the console answered ${response.status}`);
  }

  // Asks before a change that ends something.
  confirm(operation, row, below) {
    const dialog = document.getElementById("confirm");
    document.getElementById("confirm-title").textContent = printable(`${operation} ${row.path}?`);
    document.getElementById("confirm-text").textContent = `Life ${row.life}${row.pid ? `, process ${row.pid}` : ""}${below ? `, and ${below} coordinators below it` : ""}.`;
    document.getElementById("confirm-yes").textContent = operation;
    dialog.returnValue = "cancel";
    dialog.showModal();
    return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
  }
}
