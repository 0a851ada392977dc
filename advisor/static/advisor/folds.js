// What is folded for a phone is open where the window is wide. Comes before the charts: those of a
// folded part are not fetched.
"use strict";

(() => {
  const WIDE = window.matchMedia("(min-width: 601px)");
  const closed = new Set(); // by the reader, who decides from then on

  const open = () => {
    if (!WIDE.matches) return;
    for (const part of document.querySelectorAll("details[data-open-if-wide]")) {
      if (!closed.has(part.id)) part.open = true;
    }
  };
  document.addEventListener("toggle", ({ target }) => {
    if (!target.isConnected || !target.hasAttribute("data-open-if-wide")) return;
    if (target.open) closed.delete(target.id);
    else closed.add(target.id);
  }, true);
  WIDE.addEventListener("change", open);
  document.addEventListener("htmx:afterSettle", open);
  open();
})();
