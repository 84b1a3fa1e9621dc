"""Draw what surrounds every page: the menu, the sidebar, title and purpose; guard links that open a page first."""

import importlib
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer.errors import StrataError
from explorer.places import cache_fault, refused
from explorer.ui import messages
from explorer.ui.frame import presentation, sidebar
from explorer.ui.frame.page_list import PAGES, go_on, named
from explorer.ui.runs import run_status, training_queue
from explorer.ui.widgets import clicks, downloads

# a file, not a `:material/…:` name: for that the browser would ask a server on the network
ICON = Path(__file__).parent / "icon.svg"

# Streamlit leaves 96 pixels above a title; on a narrow screen the key that opens the sidebar is there. Its selected
# segments (dark) and hover texts of figures (light) have less contrast than 4.5:1, so both get the colour of text.
_LOOK = """<style>
[data-testid="stMainBlockContainer"] { padding-top: 2.25rem; padding-bottom: 3rem; }
@media (max-width: 640px) { [data-testid="stMainBlockContainer"] { padding-top: 3.75rem; } }
[data-testid="stHeader"] { background: transparent; height: 2.5rem; }
[data-testid="stHeading"] h1 { padding: 0.25rem 0; }
[data-testid="stHeading"] h2, [data-testid="stHeading"] h3 { padding: 0.5rem 0 0.25rem; }
[data-testid="stSidebarHeader"] { height: 2.5rem; margin-bottom: 0; padding-top: 0.5rem; }
button[role="radio"][aria-checked="true"], button[role="radio"][aria-checked="true"] * { color: inherit !important; }
[data-testid="stSliderThumbValue"], [data-testid="stSliderThumbValue"] * { color: inherit !important; }
.js-plotly-plot .hoverlayer .hovertext text { fill: currentColor !important; }
[data-testid="stMetric"] :is(p, [data-testid="stMarkdownContainer"]) { white-space: normal; overflow: visible; }
[data-testid="stMetric"] { overflow-wrap: anywhere; }
[data-testid="stFileUploaderDropzoneInstructions"] * { white-space: normal; overflow: visible; }
[data-testid="stSelectbox"] input { text-overflow: ellipsis; }
[role="option"] > div { white-space: normal !important; overflow-wrap: anywhere; line-height: 1.25; }
body:has([data-testid="stSidebar"] input[aria-expanded="true"]) [data-testid="stSelectboxVirtualDropdown"] {
  width: min(24rem, calc(100vw - 4rem)) !important; }
</style>"""
# A ring has the colour of the text and is inside of its element, where no box cuts it off; of what is filled with a
# colour it is outside. That of a field or of a tick box is around what is drawn of it.
_RING = """<style>
:focus-visible, :is(div, label):has(> input:focus-visible, > textarea:focus-visible) {
  outline: 2px solid currentColor !important; outline-offset: -2px !important; }
:is(input, textarea):focus-visible { outline: none !important; }
:is([data-testid^="stBaseButton-primary"], [role="slider"], [data-tag]):focus-visible {
  outline: 2px solid #27827f !important; outline-offset: 1px !important; }
</style>"""
# Streamlit's own dialog asks whether there is an internet connection, which Strata does not need. A server that is back
# within two seconds is not missed.
_STOPPED = """<style>
@keyframes strata-stopped { to { visibility: visible; } }
[data-testid="stElementContainer"]:has(> * > .strata-stopped) { position: absolute; }
.strata-stopped { display: none; visibility: hidden; position: fixed; z-index: 999999; top: 0.75rem; left: 50%;
  transform: translateX(-50%); width: min(42rem, calc(100vw - 2rem)); padding: 0.75rem 1rem; border-radius: 0.4rem;
  background: #0f6b70; color: #ffffff; }
.strata-stopped code { color: inherit; background: none; padding: 0; white-space: nowrap; }
[data-test-connection-state]:not([data-test-connection-state="CONNECTED"]) .strata-stopped {
  display: block; animation: strata-stopped 0s 2s forwards; }
body:has([data-test-connection-state]:not([data-test-connection-state="CONNECTED"])) [data-testid="stDialog"] {
  display: none; }
</style><div class="strata-stopped" role="status"><b>Strata has stopped.</b> Start it again with
<code>make run PORT={port}</code> or <code>python -m explorer app --port {port}</code>; this page reconnects by
itself.</div>"""
NAME = "Strata"
_FRAMED, _ADDRESS = "_frame", "_page"
TRAIN_PAGE = "pages/train.py"
TRAINING = "Training: {}"


def in_a_visit() -> bool:
    """Whether this is the run of a page for a visitor; the server imports app.py too, once."""
    return get_script_run_ctx(suppress_warning=True) is not None


def run() -> None:
    """All of app.py in a visit: the page that was asked for, inside the frame."""
    page = _opened()
    st.session_state[_ADDRESS] = page.url_path
    _run_again_when_reconnected()
    try:
        with st.sidebar:
            with sidebar.draw(scores=named(page.url_path).scores):
                training_line()
            if fault := cache_fault():
                st.warning(messages.plain(fault), icon=":material/block:")
        st.session_state[_FRAMED] = True
        with clicks.page_run():
            page.run()
    except StrataError as error:  # such as a folder of Strata that cannot be read
        messages.trouble(error)
    except OSError as error:
        messages.trouble(refused(error))


def enter() -> None:
    """First statement of every page: its title and purpose, inside the frame.

    Until some visitor of this process has opened the menu, Streamlit runs a page that is asked for by its
    address in place of app.py. Opening the menu here and starting over puts the frame around it.
    """
    if not st.session_state.pop(_FRAMED, False):  # set anew by every run of app.py
        _opened()
        st.rerun()
    go_on()
    page = named(st.session_state[_ADDRESS])
    st.html(f"{_LOOK}{_RING}<style>{downloads.LOOK}</style>")
    st.html(_STOPPED.replace("{port}", str(st.get_option("server.port"))))
    presentation.title(page, NAME if page is PAGES[0] else page.title)


def _run_again_when_reconnected() -> None:
    """Have an open page run again after its server was restarted.

    The new server does not know the buttons of the page until it has run it, and would ignore the first click. The
    browser asks for a run only if something on the page is updated at intervals.
    """
    st.fragment(lambda: None, run_every="1h")()


def _opened() -> StreamlitPage:
    # whole, before plotly: that takes a pandas that another thread has half imported for a whole one, and fails
    importlib.import_module("pandas")
    st.set_page_config(page_icon=str(ICON), layout="wide")  # before the menu, which would set the icon of the page
    menu: dict[str, list[StreamlitPage]] = {}
    for page in PAGES:
        entry = st.Page(page.file, title=page.title, icon=page.icon, default=page is PAGES[0])
        menu.setdefault(page.group, []).append(entry)
    opened = st.navigation(menu)
    st.set_page_config(page_title=NAME if named(opened.url_path) is PAGES[0] else f"{opened.title} · {NAME}")
    return opened


def training_line() -> None:
    """A link to the running run that updates itself; nothing, and no polling, when no run is training."""
    if training_queue.under_way():
        st.fragment(_live_runs, run_every=2.0)()


def _live_runs() -> None:
    live = training_queue.under_way()
    if not live:
        st.rerun()  # the whole page: with it this fragment's clock goes
    run, status = live[0]
    label = TRAINING.format(run_status.place(status)) + (f" (+{len(live) - 1})" if len(live) > 1 else "")
    st.page_link(
        TRAIN_PAGE,
        label=messages.plain(label),
        icon=":material/model_training:",
        query_params={"run": run.name},
        help=messages.plain(run.name),
    )
