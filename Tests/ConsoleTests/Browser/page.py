"""Opens the console's page, uses it by keyboard, takes pictures, and prints what was found as JSON.

usage: page.py URL DIRECTORY TOKEN
"""
import json, sys, time

from chromium import Browser

url, directory, token = sys.argv[1:4]

browser = Browser(directory)
report = {}
try:
    browser.view(1280, 800, "light")
    began = time.monotonic()
    browser.call("Page.navigate", url=url)
    browser.wait("document.querySelectorAll('#grid .row:not([hidden])').length > 1")
    report["milliseconds_to_first_rows"] = round((time.monotonic() - began) * 1000)
    browser.wait("document.querySelectorAll('#charts .chart').length > 0")
    report["rows_in_document"] = browser.value("document.querySelectorAll('#grid .row').length")
    report["count"] = browser.value("document.getElementById('count').textContent")
    browser.picture("tree-light")
    # By keyboard alone, from the load to the detail of the next coordinator in trouble, else of the first child.
    browser.value("document.activeElement.blur()")
    for _ in range(30):
        browser.key("Tab")
        if browser.value("document.activeElement.id") == "grid":
            break
    report["focus"] = browser.value("document.activeElement.id")
    browser.key("!")
    browser.settle()
    if browser.value("document.getElementById('detail').hidden"):
        browser.key("ArrowDown")
        browser.key("Enter")
    browser.wait("document.querySelectorAll('#detail .facts dd').length > 2 && document.querySelectorAll('#detail .log *').length > 0")
    report["detail"] = browser.value("document.querySelector('#detail h2').textContent")
    browser.picture("detail-light")
    tree = browser.call("Accessibility.getFullAXTree")["nodes"]
    rows = [node for node in tree if node.get("role", {}).get("value") == "row" and node.get("properties")]
    grids = [node for node in tree if node.get("role", {}).get("value") == "treegrid"]
    report["accessible_rows"] = len(rows)
    report["accessible_grid"] = len(grids)
    report["row_levels"] = sorted({item["value"]["value"] for node in rows for item in node["properties"] if item["name"] == "level"})
    report["unnamed_buttons"] = [
        node["nodeId"] for node in tree
        if node.get("role", {}).get("value") in ("button", "textbox", "searchbox", "checkbox") and not node.get("name", {}).get("value") and not node.get("ignored")]
    browser.view(1280, 800, "dark")
    browser.picture("detail-dark")
    browser.key("Escape")
    report["detail_closed"] = browser.value("document.getElementById('detail').hidden")
    browser.picture("tree-dark")
    browser.view(390, 844, "light", narrow=True)
    report["sideways"] = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    browser.picture("narrow-light")
    browser.view(1280, 800, "light")
    browser.key("/")
    for letter in "zzz-nothing":
        browser.key(letter)
    report["empty"] = browser.value("document.getElementById('empty').textContent")
    browser.picture("empty-light")
    browser.key("Escape")
    report["search_cleared"] = browser.value("document.getElementById('search').value") == ""
    # Some of many change, and nothing else moves.
    browser.key("/")
    for letter in "job-2":
        browser.key(letter)
    shown = "[...document.querySelectorAll('#grid .row:not([hidden])')].find((row) => row.dataset.path === '/jobs/job-2')?.querySelector('.state').textContent"
    for number in range(1, 5):
        browser.post(token, "start", {"path": f"/jobs/job-{number}"})
    browser.wait(f"{shown} === 'active'")
    # A chart that has something to show from now on takes its place among the charts.
    browser.value("void (window.shifts = [], new PerformanceObserver((list) => list.getEntries().forEach((entry) => { const moved = entry.sources.filter(({ node }) =>"
                  "!(node?.closest ? node : node?.parentElement)?.closest('#charts')); if (moved.length) window.shifts.push(entry.value, ...moved.map("
                  "({ node }) => `${node?.id} ${node?.className?.baseVal ?? node?.className} ${node?.textContent}`)); })).observe({ type: 'layout-shift' }))")
    for operation, state in [("stop", "inactive"), ("start", "active")]:
        browser.post(token, operation, {"path": "/jobs/job-2"})
        browser.wait(f"{shown} === '{state}'")
    report["layout_shifts"] = browser.value("window.shifts")
    browser.key("Escape")
    report["rows_after_changes"] = browser.value("document.querySelectorAll('#grid .row').length")
    report["bad_texts"] = browser.value("(document.body.innerText.match(/NaN|undefined|null|Infinity/g) ?? []).length")
    report["foreign_requests"] = [
        event["params"]["request"]["url"] for event in browser.events
        if event["method"] == "Network.requestWillBeSent" and not event["params"]["request"]["url"].startswith(url.rstrip("/").split("#")[0])]
    report["problems"] = browser.problems()
finally:
    browser.end()
print(json.dumps(report))
