"""What becomes of a click that asks for something which may be refused?"""

from __future__ import annotations

from collections.abc import Callable

from explorer.errors import StrataError
from explorer.ui import notices


def attempt(act: Callable[[], object]) -> None:
    """Do it, or tell why it cannot be done; in a callback, what is told stands above the page."""
    try:
        act()
    except StrataError as error:
        notices.trouble(error)
