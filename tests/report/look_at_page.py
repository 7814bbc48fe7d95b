#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at a page as a browser shows it: wide and as narrow as a phone, light and dark.

Usage: look_at_page.py PAGE.html [FOLDER]     With a folder, screenshots are saved there.

Fails if the page is wider than the window, writes an error to the console, asks for anything but itself, does not react
to the pointer, or holds what people who do not see it cannot use. Exit status: 0, 1 for a failure, 77 if there is no Chromium.
"""
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome")
VIEWS = [(width, scheme) for width in (1280, 420, 375) for scheme in ("light", "dark")]
SECONDS = 90
# What is wrong with the page at the width it has now, a sentence each.
INSPECTION = r"""(() => {
  const found = [], name = element => element.outerHTML.slice(0, 80);
  const width = document.documentElement.scrollWidth;
  if (width > innerWidth) {
    const wide = [...document.querySelectorAll('body *')].filter(
      element => element.getBoundingClientRect().left + element.scrollWidth > innerWidth && !element.closest('.scroll'));
    found.push(`the page is ${width} px wide in a window of ${innerWidth}: ` + wide.slice(-3).map(name).join(' '));
  }
  for (const [rule, selector] of [['an image without a text', 'img:not([alt])'],
                                  ['a drawing without a text', 'svg[role=img]:not([aria-label])'],
                                  ['a table header without a scope', 'th:not([scope])'],
                                  ['a box that the keyboard cannot scroll', '.scroll:not([tabindex])']])
    for (const element of document.querySelectorAll(selector)) found.push(`${rule}: ${name(element)}`);
  for (const image of document.images) if (!image.naturalWidth) found.push(`an image that cannot be shown: ${name(image)}`);
  if (document.querySelectorAll('h1').length !== 1) found.push('there is not one h1');
  return found;
})()"""


# What does not react to the pointer and to the keyboard as it should, a sentence each.
USE = r"""(() => {
  const found = [], frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
  const point = (element, x) => {
    element.scrollIntoView();
    const box = element.getBoundingClientRect();
    element.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: box.left + x * box.width,
                                                            clientY: box.top + box.height / 2 }));
  };
  return (async () => {
    for (const chart of document.querySelectorAll('.charts > [data-values]')) {
      const tip = document.querySelector('#chart-tip'), data = JSON.parse(chart.dataset.values), end = data.at.length - 1;
      point(chart, .99);
      const last = data.unit + ' ' + data.at[end].toLocaleString('en') +
        data.series.filter(series => end in series[2]).map(series => '\n' + series[0] + ' ' + series[2][end]).join('');
      if (tip.style.display !== 'block' || tip.textContent !== last) found.push('a chart does not show its last values: ' +
                                                                             JSON.stringify(tip.textContent));
      if (tip.getBoundingClientRect().right > innerWidth) found.push('values of a chart are outside of the window');
      chart.dispatchEvent(new PointerEvent('pointerleave'));
      if (tip.style.display !== 'none') found.push('the values of a chart stay');
      chart.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight' }));
      if (!tip.textContent.startsWith(data.unit + ' ' + data.at[0].toLocaleString('en'))) found.push('no key reaches a chart');
      chart.dispatchEvent(new FocusEvent('blur'));
    }
    const search = document.querySelector('#search'), view = document.querySelector('#in-view');
    if (search) {
      const type = async text => {
        search.value = text;
        search.dispatchEvent(new InputEvent('input'));
        await frame();
      };
      await type('barrier');
      if (!/^From 0 to .* [1-9][0-9,]* of [0-9,]+ events match, [0-9.]+ % of the time, .* each, at most .*\.$/.test(view.textContent))
        found.push('a search finds nothing: ' + view.textContent);
      await type('there is no such layer');
      if (!/: 0 of [0-9,]+ events match, 0\.0 % of the time\.$/.test(view.textContent)) found.push('a search finds too much: ' + view.textContent);
      await type('');
      document.querySelector('#in').click();
      await frame();
      if (view.textContent.startsWith('From 0 to')) found.push('zooming in does not change what is in view');
      const shares = [...document.querySelectorAll('#legend b')].map(share => parseFloat(share.textContent));
      const sum = shares.reduce((a, b) => a + b, 0);
      if (sum < 95 || sum > 105) found.push(`the shares in view are ${sum} % together`);
      document.querySelector('#whole').click();
      await frame();
    }
    for (const link of document.querySelectorAll('nav a'))
      if (!document.querySelector(link.getAttribute('href'))) found.push('a link leads nowhere: ' + link.textContent);
    return found;
  })();
})()"""


class Browser:
    """Chromium, spoken to over its debugging pipe: file descriptors 3 and 4, messages that end in a zero byte."""

    def __init__(self, program, profile):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # Under other numbers first, so that none of the two is closed by the other's renaming.
        script = f'exec {to_browser + 100}<&{to_browser} {from_browser + 100}>&{from_browser}; ' \
                 f'exec 3<&{to_browser + 100} 4>&{from_browser + 100}; exec "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", script, "bash", program, "--headless", "--remote-debugging-pipe", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.pending = b""
        self.events = []
        self.calls = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def receive(self):
        while b"\0" not in self.pending:
            part = os.read(self.input, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self.pending += part
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.calls:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return answer["result"].get("value")

    def end(self):
        self.process.kill()
        self.process.wait()


def complaints_of(events, address):
    for event in events:
        method, given = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            yield "the page throws: " + given["exceptionDetails"].get("exception", {}).get("description", "something")
        elif method == "Runtime.consoleAPICalled" and given["type"] in ("error", "warning"):
            yield "the console says: " + json.dumps(given["args"])
        elif method == "Log.entryAdded" and given["entry"]["level"] in ("error", "warning"):
            yield "the log says: " + given["entry"]["text"]
        elif method == "Network.requestWillBeSent":
            asked = given["request"]["url"]
            if asked != address and not asked.startswith("data:"):
                yield "the page asks for " + asked


def give_up(*_):
    raise RuntimeError(f"the browser took more than {SECONDS} s")


def look(browser, page, width, scheme, folder):
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    # As on a phone: they would take room from the picture.
    browser.call("Emulation.setScrollbarsHidden", hidden=True)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait_for("Page.loadEventFired")
    browser.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = browser.evaluate(INSPECTION) + browser.evaluate(USE) + list(complaints_of(browser.events, page.as_uri()))
    if folder:
        picture = browser.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        (folder / f"{page.stem}_{width}_{scheme}.png").write_bytes(base64.b64decode(picture))
    return found


def main():
    page = pathlib.Path(sys.argv[1]).resolve()
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        print(f"skipped: there is none of {', '.join(NAMES)} on this machine (Debian's package is chromium)")
        return 77
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    failures = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                browser.call(f"{domain}.enable")
            for width, scheme in VIEWS:
                for complaint in look(browser, page, width, scheme, folder):
                    print(f"{page.name}, {width} px, {scheme}: {complaint}")
                    failures += 1
        finally:
            browser.end()
    if failures == 0:
        print(f"{page.name}: fits {', '.join(f'{width} px {scheme}' for width, scheme in VIEWS)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
