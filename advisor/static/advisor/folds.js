// What is folded for a phone is open where the window is wide. Comes before the charts: those of a
// folded part are not fetched.
"use strict";

(() => {
  const WIDE = window.matchMedia("(min-width: 601px)");
  const known = new Set(); // of what was opened once, the reader decides

  const open = () => {
    if (!WIDE.matches) return;
    for (const part of document.querySelectorAll("details[data-open-if-wide]")) {
      if (known.has(part.id)) continue;
      known.add(part.id);
      part.open = true;
    }
  };
  WIDE.addEventListener("change", open);
  document.addEventListener("htmx:afterSettle", open);
  open();
})();
