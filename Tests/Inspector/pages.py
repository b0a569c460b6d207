"""Tests the pages of `cachectl serve` in headless Chromium: scripts/inspector runs it.

Usage: pages.py CACHECTL FOLDER [--large STORE]

Fills a store with a server of its own, opens each page at 400 and 1,600 pixels, light and dark, runs axe on it, and
clicks through. FOLDER gets a screenshot of each page. --large names a store whose pages have to answer in 200 ms.
"""

import http.server
import json
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import zlib
from pathlib import Path

from axe_selenium_python import Axe
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

HOSTILE = "<img src=x onerror=window.hacked=1>\"'<script>window.hacked=1</script>\"\u0301 autofocus onfocus=hacked() "
SECRET = "SECRET-VALUE"


def picture():
    """A PNG of 2 by 2 pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress(b"\0\xff\0\0\0\xff\0" * 2)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 2, 0, 0, 0)) + chunk(b"IDAT", rows)
            + chunk(b"IEND", b""))


class Origin(http.server.BaseHTTPRequestHandler):
    """The server whose responses are stored."""

    def do_GET(self):
        kind, body = self.answer()
        self.send_response(404 if self.path.startswith("/missing") else 200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", '"1"')
        self.send_header("Set-Cookie", f"session={SECRET}")
        self.send_header("Cache-Control", "max-age=600, stale-while-revalidate=60, stale-if-error=3600")
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def answer(self):
        if self.path.startswith("/image"):
            return "image/png", picture()
        if self.path.startswith("/bytes"):
            return "application/octet-stream", bytes(range(256)) * 8
        if self.path.startswith("/hostile"):
            return "text/html; charset=utf-8", HOSTILE.encode()
        value = {"id": 9007199254740993, "name": "Nara", "access_token": SECRET, "path": self.path}
        return "application/json", json.dumps(value).encode()

    def log_message(self, *_):
        pass


class Inspector:
    """A running `cachectl serve`."""

    def __init__(self, program, store, *options):
        command = [program, "serve", "--store", store, *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.base = self.url.split("/?")[0]

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


class Failures(list):
    def check(self, condition, text):
        if not condition:
            print("FAILED:", text, flush=True)
            self.append(text)


failures = Failures()


def browser():
    options = webdriver.ChromeOptions()
    for argument in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--lang=en"]:
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    options.binary_location = shutil.which("chromium")
    # Named, so that selenium looks for no other one in the network.
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def resize(driver, width, scheme):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                           {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def check_console(driver, place):
    lines = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    failures.check(not lines, f"{place}: console: {lines}")


def check_page(driver, place):
    """Checks what holds for every page in every size."""
    failures.check(driver.execute_script("return window.hacked") is None, f"{place}: a name was executed")
    failures.check(SECRET not in driver.page_source, f"{place}: has a secret")
    overflow = driver.execute_script(
        "const page = document.documentElement; return page.scrollWidth - page.clientWidth")
    failures.check(overflow <= 0, f"{place}: wider than the window by {overflow} pixels")
    axe = Axe(driver)
    axe.inject()
    for violation in axe.run()["violations"]:
        targets = [node["target"] for node in violation["nodes"]][:3]
        failures.check(False, f"{place}: axe: {violation['id']}: {violation['help']}: {targets}")
    check_console(driver, place)


def wait(driver, condition, text, seconds=10):
    try:
        WebDriverWait(driver, seconds).until(condition)
    except Exception:  # selenium's own errors, too
        failures.check(False, text)


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def fill(program, store, origin):
    paths = [f"/cities?page={number}" for number in range(60)] + [
        "/image", "/bytes", "/missing", "/hostile", f"/secret?access_token={SECRET}",
        "/named?name=%3Cscript%3Ewindow.hacked%3D1%3C%2Fscript%3E%22%CC%81%20autofocus%20",
    ]
    requests = [{"url": origin + path} for path in paths]
    for request in requests:
        request["headers"] = {"X-Name": "<b>bold</b>"}
    source = Path(store).with_suffix(".json")
    source.write_text(json.dumps(requests))
    for _ in range(2):
        # Those after an error status are not sent.
        subprocess.run([program, "send", "--store", store, str(source), "--assert", "status >= 200"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    for number in range(3):
        subprocess.run([program, "queue", "add", "--store", store, "-X", "POST", "--json-body",
                        json.dumps({"id": 9007199254740993, "name": HOSTILE}),
                        f"{origin}/notes?number={number}"], stdout=subprocess.DEVNULL, check=True)


def paths(driver, inspector):
    """The pages behind the links at the top, and of an entry of each kind."""
    driver.get(inspector.base + "/")
    found = [link.get_attribute("href") for link in driver.find_elements(By.CSS_SELECTOR, "nav a")]
    for text in ["/image", "/bytes", "/missing", "/hostile", "/named", "/cities?page=1"]:
        driver.get(f"{inspector.base}/entries?url={urllib.request.quote(text)}")
        rows = driver.find_elements(By.CSS_SELECTOR, "td a.key")
        failures.check(len(rows) > 0, f"no entry for {text}")
        if rows:
            found.append(rows[0].get_attribute("href"))
    for link in list(found):
        driver.get(link)
        found += [other.get_attribute("href") for other in driver.find_elements(By.CSS_SELECTOR, "main a.button")
                  if other.get_dom_attribute("download") is None]
    return list(dict.fromkeys(found))


def look(driver, inspector, folder):
    """Every page, in both widths, light and dark."""
    for path in paths(driver, inspector):
        name = path.removeprefix(inspector.base).strip("/").replace("/", "-").split("?")[0] or "overview"
        for width in [400, 1600]:
            for scheme in ["light", "dark"]:
                resize(driver, width, scheme)
                driver.get(path)
                time.sleep(0.3)
                driver.save_screenshot(str(folder / f"{name}-{width}-{scheme}.png"))
                check_page(driver, f"{path} at {width} {scheme}")
    resize(driver, 1600, "light")


def click(driver, inspector):
    """Searches, pages, and goes to an entry, without a new page for the search."""
    driver.get(inspector.base + "/entries")
    driver.execute_script("window.stayed = true")
    find(driver, "#url").send_keys("/cities?page=3")
    wait(driver, lambda d: "11 entries" in find(d, "#summary").text, "a search finds page=3 and page=30 to 39")
    failures.check(driver.execute_script("return window.stayed"), "a search loads a new page")
    driver.get(inspector.base + "/entries")
    find(driver, "#results a.button").click()
    wait(driver, lambda d: "after=" in d.current_url, "there is a second page")
    find(driver, "td a.key").click()
    wait(driver, lambda d: "The next equal request" in d.page_source, "an entry is shown")
    driver.get(f"{inspector.base}/entries?url=page%3D1")
    find(driver, "td a.key").click()
    failures.check("9007199254740993" in driver.page_source, "an integer is not exact")
    check_console(driver, "clicks")


def pause(driver, inspector):
    """The live view pauses, stays paused in this tab, and does not pause another."""
    driver.get(inspector.base + "/")
    wait(driver, lambda d: d.execute_script("return !!document.querySelector('[sse-connect]')"), "the page is live")
    find(driver, "#pause").click()
    driver.get(inspector.base + "/entries")
    driver.get(inspector.base + "/")
    failures.check(find(driver, "#pause").text == "Resume", "the live view resumes after navigation")
    failures.check(not driver.find_elements(By.CSS_SELECTOR, "[sse-connect]"), "a paused page has a stream")
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(inspector.base + "/")
    failures.check(find(driver, "#pause").text == "Pause", "another tab is paused, too")
    driver.close()
    driver.switch_to.window(first)
    find(driver, "#pause").click()
    wait(driver, lambda d: d.find_elements(By.CSS_SELECTOR, "[sse-connect]"), "the live view does not resume")
    failures.check(len(driver.find_elements(By.CSS_SELECTOR, ".chart canvas")) == 1, "there is no chart")


def update(driver, inspector, program, store, origin):
    """A request of another program is counted without a click."""
    driver.get(inspector.base + "/")
    before = find(driver, "[sse-swap=figures]").text
    subprocess.run([program, "send", "--store", store, origin + "/new"], capture_output=True, check=True)
    wait(driver, lambda d: find(d, "[sse-swap=figures]").text != before, "the counts do not change")


def refuse(driver, inspector):
    """A page that may only read offers no action, and the server refuses one."""
    driver.get(inspector.base + "/entries")
    find(driver, "td a.key").click()
    failures.check(not driver.find_elements(By.CSS_SELECTOR, "form[method=post]"), "a read-only page has an action")
    path = driver.current_url.removeprefix(inspector.base)
    for action in ["invalidate", "pin", "unpin", "purge"]:
        status = driver.execute_async_script(
            "const done = arguments[1]; fetch(arguments[0], {method: 'POST'}).then((r) => done(r.status))",
            f"{path}/{action}")
        failures.check(status == 403, f"{action} without --write answers {status}")
    driver.get_log("browser")


def change(driver, inspector):
    driver.get(inspector.base + "/entries?url=page%3D7")
    find(driver, "td a.key").click()
    for name, text in [("pin", "was pinned"), ("unpin", "may be evicted"), ("invalidate", "was marked stale")]:
        find(driver, f"form[action$='/{name}'] button").click()
        wait(driver, lambda d: text in d.page_source, f"{name} says nothing")
    find(driver, "a[href$='/purge']").click()
    failures.check("Purge this entry?" in driver.page_source, "purge does not ask")
    find(driver, "button.danger").click()
    wait(driver, lambda d: "was purged" in d.page_source, "purge says nothing")
    check_console(driver, "changes")


def stop(driver, inspector):
    driver.get(inspector.base + "/")
    time.sleep(1)
    failures.check(inspector.stop() == 0, "Ctrl-C does not end the program cleanly")
    wait(driver, lambda d: find(d, "#offline").is_displayed(), "a stopped server is not noticed", 20)
    driver.get_log("browser")


def measure(program, store):
    """Every page of a large store answers in 200 ms."""
    inspector = Inspector(program, store)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    opener.open(inspector.url).read()
    for path in ["/", "/entries", "/entries?by=largest", "/entries?by=url", "/entries?url=no-such-text",
                 "/entries?body=no-such-text", "/entries?field=X-None", "/entries?status=599"]:
        times = []
        for _ in range(5):
            start = time.monotonic()
            opener.open(inspector.base + path).read()
            times.append((time.monotonic() - start) * 1000)
        print(f"{statistics.median(times):6.0f} ms  {path}", flush=True)
        failures.check(statistics.median(times) <= 200, f"{path} takes {statistics.median(times):.0f} ms")
    inspector.stop()


def main():
    program, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}"
    store = tempfile.mkdtemp(prefix="inspector-")
    fill(program, store, origin)
    reading = Inspector(program, store)
    writing = Inspector(program, store, "--write")
    driver = browser()
    try:
        for inspector in [reading, writing]:
            driver.get(inspector.url)
            failures.check("token" not in driver.current_url, "the token stays in the URL")
        look(driver, writing, folder)
        click(driver, reading)
        pause(driver, reading)
        update(driver, reading, program, store, origin)
        refuse(driver, reading)
        change(driver, writing)
        stop(driver, reading)
    finally:
        driver.quit()
        for inspector in [reading, writing]:
            if inspector.process.poll() is None:
                inspector.stop()
    if "--large" in sys.argv:
        measure(program, sys.argv[sys.argv.index("--large") + 1])
    print(f"{len(failures)} failures; screenshots in {folder}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
