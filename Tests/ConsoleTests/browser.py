"""Drives a headless Chromium over a pipe: opens the console's page, uses it by keyboard, takes pictures, and prints what was found as JSON.

usage: browser.py URL DIRECTORY [SECONDS]
"""
import base64, json, os, shutil, subprocess, sys, time

url, directory = sys.argv[1], sys.argv[2]
patience = float(sys.argv[3]) if len(sys.argv) > 3 else 30


class Browser:
    """One page, over the DevTools protocol: https://chromedevtools.github.io/devtools-protocol/"""

    def __init__(self):
        program = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        # The browser takes its commands at descriptor 3 and answers at 4.
        saved = [os.dup(to_browser), os.dup(from_browser)]
        command = f'exec "{program}" "$@" 3<&{saved[0]} 4>&{saved[1]}'
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage"]
        self.profile = os.path.join(directory, "profile")
        self.process = subprocess.Popen(
            ["bash", "-c", command, "bash", *options, f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=saved, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for descriptor in [*saved, to_browser, from_browser]:
            os.close(descriptor)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.call("Target.getTargets", session=None)["targetInfos"][0]["targetId"]
        self.session = self.call("Target.attachToTarget", session=None, targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")

    def _receive(self):
        while b"\0" not in self.buffer:
            piece = os.read(self.reader, 1 << 20)
            if not piece:
                raise SystemExit("the browser has ended")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session="own", **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if session:
            request["sessionId"] = self.session
        os.write(self.writer, json.dumps(request).encode() + b"\0")
        while True:
            message = self._receive()
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + patience
        while not self.value(expression):
            if time.monotonic() > end:
                raise SystemExit(f"never true: {expression}")
            time.sleep(0.05)

    def key(self, key, text=None):
        codes = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "Tab": 9}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        if len(key) == 1:
            common["text"] = key
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def view(self, width, height, theme, narrow=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=narrow)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        time.sleep(0.4)

    def picture(self, name):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(os.path.join(directory, name + ".png"), "wb") as file:
            file.write(base64.b64decode(data))

    def end(self):
        try:
            self.call("Browser.close", session=None)
        except (SystemExit, OSError):
            pass
        self.process.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)


def problems(events):
    """Errors of scripts, of the security policy and of requests."""
    found = []
    for event in events:
        if event["method"] == "Runtime.exceptionThrown":
            found.append(event["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
        if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
            found.append(event["params"]["entry"]["text"] + " " + event["params"]["entry"].get("url", ""))
    return found


browser = Browser()
report = {}
try:
    browser.view(1280, 800, "light")
    began = time.monotonic()
    browser.call("Page.navigate", url=url)
    browser.wait("document.querySelectorAll('#grid .row:not([hidden])').length > 1")
    report["milliseconds_to_first_rows"] = round((time.monotonic() - began) * 1000)
    browser.wait("document.querySelectorAll('#charts .chart').length == 3")
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
    time.sleep(0.3)
    if browser.value("document.getElementById('detail').hidden"):
        browser.key("ArrowDown")
        browser.key("Enter")
    browser.wait("document.querySelectorAll('#detail .lives li').length > 0")
    report["detail"] = browser.value("document.querySelector('#detail h2').textContent")
    time.sleep(1)
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
    report["bad_texts"] = browser.value("(document.body.innerText.match(/NaN|undefined|null|Infinity/g) ?? []).length")
    report["foreign_requests"] = [
        event["params"]["request"]["url"] for event in browser.events
        if event["method"] == "Network.requestWillBeSent" and not event["params"]["request"]["url"].startswith(url.rstrip("/").split("#")[0])]
    report["problems"] = problems(browser.events)
finally:
    browser.end()
print(json.dumps(report))
