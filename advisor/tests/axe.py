"""What axe-core reports of a page that is open in the browser."""

from __future__ import annotations

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

CONTRAST = "color-contrast"
_FOUND = "async (options) => (await axe.run(options)).violations"


def complaints(page: Page, *rules: str) -> list[str]:
    """Return rule, element and reason of each violation, by default of all rules."""
    page.evaluate(AXE_SCRIPT)
    only = {"runOnly": list(rules)} if rules else {}
    violations = page.evaluate(_FOUND, {"resultTypes": ["violations"], **only})
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in violations
        for node in one["nodes"]
    ]
