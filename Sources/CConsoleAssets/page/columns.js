// The columns of the table, from left to right. Those of the least `worth` (the greatest number) give way when there is little room,
// and one that has nothing to say of any row isn't shown.

import { bytes, count, duration, seconds } from "./format.js";

const isThere = (value) => value !== undefined && value !== null;
// The root's mailbox makes no tree of messages.
const hasMail = (row) => row.path !== "/" && isThere(row.waiting);

export const columns = [
  { key: "name", title: "Name", ch: 24, track: "minmax(20ch, 1fr)", worth: 0 },
  { key: "state", title: "State", ch: 17, worth: 0 },
  { key: "cpu", title: "CPU %", ch: 7, worth: 2, isNumber: true, isUsed: (row) => isThere(row.memory), text: (sum) => count(sum.cpu), isZero: (sum) => !sum.cpu },
  { key: "memory", title: "Memory", ch: 9, worth: 3, isNumber: true, isUsed: (row) => isThere(row.memory), text: (sum) => bytes(sum.memory), isZero: (sum) => !sum.memory },
  { key: "restarts", title: "Restarts", ch: 8, worth: 1, isNumber: true, text: (sum) => count(sum.restarts), isZero: (sum) => !sum.restarts },
  { key: "up", title: "Up", ch: 8, worth: 4, isNumber: true, text: (sum, row, now) => (row.since ? seconds(now - row.since) : "–"), isZero: (sum, row) => !row.since },
  { key: "life", title: "Life", ch: 5, worth: 10, isNumber: true, text: (sum, row) => count(row.life), isZero: (sum, row) => !row.life },
  { key: "waiting", title: "Waiting", ch: 13, worth: 6, isUsed: hasMail },
  { key: "oldest", title: "Oldest", ch: 7, worth: 9, isNumber: true, isUsed: hasMail, text: (sum, row, now) => (sum.oldest ? duration(now - sum.oldest) : "–"), isZero: (sum) => !sum.oldest },
  { key: "rate", title: "Msg/s", ch: 8, worth: 7, isNumber: true, isUsed: hasMail, text: (sum) => count(sum.rate), isZero: (sum) => !sum.rate },
  { key: "user", title: "User", ch: 12, worth: 8, isUsed: (row) => isThere(row.user), text: (sum, row) => row.user ?? "–", isZero: (sum, row) => !row.user },
  { key: "note", title: "Command, or what is wrong", ch: 24, track: "minmax(24ch, 1.4fr)", worth: 5, isUsed: (row) => note(row) !== "", text: (sum, row) => note(row) },
];

// What there is to know of a row at a glance: what is wrong with it, else what it says of itself, else its command.
export function note(row) {
  if (row.state === "unhealthy") return row.health ?? "";
  if (["failed", "failing", "restarting", "unresponsive", "inactive"].includes(row.state)) return row.exit ?? "";
  if (row.state === "waiting") return row.awaits ? `waits for ${row.awaits.join(", ")}` : row.exit ?? "";
  return row.status ?? short(row.command) ?? "";
}

// A command without the directory of its program, which would take all of the room.
const short = (command) => command?.replace(/^[^\s'"]*\//, "");

// The columns that rows have something for, and that fit into so many pixels; `ch` is the width of a digit.
export function fitting(rows, pixels, ch) {
  const room = { gap: 10, edges: 32 };
  const used = columns.filter(({ isUsed }) => !isUsed || rows.some(isUsed)).sort((a, b) => a.worth - b.worth);
  let left = pixels - room.edges;
  const shown = new Set();
  for (const column of used) {
    left -= column.ch * ch + room.gap;
    if (left < 0 && column.worth > 0) break;
    shown.add(column);
  }
  return columns.filter((column) => shown.has(column));
}
