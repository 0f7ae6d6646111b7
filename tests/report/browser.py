"""A real browser for tests: Chromium, driven over a pipe by its DevTools protocol, no network.

Nothing else needs to be installed. `find_browser` is None where there is none.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from time import monotonic

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 60.0  # seconds: a busy machine starts a browser slowly
_KEYS = {"Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, " ": 32}


def find_browser():
    """Return the path of a browser, None if the machine has none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A headless browser with one page; a context.

    Attributes
    ----------
    complaints : list of str
        Errors and warnings of the console, exceptions, and requests for anything but files.
    """

    def __init__(self):
        self.complaints = []
        self._loaded = False
        self._number = 0
        self._session = None
        self._read = b""

    def __enter__(self):
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._to = os.pipe()
        self._from, answers = os.pipe()
        arguments = [
            find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
            "--remote-debugging-pipe", f"--user-data-dir={self._home.name}", "about:blank",
        ]  # fmt: skip
        # The browser reads commands from descriptor 3 and writes to 4, whatever ours are.
        shell = f'exec 8<&{commands} 9>&{answers} 3<&8 4>&9; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", shell, *arguments],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._home.cleanup()

    def send(self, method, **parameters):
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def _next(self):
        """Return the next message, having noted what it complains of."""
        until = monotonic() + PATIENCE
        while b"\0" not in self._read:
            if not select.select([self._from], [], [], max(0, until - monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._from, 1 << 16)
            if not data:
                raise RuntimeError("the browser ended")
            self._read += data
        raw, self._read = self._read.split(b"\0", 1)
        message = json.loads(raw)
        self._note(message.get("method"), message.get("params"))
        return message

    def _note(self, method, event):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["exceptionDetails"]))
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.complaints.append(event["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            self.complaints.append(json.dumps(event["args"]))
        elif method == "Network.requestWillBeSent":
            url = event["request"]["url"]
            if not url.startswith(("file:", "about:", "data:")):
                self.complaints.append(f"asks for {url}")

    def open(self, path, width=1200, height=900, mobile=False):
        """Open a file in a window of this size."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=mobile,
        )  # fmt: skip
        self._loaded = False
        self.send("Page.navigate", url=Path(path).resolve().as_uri())
        while not self._loaded:
            self._next()

    def run(self, script):
        """Return the value of an expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def click(self, selector):
        """Click into the middle of an element with the mouse."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, selector, *keys):
        """Press keys on an element that has the focus."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        for key in keys:
            for kind in ("keyDown", "keyUp"):
                self.send(
                    "Input.dispatchKeyEvent", type=kind, key=key, code=key,
                    windowsVirtualKeyCode=_KEYS[key], text="\r" if key == "Enter" else "",
                )  # fmt: skip

    def choose(self, selector, value):
        """Choose an option of a select, as a user's choice reports itself."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            f"e.value = {json.dumps(value)};"
            "e.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def photograph(self, path):
        """Write a picture of the whole page."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        answer = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def print(self):
        """Return the page as PDF, as print makes it."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
