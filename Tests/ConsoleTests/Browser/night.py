"""Finds out by keyboard what is wrong, and does something about it, and prints what was found as JSON.

The tree has `/talker`, which has written the lines 1 to 300, `/gone`, which has failed, `/shaky`, which fails again and again, and a long name.

usage: night.py URL DIRECTORY TOKEN LONG-NAME
"""
import json, sys

from chromium import Browser

url, directory, token, long_name = sys.argv[1:5]
title = "document.querySelector('#detail h2').textContent"
buttons = "[...document.querySelectorAll('#detail .actions button')].map((button) => button.textContent)"
problem = "document.querySelector('#detail [role=alert]:not([hidden])')?.textContent ?? null"
token_problem = "document.querySelector('#token-problem:not([hidden])')?.textContent ?? null"
marks = "[...document.querySelectorAll('#detail .log mark')].map((mark) => mark.textContent)"


def row(path):
    return f"[...document.querySelectorAll('#grid .row:not([hidden])')].find((row) => row.dataset.path === '{path}')"


def at(address):
    browser.value(f"void (location.hash = '{address}')")


def type_into(selector, text):
    browser.value(f"document.querySelector('{selector}').focus()")
    browser.call("Input.insertText", text=text)


def ticks():
    """Waits until the page has got the tree twice more."""
    browser.value("new Promise((twice) => { let left = 4; const more = () => --left || (source.close(), twice(true)); const source = new EventSource('/api/v1/stream'); source.addEventListener('table', more); })")


browser = Browser(directory)
report = {}
try:
    browser.view(1280, 800, "light")
    browser.call("Page.navigate", url=url)
    browser.wait(f"{row('/talker')}?.textContent.match(/iB.*sleep 1000/) && {row('/gone')}?.textContent.includes('exited with code 7')")
    report["columns"] = browser.value("[...document.querySelectorAll('#heads .cell:not([hidden])')].map((head) => head.textContent)")
    report["row"] = browser.value(f"{row('/talker')}.textContent")
    report["gone"] = browser.value(f"{row('/gone')}.textContent")
    browser.picture("list-light")

    # The output stands beside the list, and is larger.
    at("#at/talker")
    browser.wait("document.querySelector('#detail .log').textContent.includes('line 300')")
    report["log_size"] = browser.value("(({ width, height }) => [width, height])(document.querySelector('#detail .log').getBoundingClientRect())")
    report["list_width"] = browser.value("document.getElementById('grid').clientWidth")
    report["log_is_at_end"] = browser.value("((log) => log.scrollTop + log.clientHeight > log.scrollHeight - 24)(document.querySelector('#detail .log'))")
    browser.wait("document.getElementById('charts').getAttribute('aria-label').endsWith('/talker') && document.querySelectorAll('#charts .chart').length > 0")
    report["charts"] = browser.value("[...document.querySelectorAll('#charts .chart .name')].map((name) => name.textContent)")
    browser.picture("log-light")
    browser.view(1280, 800, "dark")
    browser.picture("log-dark")
    browser.view(1280, 800, "light")
    type_into("#detail .log-bar input", "line 29.$")
    browser.wait(f"{marks}.length === 10")
    report["marks"] = browser.value(marks)
    report["find"] = browser.value("location.hash")

    # Enter unlocks; a wrong token is told, and stays told.
    browser.value("document.getElementById('unlock').focus()")
    browser.key("Enter")
    type_into("#token", token + "-wrong")
    browser.key("Enter")
    browser.wait(f"{token_problem} !== null")
    ticks()
    report["wrong_token"] = browser.value(token_problem)
    report["wrong_is_open"] = browser.value("document.getElementById('token-dialog').open && document.getElementById('mode').textContent === 'read-only'")
    browser.picture("wrong-token-light")
    browser.value("document.getElementById('token').select()")
    type_into("#token", token)
    browser.key("Enter")
    browser.wait("document.getElementById('mode').textContent === 'changes unlocked'")
    report["dialog_closed"] = browser.value("!document.getElementById('token-dialog').open")

    # The state decides what can be done.
    report["active"] = browser.value(buttons)
    browser.value("[...document.querySelectorAll('#detail .actions button')].find((button) => button.textContent === 'pause').focus()")
    browser.key("Enter")
    browser.wait(f"{buttons}[0] === 'resume'")
    report["paused"] = browser.value(buttons)
    report["focus"] = browser.value("document.activeElement.closest('.actions') !== null")
    at("#at/gone")
    browser.wait(f"{title} === '/gone'")
    report["failed"] = browser.value(buttons)

    # What the token can't do any more is told, and stays told.
    browser.value("sessionStorage.setItem('coordinator-token', 'of-another-console')")
    browser.value("document.querySelector('#detail .actions button').click()")
    browser.wait(f"{problem} !== null")
    ticks()
    report["refused"] = browser.value(problem)
    report["locked"] = browser.value("document.getElementById('mode').textContent")

    # The address is what is shown: back, edited, loaded again.
    browser.value("history.back()")
    browser.wait(f"{title} === '/talker' && {marks}.length === 10")
    at("#at/shaky?tab=events&states=failed")
    browser.wait(f"{title} === '/shaky' && document.getElementById('tab-events').getAttribute('aria-selected') === 'true' && !{row('/talker')}")
    address = browser.value("location.href")
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=address)
    events = "[...document.querySelectorAll('#panel-events li')].map((line) => line.textContent)"
    browser.wait(f"document.querySelector('#detail h2')?.textContent === '/shaky' && {events}[0].includes('×')")
    report["events"] = browser.value(events)
    report["pressed"] = browser.value("[...document.querySelectorAll('.chip[aria-pressed=true]')].map((chip) => chip.textContent)")
    browser.picture("events-light")
    at("#at/nothing")
    browser.wait("document.querySelector('#detail .state').textContent.includes('nothing at this path')")

    # A page of its own for the output.
    at("#at/talker")
    browser.wait(f"{title} === '/talker'")
    browser.value("document.getElementById('grid').focus()")
    browser.key("l")
    browser.wait("document.getElementById('grid').offsetParent === null && document.querySelector('#detail .log').textContent.includes('line 300')")
    report["page"] = browser.value("[location.hash, document.querySelector('#detail .log').clientWidth, document.title]")
    browser.picture("log-page-light")
    browser.key("Escape")
    browser.wait("location.hash === '#at/talker' && document.getElementById('grid').offsetParent !== null")

    # A phone shows trouble first, and the end of a long name; what is chosen takes the place of the list.
    at("")
    browser.view(390, 844, "light", narrow=True)
    browser.wait("document.getElementById('sort').value === 'trouble'")
    rows = "[...document.querySelectorAll('#grid .row:not([hidden])')].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((row) => row.dataset.path)"
    browser.wait(f"{rows}[0] === '/gone'")
    name = f"{row('/' + long_name)}.querySelector('.name')"
    report["long_name"] = browser.value(
        f"(({{ lastChild: end, firstChild: start }}, cell) => [end.textContent, end.getBoundingClientRect().right <= cell.getBoundingClientRect().right + 1, start.scrollWidth > start.clientWidth])"
        f"({name}.querySelector('.key'), {name})")
    browser.picture("phone-light")
    browser.value(f"{row('/gone')}.click()")
    browser.wait(f"{title} === '/gone'")
    report["phone_detail_top"] = browser.value("document.getElementById('detail').getBoundingClientRect().top < 200 && document.getElementById('grid').offsetParent === null")
    report["phone_sideways"] = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    browser.picture("phone-detail-light")
    # What was refused, and what there isn't, is told with its status, which is an error for the browser.
    report["problems"] = [each for each in browser.problems() if "401" not in each and "nothing" not in each]
finally:
    browser.end()
print(json.dumps(report))
