"""Kills the daemon under an open page, then starts it again, and prints what the page told as JSON.

usage: recovery.py URL DIRECTORY DAEMON-PID COMMAND...
"""
import json, os, signal, subprocess, sys, time

from chromium import Browser

url, directory, daemon, command = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
link = "document.getElementById('link')?.textContent"
rows = "[...document.querySelectorAll('#grid .row:not([hidden])')].map((row) => row.dataset.path)"
browser = Browser(directory)
report = {}
next_daemon = None
try:
    browser.view(1280, 800, "light")
    browser.call("Page.navigate", url=url)
    browser.wait(f"{link} === 'live' && {rows}.includes('/calm')")
    browser.value("window.marker = 'the same page'")
    os.kill(daemon, signal.SIGKILL)
    killed = time.monotonic()
    browser.wait(f"{link} !== 'live'")
    report["seconds_to_late"] = round(time.monotonic() - killed, 1)
    report["link"] = browser.value(link)
    browser.wait("document.body.classList.contains('late')")
    # What was known stays, dimmed.
    report["rows_meanwhile"] = browser.value(rows)
    report["alert"] = browser.value("document.getElementById('problem').hidden ? null : document.getElementById('problem').textContent")
    browser.picture("reconnecting-light")
    next_daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    browser.wait(f"{link} === 'live'")
    report["rows_afterwards"] = browser.value(rows)
    report["late_afterwards"] = browser.value("document.body.classList.contains('late')")
    report["marker"] = browser.value("window.marker")
    browser.picture("recovered-light")
finally:
    browser.end()
    if next_daemon:
        next_daemon.terminate()
        next_daemon.wait(20)
print(json.dumps(report))
