"""Unlocks changes, traces an ask from the detail of a coordinator, and looks at names of others, announcements and media features.

The tree has `/tree` with a child `/tree/a` in processes of their own, `/busy` with messages that wait, a hostile name, and 20 programs
`/weak-1` and so on that fail when they are started.

usage: detail.py URL DIRECTORY TOKEN
"""
import json, sys

from chromium import Browser

url, directory, token = sys.argv[1:4]
canary = "canary-0f9d2"
mutating = "document.querySelectorAll('#detail .actions button, #detail form.ask *').length"


def boxes(selector):
    """The left edge and the width of each element."""
    return browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((node) => {{ const box = node.getBoundingClientRect(); return [box.left, box.width]; }})")


def texts(selector):
    return browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].map((node) => node.textContent)")


def field(selector, text):
    browser.value(f"document.querySelector({json.dumps(selector)}).focus()")
    browser.call("Input.insertText", text=text)


def click(selector):
    browser.value(f"document.querySelector({json.dumps(selector)}).click()")


browser = Browser(directory)
report = {}
try:
    browser.view(1680, 1000, "light")
    browser.call("Page.navigate", url=url)

    # The mailbox that has messages has a bar; with forced colours it still differs from its ground.
    busy = "[...document.querySelectorAll('#grid .row:not([hidden])')].find((row) => row.dataset.path === '/busy')"
    colours = "((bar, track) => getComputedStyle(bar).backgroundColor !== getComputedStyle(track).backgroundColor)"
    browser.wait(f"{busy}?.querySelector('.mailbox .figure').textContent === '20'")
    report["mailbox"] = browser.value(f"{busy}.querySelector('.meter i').getBoundingClientRect().width / {busy}.querySelector('.meter').getBoundingClientRect().width")
    browser.view(1680, 1000, "light", forced_colors="active", prefers_reduced_motion="reduce")
    report["forced_mailbox"] = browser.value(f"{colours}({busy}.querySelector('.meter i'), {busy}.querySelector('.meter'))")
    browser.view(1440, 1000, "light")

    # What changes something is there for those who have the token alone.
    browser.value("void (location.hash = '#at/tree?tab=traces')")
    browser.wait("document.querySelectorAll('#detail .facts dd').length > 3")
    report["mutating_without_token"] = browser.value(mutating)
    click("#unlock")
    field("#token", token)
    click("#token-form button[value=unlock]")
    browser.wait(f"{mutating} > 0")
    report["mutating_with_token"] = browser.value(mutating)

    # A trace, by the form of the page.
    field("#detail form.ask input", "Fixture.AskChild")
    field("#detail form.ask input:nth-of-type(2)", json.dumps({"key": "a", "text": canary}))
    click("#detail form.ask button")
    browser.wait("document.querySelectorAll('#detail .trace .hop').length > 0")
    report["hops"] = [text.strip() for text in texts("#detail .trace:first-of-type .hop .where")]
    report["indents"] = [left for left, _ in boxes("#detail .trace:first-of-type .hop .where span")]
    report["tracks"] = boxes("#detail .trace:first-of-type .hop .span")
    report["bars"] = boxes("#detail .trace:first-of-type .hop .span i:not(.wait)")

    report["trace"] = browser.value("fetch('/api/v1/traces?path=/tree').then((answer) => answer.json()).then((answer) => answer.traces[0].trace)")

    browser.value("document.querySelector('#detail .trace').scrollIntoView()")
    browser.picture("staircase-light")

    # An ask between two points of the figures.
    browser.wait("fetch('/api/v1/series').then((answer) => answer.json()).then((series) => series.p50.length > 0)")
    browser.post(token, "trace", {"path": "/tree", "message": "Fixture.WhereAmI"})
    names = "[...document.querySelectorAll('#charts .chart .name')].map((name) => name.textContent)"
    browser.wait(f"{names}.includes('Latency')")
    report["charts"] = browser.value(names)
    report["latency"] = browser.value("[...document.querySelectorAll('#charts .chart')].find((chart) => chart.querySelector('.name').textContent === 'Latency')?.querySelector('.now').textContent")
    report["latency_lines"] = browser.value("[...document.querySelectorAll('#charts .chart')].find((chart) => chart.querySelector('.name').textContent === 'Latency')?.querySelectorAll('path.line').length")
    # The whole tree's too, until one goes back.
    browser.value("void (location.hash = '')")
    browser.wait(f"document.getElementById('charts').getAttribute('aria-label').endsWith('tree') && {names}.includes('Latency')")
    browser.value("history.back()")
    browser.wait("document.querySelectorAll('#detail .trace .hop').length > 0")
    report["canary_shown"] = browser.value(f"document.documentElement.outerHTML.includes('{canary}')")
    report["canary_told"] = browser.value(
        f"Promise.all(['traces', 'events', 'tree', 'logs?path=/tree'].map((name) => fetch('/api/v1/' + name).then((answer) => answer.text()))).then((all) => all.join().includes('{canary}'))")
    browser.picture("latency-light")
    browser.view(1440, 1000, "dark")
    browser.picture("latency-dark")

    # Forced colours: the bars still differ from their ground. Reduced motion: nothing moves.
    browser.view(1440, 1000, "light", forced_colors="active", prefers_reduced_motion="reduce")
    report["forced_trace"] = browser.value(f"{colours}(document.querySelector('.hop .span i'), document.querySelector('.hop .span'))")
    report["animations"] = browser.value("document.getAnimations().length")
    browser.picture("forced-colours")
    browser.view(1440, 1000, "light")

    # Names and words of others are texts, and what turns the direction of writing is shown as what it is.
    hostile = "[...document.querySelectorAll('#grid .row')].find((row) => !row.hidden && row.dataset.path.includes('onerror'))"
    browser.value(f"{hostile}.click()")
    browser.wait("document.querySelector('#detail .log')?.textContent.includes('\\\\u001b')")
    report["log"] = browser.value("document.querySelector('#detail .log').textContent")
    report["title"] = browser.value("document.querySelector('#detail h2').textContent")
    report["executed"] = browser.value("window.owned ?? null")
    report["images"] = browser.value("document.querySelectorAll('img').length")
    report["bidi"] = browser.value("(document.body.innerText.match(/[\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069]/g) ?? []).length")
    browser.picture("hostile-light")

    # Twenty failures within a moment are told to screen readers once, and figures never are.
    browser.value("void (window.said = [], new MutationObserver(() => window.said.push({ at: performance.now(), text: document.getElementById('news').textContent }))"
                  ".observe(document.getElementById('news'), { childList: true, characterData: true, subtree: true }))")
    report["polite"] = browser.value("document.getElementById('news').getAttribute('aria-live')")
    for number in range(1, 21):
        browser.post(token, "start", {"path": f"/weak-{number}"})
    browser.wait("[...document.querySelectorAll('#chips .chip')].some((chip) => chip.textContent === '20failed')")
    told = "window.said.reduce((sum, { text }) => sum + (Number.parseInt(text, 10) || 1), 0)"
    browser.wait(f"{told} >= 20")
    report["told"] = browser.value(told)
    report["said"] = browser.value("window.said")
    browser.key("Escape")
    browser.picture("failures-light")
    # A failed start is told with its status, which is an error for the browser.
    report["problems"] = [problem for problem in browser.problems() if "/api/v1/start" not in problem and "/api/v1/trace" not in problem]
finally:
    browser.end()
print(json.dumps(report))
