// Changes, for those who have the token. It's kept by the tab alone, and sent in a header, so that no other site's page can use it.

import { printable } from "./format.js";

const key = "coordinator-token";
const dialog = document.getElementById("token-dialog");
const field = document.getElementById("token");
const complaint = document.getElementById("token-problem");
const question = document.getElementById("confirm");

// The longest that an answer is waited for.
const patience = 60000;

// What can be done in each state; the tests compare its states with the daemon's.
const possible = {
  inactive: ["start"], failed: ["start"], waiting: ["start", "stop"], starting: ["restart", "stop", "kill"], stopping: ["start", "kill"],
  active: ["restart", "pause", "stop", "kill"], paused: ["resume", "restart", "stop", "kill"], unhealthy: ["restart", "pause", "stop", "kill"],
  restarting: ["restart", "stop"], failing: ["restart", "stop"], unresponsive: ["restart", "stop", "kill"],
};
const all = [...new Set(Object.values(possible).flat())];

// The changes that make sense for a row; all of them in a state of a later daemon.
export function operations(row) {
  if (row.path === "/") return [];
  return (possible[row.state] ?? all).filter((operation) => operation !== "kill" || row.pid);
}

// A header has bytes, and a token may have any characters.
const authorization = (token) => `Bearer ${String.fromCharCode(...new TextEncoder().encode(token))}`;

export class Actions {
  isUnlocked = false;
  // Answers the question that is open.
  #answer = null;

  constructor(button, badge, onChange) {
    Object.assign(this, { button, badge, onChange });
    button.addEventListener("click", () => (this.isUnlocked ? this.lock() : this.#ask()));
    document.getElementById("token-cancel").addEventListener("click", () => dialog.close());
    document.getElementById("token-form").addEventListener("submit", (event) => { event.preventDefault(); this.#unlock(field.value); });
    // The event of a close comes a frame later, by when the dialog may be open again.
    dialog.addEventListener("close", () => { if (!dialog.open) field.value = ""; });
    question.addEventListener("close", () => { if (!question.open) this.#answer?.(question.returnValue === "yes"); });
  }

  async begin() {
    const { readOnly, version } = await (await fetch("/api/v1/console")).json();
    document.getElementById("version").textContent = version;
    this.button.hidden = readOnly;
    const token = readOnly ? null : sessionStorage.getItem(key);
    // The console may have another token by now.
    this.#show(token !== null && (await this.#try(token)) === null);
  }

  lock() { sessionStorage.removeItem(key); this.#show(false); }

  #ask() {
    this.#complain("");
    field.value = "";
    dialog.showModal();
    field.focus();
  }

  // The token is tried at once, so that a wrong one is told here and not at the first change.
  async #unlock(token) {
    const problem = await this.#try(token);
    if (problem !== null) { this.#complain(problem); field.select(); return; }
    sessionStorage.setItem(key, token);
    dialog.close();
    this.#show(true);
  }

  #complain(text) {
    complaint.hidden = !text;
    complaint.textContent = printable(text);
    if (text) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
  }

  // Returns what is wrong with a token; null: it's right.
  async #try(token) {
    const response = await this.#post("unlock", {}, token).catch(() => null);
    if (response === null) return "The console doesn't answer. Try again.";
    if (response.ok) return null;
    if (response.status === 401) return "This isn't the console's token: look at the file that --token-file names.";
    return (await response.json().catch(() => null))?.error?.message ?? `the console answered ${response.status}`;
  }

  #show(isUnlocked) {
    this.isUnlocked = isUnlocked;
    this.badge.hidden = false;
    this.badge.textContent = isUnlocked ? "changes unlocked" : "read-only";
    this.badge.classList.toggle("open", isUnlocked);
    this.button.textContent = isUnlocked ? "Lock" : "Unlock changes…";
    this.onChange();
  }

  #post(operation, body, token) {
    const headers = { "Content-Type": "application/json", Authorization: authorization(token) };
    return fetch(`/api/v1/${operation}`, { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(patience) });
  }

  // Sends a change, and returns its answer; what failed is thrown as text for people.
  async send(operation, body) {
    let response, answer;
    try {
      response = await this.#post(operation, body, sessionStorage.getItem(key) ?? "");
      answer = await response.json();
    } catch (error) {
      throw error.name === "TimeoutError" ? new Error("no answer has come within a minute; the change may have been carried out, or still be under way") : error;
    }
    if (response.ok) return answer;
    if (response.status === 401) this.lock();
    throw new Error(answer.error?.message ?? `the console answered ${response.status}`);
  }

  // Asks before a change that ends something, or can't be taken back. A question that another one replaces is answered with no.
  confirm(operation, path, text) {
    this.#answer?.(false);
    document.getElementById("confirm-title").textContent = printable(`${operation} ${path}?`);
    document.getElementById("confirm-text").textContent = text;
    document.getElementById("confirm-yes").textContent = operation;
    question.returnValue = "cancel";
    question.showModal();
    return new Promise((resolve) => { this.#answer = resolve; });
  }
}
