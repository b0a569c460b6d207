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
from haralyzer import HarParser
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

HOSTILE = "<img src=x onerror=window.hacked=1>\"'<script>window.hacked=1</script>\"\u0301 autofocus onfocus=hacked() "
SECRET = "SECRET-VALUE"
# Seconds. A condition is met much sooner, except on a machine that does a lot else.
PATIENCE = 120

# Counts the messages of streams, keeps the streams, and lets a test hide the page.
WATCH = """
window.messages = 0;
document.addEventListener("htmx:sseMessage", () => { window.messages += 1; });
window.streams = [];
window.EventSource = class extends EventSource {
  constructor(...values) { super(...values); window.streams.push(this); }
};
Object.defineProperty(document, "hidden", { get: () => sessionStorage.getItem("hidden") === "yes" });
"""


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
        self.send_response({"/missing": 404, "/refused": 400}.get(self.path.split("?")[0], 200))
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
        return self.process.wait(PATIENCE)


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
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_script_timeout(PATIENCE)
    driver.set_page_load_timeout(PATIENCE)
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    return driver


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


def wait(driver, condition, text):
    """Waits for a condition. An element that is replaced meanwhile is looked for again."""
    try:
        WebDriverWait(driver, PATIENCE, ignored_exceptions=[StaleElementReferenceException]).until(condition)
    except Exception as error:  # selenium's own errors, too
        failures.check(False, f"{text}: {type(error).__name__}")


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def find_all(driver, selector):
    return driver.find_elements(By.CSS_SELECTOR, selector)


def click_at_once(driver, selector):
    """Clicks on a part of a live page, which may be replaced between two commands."""
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def wait_for_live(driver, place, count=1):
    """Waits until a live page has received messages since it was loaded."""
    wait(driver, lambda d: d.execute_script(
        "return window.messages >= arguments[0] || !document.querySelector('[data-live]')", count),
        f"{place}: is not live")


def send(driver, path, fields=""):
    """Sends a form, and returns the status of the answer."""
    return driver.execute_async_script(
        "const [path, body, done] = arguments;"
        "fetch(path, {method: 'POST', body, headers: {'Content-Type': 'application/x-www-form-urlencoded'}})"
        ".then((answer) => done(answer.status))", path, fields)


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
    fill_queue(program, store, origin)
    record(store, origin)


def fill_queue(program, store, origin):
    """Adds a job that is dead, one that is held, and two that are ready."""

    def queue(*arguments, check=True):
        subprocess.run([program, "queue", arguments[0], "--store", store, *arguments[1:]],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=check)

    def add(path):
        queue("add", "-X", "POST", "--json-body", json.dumps({"id": 9007199254740993, "name": HOSTILE}), origin + path)

    add("/refused")
    # The job is dead then, which is a failure.
    queue("replay", check=False)
    for number in range(3):
        add(f"/notes?number={number}")
    queue("hold", "2")
    queue("hold", "--lane", "images", "--reason", HOSTILE)


def record(store, origin):
    """Writes what a program records with recordsEvents: a request that waits, and is then on the wire."""
    now = int(time.time() * 1000)

    def event(offset, **members):
        return json.dumps({"time": now + offset, "process": 1, "program": "app", **members}) + "\n"

    request = {"interval": "request", "id": 1, "method": "GET", "url": origin + "/cities?page=1", "lane": "default"}
    attempt = {"interval": "attempt", "id": 2, "parent": 1}
    (Path(store) / "events.jsonl").write_text(
        event(0, kind="began", **request) + event(20, kind="began", **attempt)
        + event(50, kind="ended", **attempt, milliseconds=30, status=200)
        + event(51, kind="ended", **request, milliseconds=51, status=200, source="network"))


def paths(driver, inspector):
    """The pages behind the links at the top, of an entry of each kind, and of a job in each state."""
    driver.get(inspector.base + "/")
    found = [link.get_attribute("href") for link in find_all(driver, "nav a")]
    for state in ["dead", "held", "ready"]:
        found.append(f"{inspector.base}/queue/jobs?state={state}")
        driver.get(found[-1])
        rows = find_all(driver, "th a")
        failures.check(len(rows) > 0, f"no job is {state}")
        found += [row.get_attribute("href") for row in rows[:1]]
    for text in ["/image", "/bytes", "/missing", "/hostile", "/named", "/cities?page=1"]:
        driver.get(f"{inspector.base}/entries?url={urllib.request.quote(text)}")
        rows = find_all(driver, "td a.key")
        failures.check(len(rows) > 0, f"no entry for {text}")
        if rows:
            found.append(rows[0].get_attribute("href"))
    for link in list(found):
        driver.get(link)
        found += [other.get_attribute("href") for other in find_all(driver, "main a.button")
                  if other.get_dom_attribute("download") is None]
    return list(dict.fromkeys(found))


def look(driver, inspector, folder):
    """Every page, in both widths, light and dark."""
    found = paths(driver, inspector)
    for part in ["/queue/jobs/1", "/edit", "/send", "/purge"]:
        failures.check(any(part in path for path in found), f"no link leads to {part}")
    for path in found:
        name = path.removeprefix(inspector.base).strip("/").replace("/", "-").split("?")[0] or "overview"
        look_at(driver, path, name, folder, lambda: driver.get(path))
    # The answers to forms have no address.
    driver.get(f"{inspector.base}/queue/jobs?state=dead")
    find(driver, "button[value=discard]").click()
    wait(driver, lambda d: "discard 1 job" in find(d, "main").text, "an action on all jobs does not ask")
    look_at(driver, "the question about all jobs", "queue-bulk", folder)
    resize(driver, 1600, "light")


def look_at(driver, place, name, folder, load=lambda: None):
    for width in [400, 1600]:
        for scheme in ["light", "dark"]:
            resize(driver, width, scheme)
            load()
            wait_for_live(driver, place)
            driver.save_screenshot(str(folder / f"{name}-{width}-{scheme}.png"))
            check_page(driver, f"{place} at {width} {scheme}")


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
    wait(driver, lambda d: "9007199254740993" in d.page_source, "an integer is not exact")
    driver.get(inspector.base + "/timeline")
    wait_for_live(driver, "the timeline")
    failures.check(len(find_all(driver, "svg.bar rect.wire")) == 1, "the timeline has no time on the wire")
    click_at_once(driver, "td.break a")
    wait(driver, lambda d: find_all(d, "td a.key"), "the timeline does not lead to the entry")
    check_console(driver, "clicks")


def pause(driver, inspector):
    """The live view pauses, stays paused in this tab, and does not pause another."""
    driver.get(inspector.base + "/")
    wait(driver, lambda d: d.execute_script("return !!document.querySelector('[sse-connect]')"), "the page is live")
    find(driver, "#pause").click()
    driver.get(inspector.base + "/entries")
    driver.get(inspector.base + "/")
    failures.check(find(driver, "#pause").text == "Resume", "the live view resumes after navigation")
    failures.check(not find_all(driver, "[sse-connect]"), "a paused page has a stream")
    failures.check(driver.execute_script("return htmx.createEventSource('/overview/live').readyState") == 2,
                   "a stream that was lost comes back in a paused page")
    first = driver.current_window_handle
    driver.switch_to.new_window("tab")
    driver.get(inspector.base + "/")
    failures.check(find(driver, "#pause").text == "Pause", "another tab is paused, too")
    driver.close()
    driver.switch_to.window(first)
    find(driver, "#pause").click()
    wait_for_live(driver, "the overview after a pause", 2)
    check_charts(driver, "after a pause")


def check_charts(driver, place):
    failures.check(len(find_all(driver, ".chart canvas")) == 1, f"{place}: there is not one chart")


def hide(driver, inspector):
    """A page in a hidden tab has no stream, and is live with the same chart and focus when it is seen."""

    def set_hidden(text):
        driver.execute_script("sessionStorage.setItem('hidden', arguments[0])", text)

    driver.get(inspector.base + "/entries")
    set_hidden("yes")
    driver.get(inspector.base + "/")
    failures.check(driver.execute_script("return window.streams.length") == 0, "a hidden page has a stream")
    driver.execute_script("document.querySelector('summary').focus()")
    for text in ["no", "yes", "no"]:
        set_hidden(text)
        driver.execute_script("window.messages = 0; document.dispatchEvent(new Event('visibilitychange'))")
        if text == "no":
            wait_for_live(driver, "the overview in a tab that is seen again", 2)
    failures.check(driver.execute_script("return window.streams.filter((one) => one.readyState < 2).length") == 1,
                   "a page that is seen again has not one stream")
    failures.check(driver.execute_script("return document.activeElement.tagName") == "SUMMARY", "the focus is lost")
    check_charts(driver, "seen again")


def fail(driver, inspector):
    """What cannot be read is said, and not that the program has stopped."""
    driver.get(inspector.base + "/")
    wait_for_live(driver, "the overview")
    for text in ["the queue is locked", ""]:
        # In one step, because the stream has messages of its own.
        shown = driver.execute_script(
            "window.streams[0].dispatchEvent(new MessageEvent('problem', {data: arguments[0]}));"
            "return document.getElementById('problem').hidden ? '' : document.getElementById('problem').textContent",
            text)
        failures.check(shown == text, f"the problem '{text}' is shown as '{shown}'")
    driver.get(inspector.base + "/entries")
    cookies = driver.get_cookies()
    driver.delete_all_cookies()
    find(driver, "#url").send_keys("city")
    wait(driver, lambda d: "no access" in find(d, "#problem").text, "a refused search says nothing")
    for cookie in cookies:
        driver.add_cookie(cookie)
    find(driver, "#url").send_keys("?")
    wait(driver, lambda d: not find(d, "#problem").is_displayed(), "a problem stays when it is over")
    failures.check(not find(driver, "#offline").is_displayed(), "a running program is called stopped")
    driver.get_log("browser")


def update(driver, inspector, program, store, origin):
    """A request of another program is counted without a click."""
    driver.get(inspector.base + "/")
    before = find(driver, "[sse-swap=figures]").text
    subprocess.run([program, "send", "--store", store, origin + "/new"], capture_output=True, check=True)
    wait(driver, lambda d: find(d, "[sse-swap=figures]").text != before, "the counts do not change")


def refuse(driver, inspector):
    """A page that may only read offers no action, and the server refuses one."""
    driver.get(inspector.base + "/entries")
    entry = find(driver, "td a.key").get_attribute("href").removeprefix(inspector.base)
    for path in [entry, "/queue", "/queue/jobs", "/queue/jobs/1"]:
        driver.get(inspector.base + path)
        failures.check(not find_all(driver, "form[method=post]"), f"{path} has an action, and may only read")
    actions = [f"{entry}/{name}" for name in ["invalidate", "pin", "unpin", "purge"]]
    actions += [f"/queue/jobs/1/{name}"
                for name in ["retry", "hold", "release", "discard", "redrive", "edit", "resend"]]
    for path in actions + ["/queue/hold", "/queue/release", "/queue/bulk", "/send"]:
        status = send(driver, path, "kind=queue&action=discard&confirmed=yes")
        failures.check(status == 403, f"{path} without --write answers {status}")
    driver.get_log("browser")


def change(driver, inspector):
    driver.get(inspector.base + "/entries?url=page%3D7")
    find(driver, "td a.key").click()
    for name, text in [("pin", "was pinned"), ("unpin", "may be evicted"), ("invalidate", "was marked stale")]:
        find(driver, f"form[action$='/{name}'] button").click()
        wait(driver, lambda d: text in d.page_source, f"{name} says nothing")
    find(driver, "a[href$='/purge']").click()
    wait(driver, lambda d: "Purge this entry?" in d.page_source, "purge does not ask")
    find(driver, "button.danger").click()
    wait(driver, lambda d: "was purged" in d.page_source, "purge says nothing")
    check_console(driver, "changes")


def manage(driver, inspector):
    """Holds and releases a lane, edits a job, discards all that are dead, and adds one again."""
    driver.get(inspector.base + "/queue")
    find(driver, "#name").send_keys("slow")
    find(driver, "[aria-label=Hold] button").click()
    wait(driver, lambda d: "the lane 'slow'" in find(d, "[sse-swap=holds]").text, "a lane is not held")
    click_at_once(driver, "button[aria-label*=\"'slow'\"]")
    wait(driver, lambda d: "'slow'" not in find(d, "[sse-swap=holds]").text, "a lane is not released")
    driver.get(inspector.base + "/queue/jobs/2/edit")
    driver.execute_script("const box = arguments[0]; box.value = box.value.replace('740993', '740995')",
                          find(driver, "#request"))
    find(driver, "main form button").click()
    wait(driver, lambda d: "changed job 2" in d.page_source and "9007199254740995" in d.page_source,
         "an edit is not stored")
    driver.get(inspector.base + "/queue/jobs?state=dead")
    find(driver, "button[value=discard]").click()
    wait(driver, lambda d: "discard 1 job" in find(d, "main").text, "an action on all jobs does not ask")
    find(driver, "button.danger").click()
    wait(driver, lambda d: "discarded 1 job" in find(d, "main").text, "an action on all jobs says nothing")
    driver.get(inspector.base + "/queue/jobs")
    count = len(find_all(driver, "th a"))
    driver.get(inspector.base + "/queue/jobs/1")
    find(driver, "form[action$='/resend'] input").click()
    ActionChains(driver).double_click(find(driver, "form[action$='/resend'] button")).perform()
    wait(driver, lambda d: "?added=1" in d.current_url, "a job is not added again")
    driver.get(inspector.base + "/queue/jobs")
    failures.check(len(find_all(driver, "th a")) == count + 1, "a double click does not add one job")
    check_console(driver, "the queue")


def stop(driver, inspector):
    driver.get(inspector.base + "/")
    wait_for_live(driver, "the overview")
    failures.check(inspector.stop() == 0, "Ctrl-C does not end the program cleanly")
    wait(driver, lambda d: find(d, "#offline").is_displayed(), "a stopped server is not noticed")
    driver.get_log("browser")


# The requests that the network panel of Chromium makes of an archive.
READ_ARCHIVE = """
const [text, done] = arguments;
import("devtools://devtools/bundled/models/har/har.js").then(async (har) => {
  const root = new har.HARFormat.HARRoot(JSON.parse(text));
  const requests = har.Importer.Importer.requestsFromHARLog(root.log);
  const read = [];
  for (const request of requests) {
    const content = await request.requestContentData();
    read.push([request.url(), request.requestMethod, request.statusCode, content.isTextContent ? content.text : ""]);
  }
  done({read});
}).catch((error) => done({error: String(error)}));
"""


def archive(driver, program, store):
    """An archive is read by Chromium's network panel and by haralyzer, each entry with its body, and has no secret."""
    command = [program, "export", "--har", "--store", store]
    text = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    failures.check(SECRET not in text, "an archive has a secret")
    written = [
        [entry["request"]["url"], entry["request"]["method"], entry["response"]["status"],
         entry["response"]["content"].get("text", "") if "encoding" not in entry["response"]["content"] else ""]
        for entry in json.loads(text)["log"]["entries"]]
    failures.check(len(written) > 1, "an archive has no entries")
    pages = HarParser(json.loads(text)).pages
    entries = [entry for page in pages for entry in page.entries]
    parsed = [[str(entry.request.url), entry.request.method, entry.response.status] for entry in entries]
    failures.check(sorted(parsed) == sorted(line[:3] for line in written), "haralyzer reads other entries")
    driver.get("devtools://devtools/bundled/devtools_app.html")
    result = driver.execute_async_script(READ_ARCHIVE, text)
    failures.check(sorted(result.get("read", [])) == sorted(written),
                   f"Chromium reads other entries: {result.get('error')}")
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
        hide(driver, reading)
        fail(driver, reading)
        update(driver, reading, program, store, origin)
        refuse(driver, reading)
        change(driver, writing)
        manage(driver, writing)
        stop(driver, reading)
        archive(driver, program, store)
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
