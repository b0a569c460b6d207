// Live updates that pause, charts, and a message if the server has stopped. Everything else works without a script.
(() => {
  "use strict";
  const pause = document.getElementById("pause");
  const offline = document.getElementById("offline");
  const problem = document.getElementById("problem");
  const sources = new Set();
  // For the tab: the next page stays paused, too.
  let paused = sessionStorage.getItem("paused") === "yes";

  // A hidden tab needs no stream, and a browser has few connections for one server.
  const isLive = () => !paused && !document.hidden;

  function report(text) {
    problem.textContent = text;
    problem.hidden = text === "";
  }

  // htmx also asks for one when the time of a lost stream is over.
  htmx.createEventSource = (url) => {
    const source = new EventSource(url);
    if (!isLive()) source.close();
    source.addEventListener("problem", (event) => report(event.data));
    sources.add(source);
    return source;
  };

  function connect() {
    for (const box of document.querySelectorAll("[data-live]")) {
      box.setAttribute("hx-ext", "sse");
      box.setAttribute("sse-connect", box.dataset.live);
    }
  }

  function disconnect() {
    for (const source of sources) source.close();
    sources.clear();
  }

  // A new element has no stream yet, and no chart.
  function reconnect() {
    clear();
    for (const box of document.querySelectorAll("[data-live]")) {
      const fresh = box.cloneNode(true);
      const focused = [...box.querySelectorAll("*")].indexOf(document.activeElement);
      box.replaceWith(fresh);
      connect();
      htmx.process(fresh);
      fresh.querySelectorAll("*")[focused]?.focus();
    }
    draw();
  }

  function update() {
    disconnect();
    if (isLive()) reconnect();
  }

  function showPause() {
    pause.hidden = document.querySelector("[data-live]") === null;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
  }

  pause.addEventListener("click", () => {
    paused = !paused;
    sessionStorage.setItem("paused", paused ? "yes" : "no");
    update();
    showPause();
  });
  document.addEventListener("visibilitychange", update);
  window.addEventListener("pagehide", disconnect);

  for (const name of ["htmx:sseError", "htmx:sendError"]) {
    document.addEventListener(name, () => { offline.hidden = false; });
  }
  document.addEventListener("htmx:sseOpen", () => { offline.hidden = true; });
  // Also sent for an answer that is no success.
  document.addEventListener("htmx:afterOnLoad", (event) => {
    offline.hidden = true;
    report(event.detail.xhr.status < 400 ? "" : messageOf(event.detail.xhr));
  });

  // The page of a problem says what to do.
  function messageOf(answer) {
    const page = new DOMParser().parseFromString(answer.responseText, "text/html");
    return page.querySelector("main .bad")?.textContent ?? `The server answers ${answer.status}.`;
  }

  // A chart of a table: the first column has times as seconds, the others with data-value have numbers.
  const charts = new Map();

  function columns(table) {
    const rows = [...table.tBodies[0].rows].reverse();
    const count = rows.length ? rows[0].querySelectorAll("[data-value]").length : 0;
    return Array.from({ length: count }, (_, column) =>
      rows.map((row) => Number(row.querySelectorAll("[data-value]")[column].dataset.value)));
  }

  function chart(box, table) {
    const data = columns(table);
    if (data.length < 2) return;
    const heads = [...table.tHead.querySelectorAll("[data-series]")];
    const resolve = document.createElement("span");
    box.append(resolve);
    const named = (name) => { resolve.className = name; return getComputedStyle(resolve).backgroundColor; };
    resolve.className = "soft";
    const text = getComputedStyle(resolve).color;
    const width = box.clientWidth;
    const axis = { stroke: text, grid: { stroke: "rgba(128,128,128,.25)" }, ticks: { show: false } };
    const series = heads.map((head) => ({
      label: head.textContent.trim(), stroke: named(head.dataset.series), fill: named(head.dataset.series),
      paths: uPlot.paths.bars({ size: [0.8, 40] }), points: { show: false },
    }));
    resolve.remove();
    const options = {
      width, height: 200, axes: [axis, { ...axis, size: 60 }], series: [{}, ...series],
      // The page has its own legend, and all of its times are in UTC.
      legend: { show: false }, cursor: { drag: { x: false, y: false } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "UTC"),
      scales: {
        // 48 hours up to the last one.
        x: { range: (plot) => [plot.data[0].at(-1) - 47.5 * 3600, plot.data[0].at(-1) + 1800] },
        y: { range: (_, low, high) => [0, high || 1] },
      },
    };
    charts.set(box, new uPlot(options, data, box));
  }

  function draw() {
    for (const box of document.querySelectorAll("[data-chart]")) {
      const table = document.getElementById(box.dataset.chart);
      if (!table) continue;
      if (charts.has(box)) charts.get(box).setData(columns(table)); else chart(box, table);
    }
  }

  function clear() {
    for (const plot of charts.values()) plot.destroy();
    charts.clear();
  }

  function redraw() {
    clear();
    draw();
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  window.addEventListener("resize", () => {
    for (const [box, plot] of charts) plot.setSize({ width: box.clientWidth, height: 200 });
  });
  document.addEventListener("htmx:afterSwap", draw);

  // A second click would do the action twice.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.getAttribute("method") !== "post" || event.defaultPrevented) return;
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
  // The browser may show a page again as it was.
  window.addEventListener("pageshow", () => {
    for (const form of document.forms) delete form.dataset.sent;
  });

  if (isLive()) connect();
  showPause();
  draw();
})();
