"""Show a page without a browser, and check that what it says is no exception and no long error."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from explorer.ui.access import jobs
from tests.fuzz.cases import WAITING, Fault, check_line

APP = Path(__file__).parents[2] / "app.py"


def shown(page: str, **address: str) -> AppTest:
    """The page at an address, after one run."""
    _prepare()
    app = AppTest.from_file(str(APP), default_timeout=WAITING)
    for name, value in address.items():
        app.query_params[name] = value
    try:
        app.switch_page(f"pages/{page}.py").run()
        for exception in app.exception:
            here = [line.strip() for line in exception.stack_trace if "/explorer/" in line]
            raise Fault(f"{page}: {exception.value} {here[-1:]}")
        for error in app.error:
            check_line(error.value.replace("\\", ""))  # without the marks that keep it from being markup
    finally:
        jobs.stop_all()
        for key in list(jobs._jobs):  # a job that goes on would be shown to the next case
            jobs.forget(key)
    return app


@cache
def _prepare() -> None:
    """Show errors in full, and keep Streamlit from searching all installed packages at every visit."""
    from streamlit import config
    from streamlit.components.v2 import manifest_scanner

    config.set_option("client.showErrorDetails", "full")
    found: Any = cache(manifest_scanner.scan_component_manifests)
    manifest_scanner.scan_component_manifests = found
