"""Looks at the durable flows of a store, and has two that are parked go on in different ways.

The tree has `/till`, whose three orders are parked because the bank doesn't answer.

usage: flows.py URL DIRECTORY TOKEN
"""
import json, sys

from chromium import Browser

url, directory, token = sys.argv[1:4]
rows = "[...document.querySelectorAll('#detail .flows tbody tr')]"
texts = f"{rows}.map((row) => row.innerText.replace(/\\s+/g, ' '))"


def click(selector, text):
    browser.value(f"[...document.querySelectorAll({json.dumps(selector)})].find((button) => button.textContent === {json.dumps(text)}).click()")


def status(number):
    return f"{rows}.find((row) => row.querySelector('th').textContent === 'orders/{number}')?.children[1].firstChild.textContent"


browser = Browser(directory)
report = {}
try:
    browser.view(1440, 1000, "light")
    browser.call("Page.navigate", url=url + "#at/till")
    facts = "Object.fromEntries([...document.querySelectorAll('#detail .facts div')].map((fact) => [...fact.children].map((part) => part.textContent)))"
    browser.wait(f"{facts}.Flows?.includes('3 parked')")
    report["fact"] = browser.value(f"{facts}.Flows")
    browser.value("document.getElementById('tab-flows').click()")
    browser.wait(f"{rows}.length === 3")
    report["parked"] = browser.value(texts)
    report["buttons_without_token"] = browser.value("document.querySelectorAll('#detail .flows .actions button').length")
    browser.picture("flows-light")

    # What is chosen is asked for.
    browser.value("void (document.querySelector('.flows select').value = 'finished', document.querySelector('.flows select').dispatchEvent(new Event('change')))")
    browser.wait("document.querySelector('.flows p').textContent === 'There are none.'")
    browser.value("void (document.querySelector('.flows select').value = '', document.querySelector('.flows select').dispatchEvent(new Event('change')))")
    browser.wait(f"{rows}.length === 3")

    browser.value("document.getElementById('unlock').click()")
    browser.value("document.getElementById('token').focus()")
    browser.call("Input.insertText", text=token)
    browser.key("Enter")
    browser.wait("document.querySelectorAll('#detail .flows .actions button').length === 9")
    report["actions"] = browser.value("[...document.querySelector('#detail .flows .actions').children].map((button) => button.textContent)")

    # One is asked about before, and nothing happens without a yes.
    click("#detail .flows tbody tr:first-child button", "skip")
    browser.wait("document.getElementById('confirm').open")
    report["question"] = browser.value("document.getElementById('confirm').innerText")
    browser.key("Escape")
    browser.wait("!document.getElementById('confirm').open")
    report["after_no"] = browser.value(status(1))
    # A no, another question and its yes within one frame are one change: the event of the first close comes after them.
    browser.value("void (window.changes = 0, window.fetchAsBefore = window.fetch, window.fetch = (address, ...rest) => (window.changes += String(address).includes('flow-skip'), window.fetchAsBefore(address, ...rest)))")
    browser.value("""(async () => {
        const skip = () => document.querySelector('#detail .flows tbody tr:first-child .actions button:nth-child(2)').click();
        const [confirm, yes] = ['confirm', 'confirm-yes'].map((id) => document.getElementById(id));
        skip(); confirm.close('cancel'); skip(); yes.click();
        await new Promise((resolve) => setTimeout(resolve, 200));
        return confirm.open;
    })()""")
    report["changes"] = browser.value("window.changes")
    browser.wait(f"{status(1)} !== 'parked, 4 attempts failed'")
    report["skipped"] = browser.value(status(1))

    # Another is tried again, and is parked again; the focus stays at its button.
    browser.value(f"{rows}[1].querySelector('.actions button').focus()")
    before = browser.value("fetch('/api/v1/flow?path=/till/orders/2').then((answer) => answer.json()).then((flow) => flow.changed)")
    browser.value(f"{rows}[1].querySelector('.actions button').click()")
    browser.wait("fetch('/api/v1/flow?path=/till/orders/2').then((answer) => answer.json()).then(({ status, changed }) => status === 'parked' && changed > " + json.dumps(before) + ")")
    browser.wait(f"{status(2)}.startsWith('parked')")
    report["focus"] = browser.value("document.activeElement.dataset.place")

    # What operators did, and what became of it, is its history; a flow that doesn't live has a place, too.
    click("#detail .flows tbody tr:nth-child(2) button", "orders/2")
    browser.wait("document.querySelector('#detail h2').textContent === '/till/orders/2'")
    browser.value("document.getElementById('tab-events').click()")
    history = "document.querySelector('#panel-events ol').textContent"
    browser.wait(f"{history}.includes('flow-retry') && {history}.includes('parked')")
    # What isn't in the tree has no figures, which is an error for the browser.
    report["problems"] = [problem for problem in browser.problems() if "/api/v1/series?path=%2Ftill%2Forders" not in problem]
finally:
    browser.end()
print(json.dumps(report))
