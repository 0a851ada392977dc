// Page behaviour in addition to htmx. No inline code anywhere: the content security policy forbids it.
"use strict";

(() => {
  const openDetails = new Set();

  // A hidden tab does not poll; when it is shown again it polls at once.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const polls = event.detail.elt.hasAttribute("data-poll");
    if (polls && document.visibilityState !== "visible") event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState !== "visible") return;
    document.querySelectorAll("[data-poll]").forEach((elt) => htmx.trigger(elt, "refresh"));
  });

  // The session expired: a poll got the login page, which belongs in the whole window.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const answered = event.detail.xhr.responseURL;
    const login = document.body.dataset.loginUrl;
    if (answered && new URL(answered).pathname === login) {
      event.detail.shouldSwap = false;
      window.location.reload();
    }
  });

  const offline = (isOffline) => {
    const notice = document.getElementById("offline");
    if (notice) notice.hidden = !isOffline;
  };
  document.addEventListener("htmx:sendError", () => offline(true));
  document.addEventListener("htmx:responseError", () => offline(true));
  document.addEventListener("htmx:afterOnLoad", () => offline(false));

  // Screen readers announce a change of run or state, not every tick of the clock.
  const announce = () => {
    const news = document.querySelector("[data-announce]");
    const announcer = document.getElementById("announcer");
    if (news && announcer && announcer.textContent !== news.dataset.announce) {
      announcer.textContent = news.dataset.announce;
    }
  };

  // Details that a reader opened stay open after a swap.
  document.addEventListener("toggle", (event) => {
    const { id, open } = event.target;
    if (!id) return;
    if (open) openDetails.add(id);
    else if (event.target.isConnected) openDetails.delete(id);
  }, true);
  document.addEventListener("htmx:afterSettle", () => {
    announce();
    openDetails.forEach((id) => {
      const details = document.getElementById(id);
      if (details && !details.open) details.open = true;
    });
  });

  // A link to folded details, or into them, unfolds them.
  const unfold = (hash) => {
    let target = hash.length > 1 && document.getElementById(hash.slice(1));
    while ((target = target?.closest?.("details"))) {
      target.open = true;
      target = target.parentElement;
    }
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link) unfold(link.getAttribute("href"));
  });
  unfold(window.location.hash);

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });

  // The address of a filter gets shared: what is not filtered by is not in it.
  document.addEventListener("formdata", ({ target, formData }) => {
    if (!target.hasAttribute("data-short-address")) return;
    for (const [name, value] of [...formData]) {
      if (value === "") formData.delete(name);
    }
  });

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) await copyText(copy);
    const link = event.target.closest("[data-copy-link]");
    if (link) await copyLink(link);
    if (event.target.closest("[data-print]")) window.print();
    const more = event.target.closest("[data-add]");
    if (more) addOne(more);
  });

  // A long list of boxes is shortened to those with every word that is typed. Ticked boxes stay.
  document.addEventListener("input", (event) => {
    const id = event.target.dataset.shortens;
    if (!id) return;
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    const boxes = [...document.getElementById(id).children];
    const matches = (box) => words.every((word) => box.textContent.toLowerCase().includes(word));
    boxes.forEach((box) => { box.hidden = !matches(box) && !box.querySelector(":checked"); });
    const found = `${boxes.filter(matches).length} of ${boxes.length} found. Ticked boxes stay.`;
    document.getElementById(`${id}-found`).textContent = words.length ? found : "";
  });

  async function copyText(button) {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "Copied";
    } catch {
      // No clipboard without HTTPS: select the text for Ctrl+C.
      window.getSelection().selectAllChildren(source);
      button.textContent = "Selected: press Ctrl+C";
    }
  }

  async function copyLink(button) {
    try {
      await navigator.clipboard.writeText(window.location.href);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copy it from the address bar"; // no clipboard without HTTPS
    }
  }

  function addOne(button) {
    const template = document.getElementById(button.dataset.add);
    const list = button.previousElementSibling;
    const number = String(list.children.length + 1);
    const copy = template.content.cloneNode(true);
    copy.querySelectorAll("[id], [for]").forEach((elt) => {
      for (const name of ["id", "for"]) {
        const value = elt.getAttribute(name);
        if (value) elt.setAttribute(name, value.replace("__n__", number));
      }
    });
    list.append(copy);
    list.lastElementChild.querySelector("input").focus();
  }

  // The form of a new study shows the facts and sizes of the selected template.
  const showTemplate = () => {
    const values = document.getElementById("template-values");
    const choice = document.getElementById("id_template");
    if (!values || !choice) return;
    // What does not go with the template is not sent either: it would be refused unseen.
    const showIf = (part, isShown) => {
      part.hidden = !isShown;
      part.querySelectorAll("input, select, textarea").forEach((input) => { input.disabled = !isShown; });
    };
    document.querySelectorAll("[data-template]").forEach((part) => {
      showIf(part, part.dataset.template === choice.value);
    });
    document.querySelectorAll("[data-not-template]").forEach((part) => {
      showIf(part, part.dataset.notTemplate !== choice.value);
    });
    for (const [name, size] of Object.entries(JSON.parse(values.textContent)[choice.value])) {
      document.getElementById(`id_${name}`).placeholder = size;
    }
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "id_template") showTemplate();
  });
  // Sizes may scale with the CPUs of the hosts, which may be others by now.
  document.addEventListener("htmx:afterSettle", showTemplate);
  showTemplate(); // a browser may restore another choice than the page was rendered with

  // What is typed into a long form outlives a session that ends: it is kept in this tab only, and
  // filled in again after the log-in. Files have to be chosen again.
  const draftForm = document.querySelector("form[data-draft]");
  if (draftForm) {
    const key = `draft:${draftForm.dataset.draft}`;
    const isDrafted = (field) => field.name && !["file", "hidden", "submit"].includes(field.type);
    const keepDraft = () => {
      const values = [...draftForm.elements].filter(isDrafted).map((field) => (
        [field.name, field.type === "checkbox" || field.type === "radio" ? [field.value, field.checked] : field.value]
      ));
      try {
        window.sessionStorage.setItem(key, JSON.stringify({ address: window.location.search, values }));
      } catch { /* full or forbidden: then nothing is kept */ }
    };
    const fillIn = (values) => {
      const more = draftForm.querySelector("[data-add]");
      const texts = values.filter(([name]) => name === "config_text").length;
      const names = () => draftForm.querySelectorAll("[name='config_text']").length;
      while (more && names() < Math.min(texts, 20)) addOne(more);
      const left = [...draftForm.elements].filter(isDrafted);
      for (const [name, value] of values) {
        const at = left.findIndex((field) => (
          field.name === name && (!Array.isArray(value) || field.value === value[0])
        ));
        if (at < 0) continue;
        const [field] = left.splice(at, 1);
        if (Array.isArray(value)) field.checked = value[1];
        else field.value = value;
        if (value && field.closest("details") && field.defaultValue !== field.value) field.closest("details").open = true;
      }
    };
    const login = document.body.dataset.loginUrl;
    const cameFrom = document.referrer ? new URL(document.referrer) : null;
    const draft = JSON.parse(window.sessionStorage.getItem(key) || "null");
    if (draft && cameFrom && cameFrom.pathname === login) {
      if (draft.address !== window.location.search) window.location.replace(draft.address || window.location.pathname);
      else {
        fillIn(draft.values);
        showTemplate();
        window.scrollTo(0, 0);
        // Once htmx listens.
        window.addEventListener("load", () => draftForm.dispatchEvent(new Event("change", { bubbles: true })));
      }
    } else {
      window.sessionStorage.removeItem(key);
    }
    draftForm.addEventListener("input", keepDraft);
    draftForm.addEventListener("change", keepDraft);
  }

  // On a phone the menu is one line that scrolls.
  const here = document.querySelector(".top nav [aria-current]");
  if (here) here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 60;

  announce();
})();
