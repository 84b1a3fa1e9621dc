"""Test what the server does from its start to its end, and which sites may show the app in a frame.

test_browser.py asks a real server for the second, and lets a browser try it.
"""

import asyncio
import signal
import threading

import pytest
import uvicorn
from starlette.applications import Starlette
from streamlit import config

from explorer.data import sample
from explorer.data.graded import sets
from explorer.encoding.load import loading
from explorer.measuring.scores import measure
from explorer.progress import Progress, finish
from explorer.training.loop import resume_state as states
from explorer.training.record.status import INTERRUPTED
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.frame import server
from explorer.ui.frame.server import SameOrigin
from explorer.ui.runs import training_queue
from tests import trainings
from tests.visits import wait_until


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(server, "LEFT_ALONE", 0)


def test_what_the_first_page_shows_and_does_not_ship_is_measured_once_before_anybody_asks(tmp_path, monkeypatch):
    assert sidebar_choice.are_kept(sidebar_choice.first()), "it ships"
    monkeypatch.setattr(measure, "examples_folder", lambda: tmp_path)
    few = sample.pairs().taken(range(8), sample.PAIRS)
    monkeypatch.setitem(sets._SAMPLES, "", (sample.PAIRS, lambda: few))
    monkeypatch.setattr(server.umap_layout, "loaded", lambda: iter(()))
    cached._kept.clear()
    first = sidebar_choice.first()
    assert not sidebar_choice.are_kept(first)
    finish(server._first_page())
    (measuring,) = jobs._jobs.values()
    assert measuring.ends_within(60)
    assert measuring.state == jobs.DONE, measuring.error
    assert sidebar_choice.are_kept(first)
    jobs._jobs.clear()
    finish(server._first_page())
    assert not jobs._jobs, "what is kept is not measured again"


def test_a_visitor_who_asked_for_something_else_does_not_wait_for_it(monkeypatch):
    gate = threading.Event()

    def of_a_visitor():
        yield Progress("encoding", 0, 1)
        gate.wait(60)

    monkeypatch.setattr(server, "LOOKED", 0.01)
    loaded = []
    monkeypatch.setattr(server.umap_layout, "loaded", lambda: loaded.append(True) or iter(()))
    jobs.follow("of a visitor", "Vectors", of_a_visitor)
    for progress in server._first_page():
        if progress.stage == "leaving the processor to a visitor":
            assert not loaded
            gate.set()
    assert set(jobs._jobs) == {"of a visitor"}
    assert loaded


def test_a_first_page_that_needs_no_encoder_is_not_slowed_down(monkeypatch):
    monkeypatch.setattr(server, "LEFT_ALONE", 3)
    monkeypatch.setattr(sidebar_choice, "are_kept", lambda choice: True)
    waited = []
    monkeypatch.setattr(server.time, "sleep", waited.append)
    stages = []
    finish(server._first_page(), lambda progress: stages.append(progress.stage))
    assert waited == [1, 1, 1]
    assert stages.index("importing torch and transformers") > stages.index("leaving the processor to the first page")
    assert stages.count("importing torch and transformers") == len(loading.LIBRARIES)


def test_a_run_in_training_does_not_share_the_processor_with_what_only_a_map_needs(gate, monkeypatch):
    loaded = []
    monkeypatch.setattr(sidebar_choice, "are_kept", lambda choice: True)
    monkeypatch.setattr(server.umap_layout, "loaded", lambda: loaded.append(True) or iter(()))
    finish(server._first_page())
    assert not loaded
    gate.set()
    assert jobs.find("front").ends_within(60)
    finish(server._first_page())
    assert loaded


def test_the_server_begins_at_its_start_and_stops_at_its_end():
    async def life():
        async with server.until_the_server_ends(None):
            assert jobs.find("first page").lane == jobs.AHEAD

    asyncio.run(life())
    assert not any(job.live for job in jobs._jobs.values())


def test_a_run_under_way_is_saved_at_the_end_of_the_server_which_says_how_to_resume_it(place, logged):
    async def life():
        async with server.until_the_server_ends(None):
            run = training_queue.start(trainings.recipe(place, settings={"steps": 5000}), "mine")
            wait_until(lambda: run.status().step > 1)
            return run

    with trainings.paced():
        run = asyncio.run(life())
    assert run.status().state == INTERRUPTED
    assert states.load(run.state).notes["step"] == max(trainings.losses(run)) > 1
    (line,) = logged
    assert line == "'mine' is interrupted. Resume it on its page, or with: python -m explorer train --resume mine"


@pytest.mark.parametrize("ignored", [False, True])
def test_the_end_of_the_terminal_ends_the_server_as_another_signal_does(ignored):
    ended = []
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    signal.signal(signal.SIGHUP, signal.SIG_IGN if ignored else signal.SIG_DFL)  # by nohup
    server._end_with_the_terminal()
    signal.raise_signal(signal.SIGHUP)
    for one, how in before.items():
        signal.signal(one, how)
    assert ended == [True] * (not ignored)


SETTINGS = {"server.allowedHosts": ["127.0.0.1"], "server.enableCORS": True, "server.corsAllowedOrigins": []}


@pytest.fixture
def settings(monkeypatch):
    stated = dict(SETTINGS)
    monkeypatch.setattr(config, "get_option", stated.__getitem__)
    return stated


def answered(host="127.0.0.1:8501"):
    """Status and headers of an answer; the app below would let every site show it."""
    sent = []

    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-frame-options", b"ALLOWALL")]})

    async def send(message):
        sent.append(message)

    asyncio.run(SameOrigin(app)({"type": "http", "headers": [(b"host", host.encode())]}, None, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1:8501", 200), ("evil.example", 403)])
def test_no_other_site_may_show_an_answer_in_a_frame(settings, host, status):
    code, headers = answered(host)
    assert code == status
    assert headers[b"content-security-policy"] == b"frame-ancestors 'self'"
    assert headers[b"x-frame-options"] == b"SAMEORIGIN"


def test_a_site_that_the_settings_name_may(settings):
    settings["server.corsAllowedOrigins"] = ["https://portal.example"]
    _, headers = answered()
    assert headers[b"content-security-policy"] == b"frame-ancestors 'self' https://portal.example"


def test_the_server_ends_and_stops_its_jobs_though_a_connection_is_never_closed(monkeypatch):
    class Open:
        def shutdown(self):
            """Close nothing, as for a connection that is opened after all others were closed."""

    stopped, signals = [], []
    monkeypatch.setattr(server, "LAST_ANSWERS", 0.1)
    monkeypatch.setattr(jobs, "stop_all", lambda: stopped.append(True))
    web = uvicorn.Server(uvicorn.Config(Starlette(lifespan=server.until_the_server_ends), port=0, log_level="critical"))
    web.server_state.connections.add(Open())
    before = signal.signal(signal.SIGTERM, lambda *_: signals.append(True))  # uvicorn passes it on at its end

    def end():
        wait_until(lambda: web.started)
        signal.raise_signal(signal.SIGTERM)
        web.force_exit = not ended.wait(20)  # so that the test ends if the server does not

    ended = threading.Event()
    ending = threading.Thread(target=end)
    ending.start()
    web.run()
    ended.set()
    ending.join()
    signal.signal(signal.SIGTERM, before)
    assert (signals, stopped, web.force_exit) == ([True], [True], False)
