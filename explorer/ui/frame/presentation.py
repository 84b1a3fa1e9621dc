"""Presentation mode: larger type without the sidebar, with a menu of pages beside the title."""

import streamlit as st

from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.ui import messages
from explorer.ui.access import sidebar_choice
from explorer.ui.frame.page_list import PAGES, PageEntry, open_page
from explorer.ui.widgets import downloads

KEY, BACK, NEXT = "p", "b", "n"
START, END, MENU = "Present", "End", "Pages"
HELP = f"Presentation mode: larger type, a menu of pages in place of the sidebar. Press {KEY} to start and to end it."
_LINE = ".st-key-presentation-line"
# the header is transparent and reaches over the button: where it has no button of its own, it lets clicks through
_BESIDE_TITLE = f"""<style>
{_LINE} {{ margin-bottom: -1rem; }}
[data-testid="stHeader"], [data-testid="stHeader"] * {{ pointer-events: none; }}
[data-testid="stHeader"] :is(button, a), [data-testid="stHeader"] :is(button, a) * {{ pointer-events: auto; }}
</style>"""
_LOOK = f"""<style>
html {{ font-size: 21px !important; }}
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stHeader"] {{ display: none; }}
[data-testid="stMainBlockContainer"] {{ max-width: 100%; padding: 0.4rem 1.2rem 2rem !important; }}
[data-testid="stHeading"] h1 {{ padding: 0; }}
{_LINE} button {{ min-height: 1.8rem; padding: 0 0.5rem; }}
.st-key-presentation-Back p, .st-key-presentation-Next p {{ position: absolute; clip-path: inset(50%); }}
@media (max-width: 640px) {{
  html {{ font-size: 18px !important; }}
  {_LINE} kbd {{ display: none; }}
  {_LINE} > :has(> .st-key-presented) {{ flex: 1 1 100%; }}
}}
</style>"""


def title(page: PageEntry, text: str) -> None:
    """The title of a page with its purpose and the button; in the mode with the menu and the choices too."""
    presenting = downloads.presenting()
    st.html(_LOOK if presenting else _BESIDE_TITLE)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="presentation line"):
        st.title(text, width="content" if presenting else "stretch")
        if presenting:
            with st.container(gap=None, key="presented"):
                st.caption(page.purpose)
                st.caption(_choices(page))
            _menu(page)
        else:
            _button()
    if not presenting:
        st.caption(page.purpose)


def _button() -> None:
    presenting = downloads.presenting()
    st.button(
        END if presenting else START,
        icon=":material/cancel_presentation:" if presenting else ":material/present_to_all:",
        on_click=_turn,
        shortcut=KEY,
        key="presentation",
        type="tertiary",
        help=HELP,
    )


def _turn() -> None:
    st.session_state[downloads.PRESENTING] = not downloads.presenting()


def _menu(page: PageEntry) -> None:
    """The pages by name, a button each for the page before and the page after, and the one that ends the mode."""
    place = PAGES.index(page)
    with st.container(horizontal=True, gap="xsmall", width="content"):
        _step("Back", "left", BACK, PAGES[max(place - 1, 0)], page)
        with st.popover(MENU, icon=":material/menu:"), st.container(gap=None):
            for entry in PAGES:
                st.page_link(entry.file, label=entry.title, icon=entry.icon)
        _step("Next", "right", NEXT, PAGES[min(place + 1, len(PAGES) - 1)], page)
        _button()


def _step(label: str, side: str, key: str, to: PageEntry, page: PageEntry) -> None:
    st.button(
        label,
        icon=f":material/chevron_{side}:",
        key=f"presentation {label}",
        on_click=open_page,
        args=(to.file,),
        shortcut=key,
        disabled=to is page,
        help=to.title,
    )


def _choices(page: PageEntry) -> str:
    """What the hidden sidebar says: models A and B, each with its layer & pooling, and the evaluation set."""
    choice, other = sidebar_choice.chosen(), sidebar_choice.model_b()
    sides = [_side("A", choice, page)] + ([_side("B", other, page)] if other else [])
    return " · ".join([*sides, *([messages.plain(choice.evaluation_set.title)] if page.scores else [])])


def _side(name: str, choice: sidebar_choice.Choice, page: PageEntry) -> str:
    model = model_names.shown_name(choice.source)
    if page.scores and choice.reading not in (None, MODEL_DEFAULT):
        model += f", {choice.reading}"
    return f"**{name}** {messages.plain(model)}"
