// Draws every [data-chart] from the JSON at its data-chart-url; redraws in place, zoom kept.
"use strict";

(() => {
  const CONFIG = {
    responsive: true,
    // A chart is an image to a screen reader: nothing in it takes the focus. A double click shows
    // all of it again; its files are offered below it.
    displayModeBar: false,
  };
  const REDRAW_AFTER_MS = 250; // Plotly itself follows the window within 100 ms
  const NARROW = window.matchMedia("(max-width: 600px)");
  const MAX_IF_NARROW = 520; // pixels of height: a chart with many rows fits on a phone
  // Characters of a name beside an axis, and of one in a legend, by the width of the chart in pixels.
  const room = (element) => (element.clientWidth < 480 ? 18 : 40);
  const legendRoom = (element) => (element.clientWidth < 480 ? 28 : 40);
  const MAX_UPRIGHT = 18; // characters of each name below an axis where they do not fit side by side
  const drawn = new Map(); // chart element -> figure as fetched
  const known = new WeakSet(); // chart elements asked for at least once

  // What a variable of the style sheet is here: its two themes are resolved by the browser.
  function colour(name, place = document.body) {
    const probe = document.createElement("i");
    probe.style.color = `var(${name})`;
    place.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  // Long names often differ at their end alone: both ends are kept. An entity is not cut in two.
  function short(text, most) {
    if (typeof text !== "string" || text.length <= most) return text;
    const end = text.includes("&") ? 0 : Math.floor(most * 0.45);
    return `${text.slice(0, most - 1 - end)}…${end ? text.slice(-end) : ""}`;
  }

  // The same of all names of a chart: where both ends are alike, what only one of them has is kept.
  function apart(names, most) {
    const cut = names.map((text) => short(text, most));
    const long = names.filter((text) => typeof text === "string" && text.length > most);
    if (new Set(cut).size === new Set(names).size || long.some((text) => text.includes("&"))) return cut;
    let same = 0;
    while (same < long[0].length && long.every((text) => text[same] === long[0][same])) same += 1;
    const from = Math.max(same - 4, 0);
    const end = from + most - 2;
    return names.map((text) =>
      long.includes(text) ? `…${text.slice(from, end)}${text.length > end ? "…" : ""}` : text,
    );
  }

  // A character takes about 7 pixels.
  const fitsBelow = (names, place) =>
    7 * names.length * Math.max(...names.map((text) => String(text).length)) < place.clientWidth;

  // A title longer than a phone is wide would be cut off at both ends.
  const wrapped = (text) => text.replace(/(.{1,38})(?:\s+|$)/g, "$1<br>").replace(/(<br>)+$/, "");

  // The title of an x axis is as wide as the figure at most, beside the names of its rows: a
  // character takes about 7 pixels.
  function isCut(title, layout, place) {
    const names = (layout.yaxis?.ticktext || []).map((text) => Math.min(text.length, room(place)));
    return 7 * (title.length + Math.max(0, ...names)) > place.clientWidth - 30;
  }

  function themed(layout, place) {
    const [grid, line, text, surface] = ["--grid", "--line", "--text", "--surface"].map((name) =>
      colour(name, place.parentElement || document.body),
    );
    const axis = {
      gridcolor: grid,
      linecolor: line,
      zerolinecolor: line,
      separatethousands: true, // as in the tables
    };
    const styled = {
      ...layout,
      autosize: true,
      uirevision: "keep",
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: text, family: getComputedStyle(document.body).fontFamily, size: 12 },
      hoverlabel: {
        bgcolor: surface,
        bordercolor: line,
        font: { color: text },
        namelength: -1,
      },
    };
    for (const name of Object.keys(layout)) {
      if (!/^[xy]axis/.test(name)) continue;
      styled[name] = { ...layout[name], ...axis };
      const labels = layout[name].ticktext;
      const isX = name.startsWith("x");
      // Names below an axis stand upright if they are too long: they would leave the figure no height.
      const most = isX && labels && !fitsBelow(labels, place) ? MAX_UPRIGHT : room(place);
      if (labels) styled[name].ticktext = apart(labels, most);
      const title = layout[name].title?.text;
      if (!title || !isX) continue;
      if (NARROW.matches || isCut(title, layout, place)) {
        styled[name].title = { ...layout[name].title, text: wrapped(title), font: { size: 11 } };
      }
    }
    return styled;
  }

  // A legend of more than two lines takes no room from the figure: so many pixels more. Plotly
  // gives each name the width of the longest, of about 7 pixels a character beside its line.
  function legendRows(element, { data, layout }) {
    if (layout.showlegend === false) return 0;
    const names = named(data, element).filter((one) => one.name && one.showlegend !== false);
    const longest = Math.max(0, ...names.map((one) => one.name.length));
    const inOneLine = Math.max(1, Math.floor((element.clientWidth - 60) / (45 + 7 * longest)));
    return 19 * Math.max(Math.ceil(names.length / inOneLine) - 2, 0);
  }

  // A legend of long names would leave a narrow chart no room.
  const named = (data, place) => {
    const names = apart(data.map((trace) => trace.name), legendRoom(place));
    return data.map((trace, at) => ({ ...trace, name: names[at] }));
  };

  function draw(element, figure) {
    const isFirst = !drawn.has(element);
    drawn.set(element, figure);
    if (element.closest("details:not([open]), .folded")) return; // drawn when it is opened
    if (!element.classList.contains("js-plotly-plot")) element.replaceChildren();
    // On resize Plotly uses the element's height and forgets the figure's own.
    const most = NARROW.matches ? MAX_IF_NARROW : Infinity;
    const layout = themed(figure.layout, element);
    if (layout.height) layout.height = Math.min(layout.height + legendRows(element, figure), most);
    if (layout.height) element.style.minHeight = `${layout.height}px`;
    Plotly.react(element, named(figure.data, element), layout, CONFIG);
    if (isFirst || !element.dataset.listens) {
      element.dataset.listens = "yes";
      element.on("plotly_click", (click) => {
        const data = click.points[0].customdata;
        const url = Array.isArray(data) ? data[1] : null; // a run's dot carries its page
        if (typeof url === "string" && url.startsWith("/")) window.location.assign(url);
      });
      element.on("plotly_update", () => offer(element)); // another one was chosen from its list
    }
    offer(element);
  }

  // A card without a chart would be as tall as the one beside it.
  function putLast(box) {
    if (!box) return;
    const grid = box.parentElement;
    grid.append(box);
    [...grid.children].forEach(foldIfNarrow);
  }

  async function refresh() {
    const elements = [...document.querySelectorAll("[data-chart]")].filter(
      (element) => !element.closest("details:not([open])") || drawn.has(element),
    );
    elements.forEach((element) => known.add(element));
    foldable();
    for (const element of drawn.keys()) {
      if (!element.isConnected) drawn.delete(element);
    }
    for (const url of new Set(elements.map((element) => element.dataset.chartUrl))) {
      const here = elements.filter((element) => element.dataset.chartUrl === url);
      try {
        const answer = await fetch(url, { headers: { Accept: "application/json" } });
        if (!answer.ok) throw new Error(`${answer.status}`);
        const { charts } = await answer.json();
        for (const element of here) {
          const figure = charts[element.dataset.chart];
          const note = element.querySelector(".placeholder");
          if (figure) draw(element, figure);
          else if (note && note.dataset.empty) {
            note.textContent = note.dataset.empty;
            element.style.minHeight = "0"; // no room for what does not come
            putLast(element.closest("[data-empty-last] > *"));
          }
        }
      } catch {
        for (const element of here) {
          const note = element.querySelector(".placeholder");
          if (note) note.textContent = "The chart could not be loaded. Reload the page to try again.";
        }
      }
    }
  }

  // --- the same figures as a table and as files ---------------------------------------------

  function plainText(markup) {
    const text = String(markup ?? "").replace(/<br>/g, " ");
    return new DOMParser().parseFromString(text, "text/html").body.textContent.trim();
  }

  const axisOf = (layout, trace, letter) =>
    layout[`${letter}axis${(trace[`${letter}axis`] || letter).slice(1)}`] || {};

  // The words at a place of an axis that has words; else the value itself. The texts of a
  // logarithmic axis are numbers.
  function label(axis, value) {
    if (!axis.ticktext || axis.type === "log" || typeof value !== "number") return value;
    const at = axis.tickvals.findIndex((place) => Math.abs(place - value) <= 0.45);
    return at < 0 ? value : plainText(axis.ticktext[at]);
  }

  const rounded = (value) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);

  // Of what is chosen from a list in the chart, what is shown now.
  function tableOf(element) {
    const { data, layout: first } = drawn.get(element);
    const layout = first.updatemenus ? element.layout : first;
    const isShown = (trace, at) => element.data[at].visible !== false
      && trace.x && trace.y && trace.x.some((x) => x !== null);
    const shown = data.filter(isShown);
    const titles = (letter) => [
      ...new Set(shown.map((trace) => plainText(axisOf(layout, trace, letter).title?.text))),
    ].filter(Boolean);
    const yTitles = titles("y");
    const hasEnds = shown.some((trace) => trace.error_x?.array || trace.error_y?.array);
    const hasSeries = shown.length > 1;
    const hasNames = shown.some((trace) => trace.ids); // of configs
    const columns = [
      ...(hasNames ? ["Config"] : []),
      ...(hasSeries ? ["Series"] : []),
      titles("x")[0] || "Name",
      yTitles.length > 1 ? "Value" : yTitles[0] || "Name",
      ...(hasEnds ? ["Interval from", "to"] : []),
    ];
    const rows = [];
    for (const trace of shown) {
      const [xAxis, yAxis] = [axisOf(layout, trace, "x"), axisOf(layout, trace, "y")];
      const figure = yTitles.length > 1 ? plainText(yAxis.title?.text) : "";
      const series = [plainText(trace.name), figure].filter(Boolean).join(", ");
      const bars = trace.error_x?.array ? trace.error_x : trace.error_y;
      const along = trace.error_x?.array ? trace.x : trace.y;
      trace.x.forEach((x, at) => {
        if (x === null || trace.y[at] === null || trace.y[at] === undefined) return;
        const ends = hasEnds ? ["", ""] : [];
        if (hasEnds && bars?.array) {
          const down = (bars.arrayminus || bars.array)[at];
          if (down || bars.array[at]) {
            ends[0] = rounded(along[at] - down);
            ends[1] = rounded(along[at] + bars.array[at]);
          }
        }
        rows.push([
          ...(hasNames ? [plainText(trace.ids?.[at])] : []),
          ...(hasSeries ? [series] : []),
          rounded(label(xAxis, x)),
          rounded(label(yAxis, trace.y[at])),
          ...ends,
        ]);
      });
    }
    return { columns, rows };
  }

  // A spreadsheet would run what begins like a formula.
  const cell = (value) => {
    const text = typeof value === "string" && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  function save(text, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  function saveCsv(element) {
    if (element.dataset.chartCsv) {
      window.location.assign(element.dataset.chartCsv); // all seconds, not only those drawn
      return;
    }
    const { columns, rows } = tableOf(element);
    const text = [columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
    save(`${text}\r\n`, "text/csv", `${element.dataset.chart}.csv`);
  }

  async function saveSvg(element) {
    const figure = drawn.get(element);
    const layout = { ...themed(figure.layout, element), paper_bgcolor: colour("--surface") };
    const height = figure.layout.height || 400;
    await Plotly.downloadImage(
      { data: figure.data, layout },
      { format: "svg", filename: element.dataset.chart, width: 1000, height },
    );
  }

  // Four significant digits, and all whole ones; files have more.
  const figures = new Intl.NumberFormat("en", {
    maximumFractionDigits: 0, maximumSignificantDigits: 4, roundingPriority: "morePrecision",
  });

  function fillTable(element, details) {
    const { columns, rows } = tableOf(element);
    const table = document.createElement("table");
    table.className = "values";
    const head = table.createTHead().insertRow();
    for (const name of columns) {
      const th = document.createElement("th");
      th.scope = "col";
      th.textContent = name;
      head.append(th);
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach((value) => {
        const td = line.insertCell();
        td.textContent = typeof value === "number" ? figures.format(value) : value;
        if (typeof value === "number") td.className = "num";
      });
    }
    const box = document.createElement("div");
    box.className = "scroll chart-table";
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", `Figures of the chart ${titleOf(element)}`);
    box.append(table);
    details.querySelector(".scroll")?.remove();
    details.append(box);
  }

  const titleOf = (element) =>
    element.parentElement.querySelector("h2, h3")?.textContent.trim() || element.dataset.chart;

  // Once below each chart that is drawn: its figures as a table, and as files.
  function offer(element) {
    const there = element.nextElementSibling;
    if (there?.classList.contains("chart-tools")) {
      const details = there.querySelector("details");
      if (details.open) fillTable(element, details);
      return;
    }
    const tools = document.createElement("div");
    tools.className = "chart-tools";
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Table";
    summary.setAttribute("aria-label", `Table of the chart ${titleOf(element)}`);
    details.append(summary);
    details.addEventListener("toggle", () => details.open && fillTable(element, details));
    for (const [word, work] of [["SVG", saveSvg], ["CSV", saveCsv]]) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "link";
      button.textContent = word;
      button.setAttribute("aria-label", `Download ${titleOf(element)} as ${word}`);
      button.addEventListener("click", () => work(element));
      tools.append(button);
    }
    tools.append(details);
    element.after(tools);
  }

  // --- where the window is narrow, all charts of a group but the first are folded ------------

  function foldable() {
    for (const grid of document.querySelectorAll(".chart-grid")) {
      for (const box of grid.children) {
        const heading = box.querySelector(":scope > h3");
        if (!heading || !box.querySelector(".chart") || heading.querySelector("button.fold")) continue;
        const button = document.createElement("button");
        button.type = "button";
        button.className = "fold";
        button.append(...heading.childNodes);
        heading.append(button);
        button.addEventListener("click", () => {
          const isFolded = !box.classList.contains("folded");
          if (!isFolded && NARROW.matches) foldOthers(box);
          box.toggleAttribute("data-opened", !isFolded);
          fold(box, isFolded);
          button.scrollIntoView({ block: "nearest" });
        });
        foldIfNarrow(box);
      }
    }
  }

  function fold(box, isFolded) {
    box.classList.toggle("folded", isFolded);
    box.querySelector("button.fold").setAttribute("aria-expanded", String(!isFolded));
    if (!isFolded) drawWaiting();
  }

  // On a phone one chart of a group at a time: the next one takes the place of the last.
  function foldOthers(box) {
    for (const other of box.parentElement.children) {
      if (other === box || !other.querySelector(":scope > h3 > button.fold")) continue;
      other.removeAttribute("data-opened");
      fold(other, true);
    }
  }

  // What was opened by hand stays open.
  function foldIfNarrow(box) {
    const grid = box.parentElement;
    const shown = grid.querySelector(":scope > [data-opened]") || grid.firstElementChild;
    fold(box, NARROW.matches && box !== shown);
  }

  // What was fetched while it could not be seen.
  function drawWaiting() {
    for (const [element, figure] of drawn) {
      if (element.isConnected && !element.classList.contains("js-plotly-plot")) draw(element, figure);
    }
  }

  document.addEventListener("toggle", (event) => {
    if (!event.target.open || !event.target.querySelector("[data-chart]")) return;
    drawWaiting();
    const isNew = (one) => !known.has(one) && !one.closest("details:not([open])");
    if ([...event.target.querySelectorAll("[data-chart]")].some(isNew)) refresh();
  }, true);

  // When the window changes, Plotly keeps the room of a legend with more or fewer lines than it
  // has now, even when it redraws. After the last change such charts are drawn from scratch.
  let redrawing = 0;
  window.addEventListener("resize", () => {
    clearTimeout(redrawing);
    redrawing = setTimeout(() => {
      for (const [element, figure] of [...drawn]) {
        if (!element.isConnected || !element.querySelector(".legend")) continue;
        Plotly.purge(element);
        delete element.dataset.listens;
        draw(element, figure);
      }
    }, REDRAW_AFTER_MS);
  });
  // On paper each chart has half of the width of a sheet.
  const PAPER = { width: 340, height: 260 };
  const sized = (size) => {
    for (const [element, figure] of drawn) {
      if (!element.matches(".js-plotly-plot")) continue;
      Plotly.relayout(element, size || { width: null, height: figure.layout.height || null, autosize: true });
    }
  };
  window.addEventListener("beforeprint", () => sized(PAPER));
  window.addEventListener("afterprint", () => sized(null));
  const redrawAll = () => drawn.forEach((figure, element) => draw(element, figure));
  document.addEventListener("study-changed", refresh);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  NARROW.addEventListener("change", () => {
    document.querySelectorAll(".chart-grid > :has(> h3 > button.fold)").forEach(foldIfNarrow);
    redrawAll();
  });
  // A run that has just ended brings its chart boxes with it.
  document.addEventListener("htmx:afterSettle", () => {
    const isNew = (element) => !known.has(element) && !element.closest("details:not([open])");
    if ([...document.querySelectorAll("[data-chart]")].some(isNew)) refresh();
  });
  refresh();
})();
