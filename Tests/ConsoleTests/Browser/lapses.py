"""Looks at what a page does while it's hidden or scrolled, and while its console doesn't answer.

The tree has `/calm` and `/other`.

usage: lapses.py URL DIRECTORY TOKEN
"""
import json, sys

from chromium import Browser

url, directory, token = sys.argv[1:4]
# A page that is hidden by its own word, whose streams are known, and for which half a minute and ten seconds are over in a moment.
source = """
    window.isHidden = true;
    Object.defineProperty(document, 'hidden', { get: () => window.isHidden });
    [window.streams, window.wholes] = [[], 0];
    window.EventSource = class extends EventSource {
        constructor(address) {
            super(address);
            window.streams.push(this);
            this.addEventListener('table', ({ data }) => { window.wholes += JSON.parse(data).whole; });
        }
    };
    const [later, often] = [window.setTimeout, window.setInterval];
    window.setTimeout = (act, ms, ...rest) => later(act, ms === 30000 ? 100 : ms, ...rest);
    window.setInterval = (act, ms, ...rest) => often(act, ms === 10000 ? 200 : ms, ...rest);
"""
row = "[...document.querySelectorAll('#grid .row:not([hidden])')].find((row) => row.dataset.path === '/calm')"
charts = "[...document.querySelectorAll('#charts .chart .name')].map((name) => name.textContent)"
problem = "document.querySelector('#detail [role=alert]:not([hidden])')?.textContent ?? null"
life = "[...document.querySelectorAll('#detail .facts div')].find((fact) => fact.firstChild.textContent === 'Life')?.lastChild.textContent"


def appear(is_hidden):
    browser.value(f"void (window.isHidden = {json.dumps(is_hidden)}, document.dispatchEvent(new Event('visibilitychange')))")


def at(address):
    browser.value(f"void (location.hash = '{address}')")


def answer_series(answer):
    """Has the page get another answer for figures, and waits until it has got some of them."""
    browser.value(f"void (window.asked = 0, window.answerSeries = () => {answer})")
    browser.wait("window.asked > 2")


def kept():
    """Returns the number of events that are still in memory."""
    browser.call("HeapProfiler.collectGarbage")
    return browser.value("window.references.filter((reference) => reference.deref()).length")


browser = Browser(directory)
report = {}
try:
    # A page that is hidden from its load on follows nothing before it's shown.
    browser.call("Page.addScriptToEvaluateOnNewDocument", source=source)
    browser.view(1280, 800, "light")
    browser.call("Page.navigate", url=url)
    browser.wait("!!document.getElementById('version')?.textContent")
    report["streams_hidden"] = browser.value("window.streams.length")
    appear(False)
    browser.wait(f"{row} !== undefined")
    report["streams_shown"] = browser.value("window.streams.length")

    # Charts stay while there is no other answer, and say what isn't there only when that is known.
    browser.wait(f"{charts}.length > 0")
    browser.value("void (window.fetchAsBefore = window.fetch, window.asked = 0, window.answerSeries = () => Promise.reject(new TypeError('away')),"
                  "window.fetch = (address, ...rest) => String(address).startsWith('/api/v1/series') ? (window.asked += 1, window.answerSeries()) : window.fetchAsBefore(address, ...rest))")
    browser.wait("window.asked > 2")
    report["charts_away"] = browser.value(f"{charts}.length > 0")
    answer_series("Promise.resolve(new Response('', { status: 503 }))")
    report["charts_refused"] = browser.value(f"{charts}.length > 0")
    at("#at/calm")
    browser.wait(f"document.getElementById('charts').getAttribute('aria-label').endsWith('/calm')")
    report["charts_of_another"] = browser.value("document.getElementById('charts').textContent")
    answer_series("Promise.resolve(new Response('{}', { status: 404 }))")
    report["charts_unknown"] = browser.value("document.getElementById('charts').textContent")
    answer_series("Promise.resolve(new Response(JSON.stringify({ rate: [], waiting: [], restarts: [], p50: [], p99: [], cpu: [], memory: [] })))")
    report["charts_without_figures"] = browser.value("document.getElementById('charts').textContent")

    # A change without an answer isn't waited for without end, and may have been carried out.
    browser.value("document.getElementById('unlock').click()")
    browser.value("document.getElementById('token').focus()")
    browser.call("Input.insertText", text=token)
    browser.key("Enter")
    browser.wait("document.getElementById('mode').textContent === 'changes unlocked'")
    browser.value("void (window.timeoutAsBefore = AbortSignal.timeout, AbortSignal.timeout = (ms) => window.timeoutAsBefore.call(AbortSignal, ms === 60000 ? 100 : ms),"
                  "window.fetch = (address, options) => String(address).endsWith('/restart') ? new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason))) : window.fetchAsBefore(address, options))")
    browser.value("[...document.querySelectorAll('#detail .actions button')].find((button) => button.textContent === 'restart').click()")
    browser.wait("document.getElementById('confirm').open")
    browser.value("document.getElementById('confirm-yes').click()")
    browser.wait(f"{problem} !== null")
    report["unanswered"] = browser.value(problem)
    browser.value("void (window.fetch = window.fetchAsBefore)")

    # A page that was hidden for long goes on where it was.
    appear(True)
    browser.wait("window.streams[0].readyState === EventSource.CLOSED")
    before = browser.value(life)
    browser.post(token, "restart", {"path": "/calm"})
    appear(False)
    browser.wait(f"{life} !== {json.dumps(before)}")
    report["streams_again"] = browser.value("window.streams.map((stream) => new URL(stream.url).search)")
    report["wholes"] = browser.value("window.wholes")

    # Events that are missing are told in both lists.
    at("#at/calm?tab=events")
    browser.wait("document.querySelectorAll('#panel-events li:not(.none)').length > 0")
    browser.value("void window.streams.at(-1).dispatchEvent(new MessageEvent('events', { data: JSON.stringify({ missed: 12, events: [] }) }))")
    report["gaps"] = browser.value("['events', 'panel-events'].map((id) => document.getElementById(id).textContent.includes('12 events are missing here'))")

    # A list that is scrolled keeps no more than one that isn't, and tells how much has come.
    browser.value("""(async () => {
        const { EventList } = await import(`${location.origin}/events.js`);
        const [list, newer] = [document.createElement('ol'), document.createElement('button')];
        list.className = 'event-list';
        Object.assign(list.style, { position: 'fixed', top: 0, left: 0, width: '400px', height: '100px' });
        document.body.append(list, newer);
        Object.assign(window, { list, newer, references: [], number: 0, view: new EventList({ list, newer, onPath() {} }) });
        // Each is the beginning of another loop.
        window.tell = (count) => {
            for (let left = count; left > 0; left -= 100) {
                const events = Array.from({ length: 100 }, () => {
                    const number = (window.number += 1);
                    return { event: { boot: 'b', number, kind: 'crashed', path: `/job-${number}`, time: new Date().toISOString() } };
                });
                window.references.push(...events.map(({ event }) => new WeakRef(event)));
                window.view.take({ missed: 0, events });
            }
        };
        window.tell(300);
        list.scrollTop = 1000;
        window.tell(5000);
    })()""")
    report["scrolled"] = browser.value("[window.newer.textContent, window.newer.hidden, window.list.firstChild.textContent.includes('/job-300 ')]")
    report["kept_scrolled"] = kept()
    browser.value("window.newer.click()")
    report["released"] = browser.value("[window.newer.hidden, window.list.firstChild.textContent.includes('/job-5300 '), window.list.children.length]")
    browser.value("window.tell(5000)")
    report["kept_at_top"] = kept()
    # What isn't in the tree yet at a point has no figures, which is an error for the browser.
    report["problems"] = [each for each in browser.problems() if "/api/v1/series" not in each]
finally:
    browser.end()
print(json.dumps(report))
