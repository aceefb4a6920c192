# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium over its debugging pipe, for tests and pictures of the job server's page."""
import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find():
    """The browser's path; None: there is none here."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One page. Use as a context manager. `complaints`: what the page's console was told, exceptions, refusals by the policy."""

    def __init__(self, width=1280, height=900, dark=False, scale=1):
        self.profile = tempfile.mkdtemp(prefix="tutti-browser-")
        self.number, self.complaints, self.waiting, self.rest = 0, [], {}, b""
        to_browser, self.out = os.pipe()
        self.back, from_browser = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", "--no-first-run",
                 f"--user-data-dir={self.profile}", "about:blank"]

        def take_pipes():
            os.dup2(to_browser, 103), os.dup2(from_browser, 104)
            os.dup2(103, 3), os.dup2(104, 4)

        self.process = subprocess.Popen([find(), *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=take_pipes, close_fds=False)
        os.close(to_browser), os.close(from_browser)
        self.session = None
        self.attach(next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"])
        self.look(width, height, dark, scale)

    def look(self, width=1280, height=900, dark=False, scale=1):
        """Sets the size of the window and the scheme of colours."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def forget(self):
        """Leaves the page, and forgets cookies and complaints."""
        self.open("about:blank")
        self.call("Network.clearBrowserCookies")
        self.read(0.05)
        self.complaints.clear()

    def attach(self, target):
        """Talks to this page from now on."""
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.out), os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 60
        while self.number not in self.waiting:
            self.read(max(0, end - time.monotonic()))
            if time.monotonic() > end:
                raise TimeoutError(method)
        answer = self.waiting.pop(self.number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def read(self, seconds):
        if not select.select([self.back], [], [], seconds)[0]:
            return
        self.rest += os.read(self.back, 1 << 20)
        *whole, self.rest = self.rest.split(b"\0")
        for message in map(json.loads, whole):
            self.take(message)

    def take(self, message):
        params = message.get("params", {})
        if "id" in message:
            self.waiting[message["id"]] = message
        elif message["method"] == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif message["method"] == "Log.entryAdded":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif message["method"] == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in params["args"]))

    def open(self, address):
        self.call("Page.navigate", url=address)

    def run(self, expression):
        """The value of an expression in the page, awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def wait(self, expression, seconds=20):
        """Waits until an expression is true in the page; returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.run(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise TimeoutError(f"{expression}: the page says {self.run('document.body.innerText')!r}; {self.complaints}")
            self.read(0.1)

    @contextlib.contextmanager
    def another(self, address):
        """A second page of the same browser, beside the first, which runs on."""
        first = self.session
        self.session = None
        target = self.call("Target.createTarget", url=address, newWindow=True)["targetId"]
        self.attach(target)
        yield self
        self.session = None
        self.call("Target.closeTarget", targetId=target)
        self.session = first

    def press(self, key):
        codes = {"Enter": {"windowsVirtualKeyCode": 13, "text": "\r"}, "Escape": {"windowsVirtualKeyCode": 27}}
        more = codes.get(key, {"text": key} if len(key) == 1 else {})
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def picture(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))
