// Draws every [data-chart] from the JSON at its data-chart-url; redraws in place, zoom kept.
"use strict";

(() => {
  const CONFIG = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"],
  };
  const REDRAW_AFTER_MS = 250; // Plotly itself follows the window within 100 ms
  const drawn = new Map(); // chart element -> figure as fetched
  const known = new WeakSet(); // chart elements asked for at least once

  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function themed(layout) {
    const axis = {
      gridcolor: colour("--grid"),
      linecolor: colour("--line"),
      zerolinecolor: colour("--line"),
    };
    const styled = {
      ...layout,
      autosize: true,
      uirevision: "keep",
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--text"), family: getComputedStyle(document.body).fontFamily, size: 12 },
      hoverlabel: {
        bgcolor: colour("--surface"),
        bordercolor: colour("--line"),
        font: { color: colour("--text") },
      },
    };
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis/.test(name)) styled[name] = { ...layout[name], ...axis };
    }
    return styled;
  }

  function draw(element, figure) {
    const isFirst = !drawn.has(element);
    if (isFirst) element.replaceChildren();
    drawn.set(element, figure);
    // On resize Plotly uses the element's height and forgets the figure's own.
    if (figure.layout.height) element.style.minHeight = `${figure.layout.height}px`;
    Plotly.react(element, figure.data, themed(figure.layout), CONFIG);
    if (isFirst) {
      element.on("plotly_click", (click) => {
        const data = click.points[0].customdata;
        const url = Array.isArray(data) ? data[1] : null; // a run's dot carries its page
        if (typeof url === "string" && url.startsWith("/")) window.location.assign(url);
      });
    }
  }

  async function refresh() {
    const elements = [...document.querySelectorAll("[data-chart]")];
    elements.forEach((element) => known.add(element));
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
          else if (note && note.dataset.empty) note.textContent = note.dataset.empty;
        }
      } catch {
        for (const element of here) {
          const note = element.querySelector(".placeholder");
          if (note) note.textContent = "The chart could not be loaded. Reload the page to try again.";
        }
      }
    }
  }

  // When the window changes, Plotly keeps the room of a legend with more or fewer lines than it
  // has now, even when it redraws. After the last change such charts are drawn from scratch.
  let redrawing = 0;
  window.addEventListener("resize", () => {
    clearTimeout(redrawing);
    redrawing = setTimeout(() => {
      for (const [element, figure] of [...drawn]) {
        if (!element.isConnected || !element.querySelector(".legend")) continue;
        Plotly.purge(element);
        drawn.delete(element);
        draw(element, figure);
      }
    }, REDRAW_AFTER_MS);
  });
  document.addEventListener("study-changed", refresh);
  // A run that has just ended brings its chart boxes with it.
  document.addEventListener("htmx:afterSettle", () => {
    const isNew = (element) => !known.has(element);
    if ([...document.querySelectorAll("[data-chart]")].some(isNew)) refresh();
  });
  window
    .matchMedia("(prefers-color-scheme: dark)")
    .addEventListener("change", () => drawn.forEach((figure, element) => draw(element, figure)));
  refresh();
})();
