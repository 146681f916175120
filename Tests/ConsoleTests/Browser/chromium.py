"""A headless Chromium, driven over a pipe."""
import base64, json, os, shutil, subprocess


class Browser:
    """One page, over the DevTools protocol: https://chromedevtools.github.io/devtools-protocol/"""

    def __init__(self, directory, patience=30):
        self.directory, self.patience = directory, patience
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
        """Has the page look again and again until an expression is true, or the promise of one."""
        wait = f"while (!await ({expression})) {{ if (performance.now() > end) return false; await new Promise((next) => setTimeout(next, 20)); }}"
        if not self.value(f"(async (end) => {{ {wait} return true; }})(performance.now() + {self.patience * 1000})"):
            raise SystemExit(f"never true: {expression}")

    def settle(self):
        """Waits until the page is drawn as it is now, and whatever moves has arrived."""
        self.value("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() => Promise.allSettled("
                   "document.getAnimations().filter((each) => each.effect.getComputedTiming().endTime !== Infinity).map((each) => each.finished)))"
                   ".then(() => true)")

    def post(self, token, operation, body):
        """Requests a change as the page does, and returns the status of the answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        request = {"method": "POST", "headers": headers, "body": json.dumps(body)}
        return self.value(f"fetch('/api/v1/{operation}', {json.dumps(request)}).then((answer) => answer.status)")

    def key(self, key, text=None):
        codes = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "Tab": 9}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
        if len(key) == 1:
            common["text"] = key
        if key == "Enter":
            common["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def view(self, width, height, theme, narrow=False, **features):
        """Sets the size, and media features: `forced_colors="active"` is `forced-colors: active`."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=narrow)
        wanted = {"prefers-color-scheme": theme, **{name.replace("_", "-"): value for name, value in features.items()}}
        self.call("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in wanted.items()])
        self.settle()

    def picture(self, name):
        self.settle()
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(os.path.join(self.directory, name + ".png"), "wb") as file:
            file.write(base64.b64decode(data))

    def problems(self):
        """Errors of scripts, of the security policy and of requests."""
        found = []
        for event in self.events:
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"].get("exception", {}).get("description", "exception"))
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"] + " " + event["params"]["entry"].get("url", ""))
        return found

    def end(self):
        try:
            self.call("Browser.close", session=None)
        except (SystemExit, OSError):
            pass
        self.process.wait(10)
        shutil.rmtree(self.profile, ignore_errors=True)
