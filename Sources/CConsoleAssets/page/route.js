// What the page shows is in its address, so that Back works, and so do bookmarks and edited addresses:
// `#at/shop/cart?tab=events&search=cart&states=failed,failing&sort=trouble`, and `#log/shop/cart` for the output alone.

const defaults = { path: null, isLog: false, tab: "log", find: "", search: "", states: [], sort: "" };

export function parse(hash) {
  const [place, query = ""] = [hash.split("?", 1)[0], hash.includes("?") ? hash.slice(hash.indexOf("?") + 1) : ""];
  const [, kind, path] = /^#(at|log)(\/.*)$/.exec(place) ?? [];
  const words = new URLSearchParams(query);
  return {
    ...defaults,
    path: path === undefined ? null : decoded(path),
    isLog: kind === "log",
    tab: words.get("tab") ?? defaults.tab,
    find: words.get("find") ?? "",
    search: words.get("search") ?? "",
    states: (words.get("states") ?? "").split(",").filter(Boolean),
    sort: words.get("sort") ?? "",
  };
}

export function format(view) {
  const words = new URLSearchParams();
  for (const key of ["tab", "find", "search", "sort"]) if (view.path !== null || !["tab", "find"].includes(key)) if (view[key] !== defaults[key]) words.set(key, view[key]);
  if (view.states.length) words.set("states", view.states.join(","));
  const place = view.path === null ? "" : `${view.isLog ? "log" : "at"}${view.path.split("/").map(encodeURIComponent).join("/")}`;
  return `#${place}${words.size ? `?${words}` : ""}`;
}

// The view of the address, and the ways in which it changes: by the page, and by the browser.
export class Route {
  constructor(onChange) {
    this.onChange = onChange;
    this.view = parse(location.hash);
    addEventListener("hashchange", () => { this.view = parse(location.hash); onChange(this.view); });
  }

  // `replaces` is for what is no step back, such as each letter of a search.
  go(change, { replaces = false } = {}) {
    this.view = { ...this.view, ...change };
    const hash = format(this.view);
    if (hash !== format(parse(location.hash))) history[replaces ? "replaceState" : "pushState"](null, "", hash);
    this.onChange(this.view);
  }
}

// An address that was edited by hand may have a percent sign that begins nothing.
function decoded(path) { try { return decodeURIComponent(path); } catch { return path; } }
