"""What axe-core reports of a page that is open in the browser.

Half of its time would go into contrasts: it works out again for each text what lies below it. A
contrast depends on little, here called a look: colour, size and weight of the text, and what its
ancestors lay under it. Of each look one text is judged, however many pages have it.
"""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

_CONTRAST = "color-contrast"
_ALL_BUT_CONTRAST = {"resultTypes": ["violations"], "rules": {_CONTRAST: {"enabled": False}}}
_FOUND = "async (options) => (await axe.run(options)).violations"
# What is out of the flow may lie above anything: each such element is a layer of its own. Texts
# that axe-core does not judge, such as one of a single letter, settle nothing: another one of the
# same look is tried. It never judges a text in a drawing, whose background it cannot know.
_CONTRASTS_OF_NEW_LOOKS = """async ([rule, settled]) => {
    const layers = new Map([[null, ""]]);
    const isShifted = (style) => ["absolute", "fixed", "sticky"].includes(style.position)
        || style.transform !== "none" || style.float !== "none"
        || [style.marginTop, style.marginLeft, style.marginRight, style.marginBottom]
            .some((margin) => margin.startsWith("-"))
        || (style.position === "relative" && [style.top, style.left]
            .some((inset) => inset !== "auto" && inset !== "0px"));
    function under(one) {
        if (!layers.has(one)) {
            const style = getComputedStyle(one);
            const layer = [style.backgroundColor, style.backgroundImage, style.opacity,
                style.filter, style.mixBlendMode].join();
            const isClear = layer === "rgba(0, 0, 0, 0),none,1,none,normal";
            const place = isShifted(style) ? `${location.href} ${layers.size}` : "";
            layers.set(one, under(one.parentElement) + (isClear ? "" : `/${layer}`) + place);
        }
        return layers.get(one);
    }
    const looks = new Map();
    for (const one of document.querySelectorAll("body *")) {
        const isText = (part) => part.nodeType === Node.TEXT_NODE && part.data.trim();
        const hasText = [...one.childNodes].some(isText) || one.matches("input, select, textarea");
        if (one.ownerSVGElement || !hasText || !one.checkVisibility()) continue;
        const style = getComputedStyle(one);
        const text = [style.color, style.webkitTextFillColor, style.fontSize, style.fontWeight,
            style.textShadow].join();
        const look = `${text} on ${under(one)}`;
        if (!settled.includes(look)) looks.set(look, [...looks.get(look) ?? [], one]);
    }
    axe.configure({ rules: [{ id: rule, selector: "[data-judged]" }] });
    const violations = [];
    async function judge(chosen) {
        const asked = [...looks].flatMap(([look, all]) => chosen(all).map((one) => [one, look]));
        if (!asked.length) return;
        asked.forEach(([one]) => one.setAttribute("data-judged", ""));
        const found = await axe.run({ runOnly: [rule], elementRef: true });
        asked.forEach(([one]) => one.removeAttribute("data-judged"));
        const lookOf = new Map(asked);
        for (const result of [...found.passes, ...found.violations]) {
            result.nodes.forEach((node) => looks.delete(lookOf.get(node.element)));
        }
        violations.push(...found.violations);
    }
    const all = [...looks.keys()];
    await judge((texts) => texts.slice(0, 1));
    await judge((texts) => texts.slice(1));
    return [violations, all.filter((look) => !looks.has(look))];
}"""


class Axe:
    """Judges one page after the other."""

    def __init__(self) -> None:
        self._settled: list[str] = []

    def load(self, page: Page) -> None:
        """Into the page that is open: before all else."""
        page.evaluate(AXE_SCRIPT)

    def load_always(self, page: Page) -> None:
        """Into each page that is opened from now on: the script is sent to the browser once."""
        page.add_init_script(AXE_SCRIPT)

    def complaints(self, page: Page) -> list[str]:
        """Of all but contrasts: rule, element and why."""
        return _shown(page.evaluate(_FOUND, _ALL_BUT_CONTRAST))

    def contrasts(self, page: Page) -> list[str]:
        """In the theme that the page has now, of looks that no page before had."""
        violations, new = page.evaluate(_CONTRASTS_OF_NEW_LOOKS, [_CONTRAST, self._settled])
        self._settled += new
        return _shown(violations)


def _shown(violations: list[dict[str, Any]]) -> list[str]:
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in violations
        for node in one["nodes"]
    ]
