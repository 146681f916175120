"""Has axe-core look at the page in all that it can show, and prints what it found wrong as JSON, with the order of the focus.

The tree has `/tree` with a child `/tree/a` in processes of their own, `/talker` with output, `/gone` that has failed, `/sick` that is unhealthy,
`/till` with durable flows that are parked, and 500 programs `/jobs/job-1` and so on that don't run.

usage: axe.py URL DIRECTORY TOKEN AXE
"""
import json, sys

from chromium import Browser

url, directory, token, axe = sys.argv[1:5]
title = "document.querySelector('#detail h2').textContent"
selected = "document.querySelector('#detail [role=tab][aria-selected=true]')?.id"


def found():
    """What breaks a rule, each with the elements that do: the rule, and what is said of them."""
    browser.settle()
    return browser.value(
        "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations.flatMap(({ id, nodes }) =>"
        "nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`)))")


# What is laid out in another way on a small screen.
small = {"list", "output", "events", "flows", "traces", "token-dialog"}


def look(name):
    """Has the page looked at, with both of its themes on the large screen: the small one has the same colours."""
    if size[0] < 900 and name not in small:
        return
    for theme in ["light", "dark"] if size[0] > 900 else ["light"]:
        browser.view(*size, theme, narrow=size[0] < 900)
        report["views"] += 1
        report["sideways"] += [f"{name}, {size[0]}"] if browser.value("document.documentElement.scrollWidth > document.documentElement.clientWidth") else []
        report["violations"] += [f"{name}, {size[0]} wide, {theme}: {each}" for each in found()]


def at(address, shown):
    browser.value(f"void (location.hash = '{address}')")
    browser.wait(shown)


browser = Browser(directory)
report = {"violations": [], "sideways": [], "views": 0}
try:
    browser.view(1280, 800, "light")
    browser.call("Page.navigate", url=url)
    browser.wait("document.querySelectorAll('#grid .row:not([hidden])').length > 5 && document.querySelectorAll('#charts .chart').length > 0")
    browser.wait("['gone', 'sick'].every((key) => document.getElementById('grid').textContent.includes(key)) && document.getElementById('grid').textContent.includes('unhealthy')")
    browser.post(token, "trace", {"path": "/tree", "message": "Fixture.WhereAmI"})
    # The page's own policy forbids this to the page, not to those who debug it.
    with open(axe) as file:
        browser.value(file.read() + "; void 0")
    report["version"] = browser.value("axe.version")

    # The order of the focus without a selection, by the key alone; the last one before it begins anew.
    browser.value("document.activeElement.blur()")
    focus = []
    for _ in range(40):
        browser.key("Tab")
        focus.append(browser.value("document.activeElement.id || document.activeElement.className || document.activeElement.textContent"))
        if focus[-1] == "events":
            break
    report["focus"] = [name for name in focus if name not in ("chip", "chip none")]
    report["outlined"] = browser.value(
        "[...document.querySelectorAll('button, select, input, [tabindex=\"0\"]')].filter((node) => node.offsetParent && node.id !== 'grid').filter((node) => {"
        "node.focus({ focusVisible: true }); const style = getComputedStyle(node); return style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2; }).map((node) => node.outerHTML.slice(0, 120))")

    for size in [(1280, 800), (320, 640)]:
        browser.view(*size, "light", narrow=size[0] < 900)
        at("", "document.getElementById('detail').hidden")
        look("list")
        at("#?search=zzz-nothing", "!document.getElementById('empty').hidden")
        look("nothing found")
        at("#at/talker", f"{title} === '/talker' && document.querySelector('#detail .log').textContent.includes('line 30')")
        look("output")
        at("#at/talker?find=line", "document.querySelectorAll('#detail .log mark').length > 0")
        look("search in output")
        at("#at/gone?tab=events", f"{title} === '/gone' && document.querySelectorAll('#panel-events li').length > 0")
        look("events")
        at("#at/till?tab=flows", f"{title} === '/till' && document.querySelectorAll('#panel-flows tbody tr').length === 3")
        look("flows")
        at("#at/sick?tab=lives", f"{title} === '/sick' && document.querySelectorAll('#panel-lives li').length > 0")
        look("lives")
        at("#at/tree?tab=traces", f"{title} === '/tree' && document.querySelectorAll('#panel-traces .trace').length > 0")
        look("traces")
        at("#log/talker", "document.body.classList.contains('log-page') && document.querySelector('#detail .log').textContent.includes('line 30')")
        look("output alone")
        at("#at/jobs", f"{title} === '/jobs'")
        browser.wait("!document.getElementById('wall').hidden || innerWidth < 900")
        look("a group")
        at("", "document.getElementById('detail').hidden")
        for dialog, button in [("help", "help-button"), ("token-dialog", "unlock")]:
            browser.value(f"document.getElementById('{button}').click()")
            browser.wait(f"document.getElementById('{dialog}').open")
            look(dialog)
            browser.key("Escape")
            browser.wait(f"!document.getElementById('{dialog}').open")

    # With changes unlocked there are more controls, and a question before what ends something.
    size = (1280, 800)
    browser.view(*size, "light")
    browser.value("document.getElementById('unlock').click()")
    browser.value("document.getElementById('token').focus()")
    browser.call("Input.insertText", text="wrong")
    browser.key("Enter")
    browser.wait("!document.getElementById('token-problem').hidden")
    look("a wrong token")
    browser.value("document.getElementById('token').select()")
    browser.call("Input.insertText", text=token)
    browser.key("Enter")
    browser.wait("document.getElementById('mode').textContent === 'changes unlocked'")
    at("#at/tree?tab=traces", f"{title} === '/tree' && !document.querySelector('#detail form.ask').hidden")
    look("changes unlocked")
    at("#at/till?tab=flows", "document.querySelectorAll('#panel-flows .actions button').length === 9")
    look("flows, changes unlocked")
    at("#at/tree", f"{title} === '/tree'")
    browser.value("[...document.querySelectorAll('#detail .actions button')].find((button) => button.textContent === 'stop').click()")
    browser.wait("document.getElementById('confirm').open")
    look("a question")
    browser.key("Escape")

    # What isn't right is found: a rule broken on purpose.
    browser.value("void document.body.append(Object.assign(document.createElement('button'), { id: 'nameless' }))")
    report["planted"] = sum("nameless" in each for each in found())
    report["problems"] = [each for each in browser.problems() if "401" not in each]
finally:
    browser.end()
print(json.dumps(report))
