"""Draw what surrounds every page: menu, sidebar, title and purpose, larger in presentation mode without the sidebar."""

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.scriptrunner import get_script_run_ctx

from explorer import fair_share
from explorer.encoding.locate import model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT
from explorer.errors import StrataError
from explorer.places import cache_fault, refused
from explorer.training.record import runs
from explorer.ui import messages
from explorer.ui.access import selection, sidebar_choice
from explorer.ui.frame import sidebar, talk_drawer, talk_export, talk_steps
from explorer.ui.frame.page_list import PAGES, PageEntry, named, open_page, open_requested_page
from explorer.ui.runs import run_status, training_queue
from explorer.ui.widgets import controls, downloads, first_screen

# a file, not a `:material/…:` name: for that the browser would ask a server on the network
ICON = Path(__file__).parent / "icon.svg"

# Streamlit leaves 96 pixels above a title. Here title, purpose and buttons are one line, as high as the menu and as the
# key that opens the sidebar. Selected segments (dark) and hover texts of figures (light) have less contrast than 4.5:1
# in Streamlit, so both get the colour of text.
_LOOK = """<style>
[data-testid="stMainBlockContainer"] { padding: 0.6rem 2.5rem 3rem; gap: 0.5rem; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.5rem; }
[data-testid="stHeader"] { background: transparent; height: 2.5rem; }
[data-testid="stHeading"] h1 { padding: 0; font-size: 1.75rem; line-height: 1.2; }
[data-testid="stHeading"] h2, [data-testid="stHeading"] h3 { padding: 0.4rem 0 0.5rem; }
[data-testid="stHeading"] h2 { font-size: 1.35rem; }
[data-testid="stHeading"] h3 { font-size: 1.15rem; }
[data-testid="stCaptionContainer"] p { line-height: 1.35; }
[data-testid="stMain"] [data-testid="stAlertContainer"] { padding: 0.5rem 0.75rem; }
[data-testid="stMain"] [data-testid="stWidgetLabel"] { min-height: 1.25rem; margin-bottom: 0.15rem; }
[data-testid="stMain"] :is([data-testid^="stBaseButton-"], [data-testid="stPopoverButton"]) { min-height: 2.2rem; }
[data-testid="stMain"] button[role="radio"] { min-height: 2.2rem; padding-block: 0.2rem; }
.st-key-answer [data-testid="stMarkdownContainer"]:not(button *) p { font-size: 1.05rem; line-height: 1.4; }
.st-key-controls:has(input) :is([data-testid^="stBaseButton-"], [data-testid="stPopoverButton"]) { min-height: 2.5rem; }
.st-key-pair-shown { min-height: 2.5rem; justify-content: center; }
@media (max-width: 640px) { .st-key-controls > :has(> .st-key-query-box) { flex: 1 1 100%; } }
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
_FRAMED = "_frame"
TRAINING = "Training: {}"
CHIP = 26  # characters of a chip beside the title
KEY, BACK, NEXT = "p", "b", "n"
START, END, MENU = "Present", "End", "Pages"
HELP = f"Presentation mode: larger type, a menu of pages in place of the sidebar. Press {KEY} to start and to end it."
_LINE = ".st-key-presentation-line"
# the header is transparent and reaches over the button: where it has no button of its own, it lets clicks through
_BESIDE_TITLE = f"""<style>
{_LINE} {{ min-height: 2.6rem; padding-right: 1.5rem; gap: 0 0.5rem; }}
{_LINE} button {{ min-height: 1.8rem; padding: 0 0.25rem; }}
{_LINE} [class*="st-key-clear-"] button {{ max-width: 14rem; }}
{_LINE} > :has(> .st-key-purpose) {{ flex: 1 1 14rem; min-width: 0; }}
[data-testid="stHeader"], [data-testid="stHeader"] * {{ pointer-events: none; }}
[data-testid="stHeader"] :is(button, a), [data-testid="stHeader"] :is(button, a) * {{ pointer-events: auto; }}
@media (max-width: 640px) {{
  [data-testid="stMainBlockContainer"] {{ padding-inline: 1rem; }}
  {_LINE} {{ padding-inline: 1.75rem 1.5rem; }}
  {_LINE} > :has(> .st-key-purpose), {_LINE} > [class*="st-key-clear-"] {{ order: 1; }}
  {_LINE} > :has(> .st-key-purpose) {{ flex-basis: 100%; margin-left: -1.75rem; }}
  {_LINE} > [class*="st-key-clear-"] {{ margin-left: -1.75rem; }}
  {_LINE} h1 {{ font-size: 1.4rem; }}
  {_LINE} kbd {{ display: none; }}
  {_LINE} button:not([class*="st-key-clear-"] *) p {{ position: absolute; clip-path: inset(50%); }}
}}
</style>"""
_PRESENTED = f"""<style>
html {{ font-size: 21px !important; }}
[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], [data-testid="stHeader"] {{ display: none; }}
[data-testid="stMainBlockContainer"] {{ max-width: 100%; padding: 0.4rem 1.2rem 2rem !important; }}
[data-testid="stHeading"] h1 {{ padding: 0; font-size: 1.65rem; }}
{_LINE} > :has(> .st-key-presented) {{ flex: 1 1 16rem; min-width: 0; }}
{_LINE} button {{ min-height: 1.8rem; padding: 0 0.5rem; }}
.st-key-presentation-Back p, .st-key-presentation-Next p {{ position: absolute; clip-path: inset(50%); }}
@media (max-width: 640px) {{
  html {{ font-size: 18px !important; }}
  {_LINE} kbd {{ display: none; }}
  {_LINE} > :has(> .st-key-presented) {{ flex: 1 1 100%; }}
}}
</style>"""
# a view of a talk that names a tab shows that, below the answer, in place of the figure of the page
_TAB_ALONE = f"""<style>
.st-key-{first_screen.FIGURE}, .st-key-{first_screen.CONTROLS} {{ display: none; }}
</style>"""
# Arrow keys, and the page keys that a remote sends, do what the two buttons do, unless something on the page uses them.
_ARROWS = """<script>
if (!window.strataArrows) {
  window.strataArrows = true;
  document.addEventListener("keydown", pressed => {
    const side = {ArrowLeft: "Back", PageUp: "Back", ArrowRight: "Next", PageDown: "Next"}[pressed.key];
    const at = document.activeElement, {ctrlKey, altKey, metaKey, shiftKey} = pressed;
    if (!side || ctrlKey || altKey || metaKey || shiftKey || document.querySelector("[role=dialog]")) return;
    if (at && at !== document.body && !at.closest("[data-testid=stMain]:focus, .st-key-presentation-line")) return;
    const both = [...document.querySelectorAll(`.st-key-presentation-${side} button`)];  // one may be hidden
    const button = both.find(one => !one.disabled && one.checkVisibility({visibilityProperty: true}));
    if (button) { pressed.preventDefault(); button.click(); }
  });
}
</script>"""


def in_a_visit() -> bool:
    """Whether this is the run of a page for a visitor; the server imports app.py too, once."""
    return get_script_run_ctx(suppress_warning=True) is not None


def run() -> None:
    """All of app.py in a visit: the page that was asked for, inside the frame."""
    page = _opened()
    st.session_state[talk_steps.PAGE] = page.url_path
    # An open page runs again after its server was restarted: the new server does not know the buttons of the page until
    # it has run it, and would ignore the first click. The browser asks for a run only if something on the page is
    # updated at intervals.
    st.fragment(lambda: None, run_every="1h")()
    try:
        open_requested_page()
        talk_steps.open_requested_view()
        with st.sidebar:
            selection.into_address(*talk_steps.OF_FRAME)
            entry = named(page.url_path)
            with sidebar.draw(scores=entry.scores, judges=entry.judges):
                training_line()
            if fault := cache_fault():
                st.warning(messages.plain(fault), icon=":material/block:")
        _above(entry)
        st.session_state[_FRAMED] = True
        with controls.page_run(), talk_export.noting():
            page.run()
        fair_share.trim()
    except StrataError as error:  # such as a folder of Strata that cannot be read
        messages.trouble(error)
    except OSError as error:
        messages.trouble(refused(error))


def enter() -> None:
    """First statement of every page, which puts it inside the frame.

    Until some visitor of this process has opened the menu, Streamlit runs a page that is asked for by its
    address in place of app.py. Opening the menu here and starting over puts the frame around it.
    """
    if not st.session_state.pop(_FRAMED, False):  # set anew by every run of app.py
        _opened()
        st.rerun()


def _above(page: PageEntry) -> None:
    """What is above every page, with buttons that outlast a change of page: a second click may come during it."""
    st.html(f"{_LOOK}{_RING}<style>{downloads.LOOK}</style>")
    st.html(_STOPPED.replace("{port}", str(st.get_option("server.port"))))
    controls.scroll()
    _title(page)


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

    def live_runs() -> None:
        live = training_queue.under_way()
        if not live:
            st.rerun()  # the whole page: with it this fragment's clock goes
        run, status = live[0]
        label = TRAINING.format(run_status.place(status)) + (f" (+{len(live) - 1})" if len(live) > 1 else "")
        st.page_link(
            "pages/train.py",
            label=messages.plain(label),
            icon=":material/model_training:",
            query_params={"run": run.name},
            help=messages.plain(run.name),
        )

    if training_queue.under_way():
        st.fragment(live_runs, run_every=2.0)()


def _title(page: PageEntry) -> None:
    """The title of a page with its purpose and the buttons; in the mode with the menu and the choices too."""
    presenting, view = downloads.presenting(), talk_steps.view()
    tab_alone = presenting and view is not None and talk_steps.shows_tab(view) and talk_steps.is_at(view)
    st.html((_PRESENTED if presenting else _BESIDE_TITLE) + _TAB_ALONE * tab_alone)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="presentation line"):
        st.title(NAME if page is PAGES[0] else page.title, width="content")
        if presenting:
            with st.container(gap=None, key="presented"):
                if view and view.text:
                    st.markdown(messages.plain(view.text))
                else:
                    st.caption(page.purpose)
                st.caption(" · ".join(_choices(page)))
            _menu(page)
        else:
            with st.container(key="purpose"):
                st.caption(page.purpose)
            _chips()
            talk_drawer.button()
            _button()
    if presenting:
        st.html(_ARROWS, unsafe_allow_javascript=True)
    talk_drawer.show()
    for fault in (*selection.faults(), *filter(None, [talk_steps.fault()])):
        messages.trouble(fault)


def _chips() -> None:
    """The visitor's sentences and pair, each with what clears it."""
    for label, key, texts in _selected():
        st.button(
            messages.plain(label),
            key=f"clear {key}",
            icon=":material/close:",
            type="tertiary",
            on_click=selection.clear,
            args=(key,),
            help=messages.plain(f"Clear your {key}: " + " · ".join(messages.shortened(text, 60) for text in texts[:6])),
        )


def _selected() -> Iterator[tuple[str, str, Sequence[str]]]:
    """The visitor's sentences and pair, as far as there are any: what names them, their key, and their texts."""
    chosen = {selection.SENTENCES: selection.sentences(), selection.PAIR: selection.pair() or ()}
    for key, texts in chosen.items():
        if selection.is_chosen(key):
            label = " | ".join(texts) if key == selection.PAIR else f"{len(texts):,} sentences"
            yield messages.shortened(label, CHIP), key, texts


def _button() -> None:
    presenting = downloads.presenting()

    def turn() -> None:
        st.session_state[downloads.PRESENTING] = "" if presenting else "1"

    st.button(
        END if presenting else START,
        icon=":material/cancel_presentation:" if presenting else ":material/present_to_all:",
        on_click=turn,
        shortcut=KEY,
        key="presentation",
        type="tertiary",
        help=HELP,
    )


def _menu(page: PageEntry) -> None:
    """The pages by name, a button each for what is before and after, and the one that ends the mode.

    In a talk they step over its views, else over the pages.
    """
    in_talk, place = talk_steps.current(), PAGES.index(page)
    with st.container(horizontal=True, gap="xsmall", width="content"):
        if in_talk:
            talk, number = in_talk
            for side, to in (("Back", number - 1), ("Next", number + 1)):
                there = talk.views[to - 1] if 0 < to <= len(talk.views) else None
                title = named(there.page).title if there else "No more views"
                _step(side, partial(talk_steps.step, to - number), there is not None, title)
            st.caption(f"{number} / {len(talk.views)}", width="content")
        else:
            for side, to in (("Back", place - 1), ("Next", place + 1)):
                entry = PAGES[to] if 0 <= to < len(PAGES) else None
                _step(
                    side, partial(open_page, entry.file) if entry else None, bool(entry), entry.title if entry else ""
                )
        with st.popover(MENU, icon=":material/menu:"), st.container(gap=None):
            for entry in PAGES:
                st.page_link(entry.file, label=entry.title, icon=entry.icon)
        _button()


def _step(label: str, act: Callable[[], None] | None, is_there: bool, title: str) -> None:
    st.button(
        label,
        icon=f":material/chevron_{'left' if label == 'Back' else 'right'}:",
        key=f"presentation {label}",
        on_click=act,
        shortcut=BACK if label == "Back" else NEXT,
        disabled=not is_there,
        help=title,
    )


def _choices(page: PageEntry) -> Iterator[str]:
    """What the hidden sidebar says: models A and B, each with its layer & pooling, and the evaluation set."""
    choice = sidebar_choice.chosen()
    for name, its in (("A", choice), ("B", sidebar_choice.model_b())):
        if its is not None:
            reading = f", {its.reading}" if page.scores and its.reading not in (None, MODEL_DEFAULT) else ""
            yield f"**{name}** {messages.plain(runs.model_title(model_names.shown_name(its.source)) + reading)}"
    if page.scores:
        yield messages.plain(choice.evaluation_set.title)
    yield from (messages.plain(label) for label, *_ in _selected())
