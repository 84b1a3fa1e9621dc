import asyncio
import threading

import pytest

from explorer.encoding.load import libraries
from explorer.progress import Progress, finish
from explorer.ui.access import jobs, side_scores, sidebar_choice
from explorer.ui.frame import lifespan


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STRATA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(lifespan, "LEFT_ALONE", 0)
    monkeypatch.setattr(jobs, "_jobs", {})  # tests of other files may have left theirs
    yield
    jobs.stop_all()


def test_what_the_first_page_shows_is_measured_once_before_anybody_asks():
    first = sidebar_choice.first()
    assert not side_scores.are_kept(first)
    finish(lifespan._first_page())
    (measuring,) = jobs._jobs.values()
    assert measuring.ends_within(60)
    assert measuring.state == jobs.DONE, measuring.error
    assert side_scores.are_kept(first)
    jobs._jobs.clear()
    finish(lifespan._first_page())
    assert not jobs._jobs, "what is kept is not measured again"


def test_a_visitor_who_asked_for_something_else_does_not_wait_for_it():
    gate = threading.Event()

    def of_a_visitor():
        yield Progress("encoding", 0, 1)
        gate.wait(60)

    jobs.follow("of a visitor", "Vectors", of_a_visitor)
    finish(lifespan._first_page())
    assert set(jobs._jobs) == {"of a visitor"}
    gate.set()


def test_a_first_page_that_needs_no_encoder_is_not_slowed_down(monkeypatch):
    monkeypatch.setattr(lifespan, "LEFT_ALONE", 3)
    monkeypatch.setattr(side_scores, "are_kept", lambda choice: True)
    waited = []
    monkeypatch.setattr(lifespan.time, "sleep", waited.append)
    stages = []
    finish(lifespan._first_page(), lambda progress: stages.append(progress.stage))
    assert waited == [1, 1, 1]
    assert stages.index("importing torch and transformers") > stages.index("leaving the processor to the first page")
    assert stages.count("importing torch and transformers") == len(libraries._LIBRARIES)


def test_a_run_in_training_does_not_share_the_processor_with_what_only_a_map_needs(gate, monkeypatch):
    loaded = []
    monkeypatch.setattr(side_scores, "are_kept", lambda choice: True)
    monkeypatch.setattr(lifespan.umap_layout, "loaded", lambda: loaded.append(True) or iter(()))
    finish(lifespan._first_page())
    assert not loaded
    gate.set()
    assert jobs.find("front").ends_within(60)
    finish(lifespan._first_page())
    assert loaded


def test_the_server_begins_at_its_start_and_stops_at_its_end():
    async def server():
        async with lifespan.until_the_server_ends(None):
            assert jobs.find("first page").lane == jobs.LOADING

    asyncio.run(server())
    assert not any(job.live for job in jobs._jobs.values())
