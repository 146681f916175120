"""Opens the page of a console that runs before its daemon, then kills both under the page, starts the console alone, and prints what the page told as JSON.

The tree has `/calm`.

usage: late.py URL DIRECTORY CONSOLE-COMMAND DAEMON-COMMAND, each command a list in JSON
"""
import json, subprocess, sys, time, urllib.request

from chromium import Browser

url, directory = sys.argv[1:3]
commands = {"console": json.loads(sys.argv[3]), "daemon": json.loads(sys.argv[4])}
running = {}
link = "document.getElementById('link')?.textContent"
rows = "[...document.querySelectorAll('#grid .row:not([hidden])')].map((row) => row.dataset.path)"


def start(name):
    running[name] = subprocess.Popen(commands[name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill(name):
    running[name].kill()
    running[name].wait()


def listen():
    """Waits until the console listens."""
    end = time.monotonic() + 30
    while True:
        try:
            return urllib.request.urlopen(url + "healthz", timeout=5).read()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


browser = Browser(directory)
report = {}
try:
    start("console")
    listen()
    browser.view(1280, 800, "light")
    browser.call("Page.navigate", url=url + "#at/calm")
    browser.wait(f"{link} === \"the daemon doesn't answer\"")
    report["count"] = browser.value("document.getElementById('count').textContent")
    report["states"] = browser.value("[...new Set([...document.querySelectorAll('#chips b')].map((figure) => figure.textContent))]")
    report["detail"] = browser.value("document.querySelector('#detail .state').textContent")
    report["alert"] = browser.value("document.getElementById('problem').textContent")
    browser.picture("before-the-daemon-light")

    start("daemon")
    browser.wait(f"{link} === 'live' && {rows}.includes('/calm') && document.querySelectorAll('#detail .facts dd').length > 2")
    browser.value("window.marker = 'the same page'")
    # The console first: the page hears of nothing but its absence.
    kill("console")
    kill("daemon")
    browser.wait(f"{link}.includes('reconnecting')")
    start("console")
    browser.wait(f"{link} === \"the daemon doesn't answer\"")
    report["rows_meanwhile"] = browser.value(rows)
    report["facts_meanwhile"] = browser.value("document.querySelectorAll('#detail .facts dd').length > 2 && document.body.classList.contains('late')")
    browser.picture("both-killed-light")
    start("daemon")
    browser.wait(f"{link} === 'live'")
    report["rows_afterwards"] = browser.value(rows)
    report["marker"] = browser.value("window.marker")
finally:
    browser.end()
    for process in running.values():
        process.terminate()
    for process in running.values():
        process.wait(20)
print(json.dumps(report))
