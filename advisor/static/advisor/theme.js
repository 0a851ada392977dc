// The theme that was chosen, before anything is painted; else the system's.
"use strict";

(() => {
  const KEY = "theme";
  const root = document.documentElement;
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the choice holds for this page
    }
  };
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  function follow(theme) {
    if (theme === "dark" || theme === "light") root.dataset.theme = theme;
    else delete root.dataset.theme;
  }

  function show() {
    document.querySelectorAll("[data-theme-switch]").forEach((button) => {
      button.setAttribute("aria-pressed", String(isDark()));
    });
    document.dispatchEvent(new Event("theme-changed"));
  }

  follow(stored());
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    const next = isDark() ? "light" : "dark";
    // Back at what the system has, the system decides again.
    const isOwn = (next === "dark") !== system.matches;
    try {
      if (isOwn) localStorage.setItem(KEY, next);
      else localStorage.removeItem(KEY);
    } catch {
      // see above
    }
    follow(isOwn ? next : null);
    show();
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY && event.key !== null) return;
    follow(stored());
    show();
  });
  system.addEventListener("change", show);
  document.addEventListener("DOMContentLoaded", show);
})();
