"""Shared fixtures: encoders loaded once, and a cache separate from the user's.

Imports are inside the fixtures: the process that hands the files out to others runs no test and needs no torch.
"""

import copyreg
import gc
import logging
import os
import shutil
import sys
from functools import cache
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: files run side by side, one core each
os.environ.setdefault("HF_DEACTIVATE_ASYNC_LOAD", "1")  # threads that read weights start slower than small weights load
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # a few sentences are split sooner than handed to threads

import pytest

from tests import forked_workers, live, tiny_wordnet
from tests.device import DEVICE
from tests.products import spared

# The files of tests are many and short-lived, and a rename on a disk waits until what was written is there. A full run
# needs less than a gigabyte of memory; in a container this place may hold 64 megabytes.
MEMORY = Path("/dev/shm")
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

gc.set_threshold(50_000, 20, 100)  # with all libraries imported, each full collection looks at millions of objects

ROOT = Path(__file__).parent.parent
MAIN = sys.modules["__main__"]
# What these files share takes seconds to make, a server and a browser, a process that has imported everything or the
# parsed program: all files that hold words of one kind run in one worker.
SHARED = {
    "browser": ("live.IN_A_BROWSER",),
    "processes": ("from tests.processes import", "from tests import copies", "from tests.fuzz import cases"),
    "sources": ("from tests.imports import", "from tests import words"),
}
LONG = ("tests/training/", "tests/ui/", "tests/encoding/export/", "tests/commands/")


@cache
def kind_of(file):
    """What tests are handed out with: those that share something, else those of the same file."""
    text = (ROOT / file).read_text(encoding="utf-8")
    return next((kind for kind, some in SHARED.items() if any(words in text for words in some)), file)


def pytest_addoption(parser):
    parser.addoption("--products", action="store_true", help="every case of the tests that are marked as a product")


def pytest_collection_modifyitems(config, items):
    """The longest first: side by side, the short files fill what is left."""
    if not config.getoption("--products") and (left_out := spared(items)):
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    kinds = list(SHARED)

    def rank(item):
        kind = kind_of(item.nodeid.partition("::")[0])
        return kinds.index(kind) if kind in kinds else len(kinds) + (not kind.startswith(LONG))

    items.sort(key=rank)


@cache
def give_way():
    """Let the tests in a browser go first from now on: they are the longest chain, and mostly wait for their server."""
    os.nice(10)


def pytest_runtest_setup(item):
    sys.modules["__main__"] = MAIN  # Streamlit leaves its last page there, which a process that is started would run
    if item.get_closest_marker("browser") is None:
        live.close()
        give_way()


def pytest_sessionfinish():
    live.close()


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist nobody asks
def pytest_xdist_setupnodes(config, specs):
    if sys.platform == "linux":
        forked_workers.fork_from_one(config, specs)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    class ByKind(LoadFileScheduling):
        def _split_scope(self, nodeid):
            return kind_of(nodeid.partition("::")[0])

    return ByKind(config, log)


@pytest.fixture(autouse=True, scope="session")
def cache_of_the_tests(tmp_path_factory):
    """No test reads or writes the scores and results of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STRATA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("STRATA_RESULTS", str(tmp_path_factory.mktemp("results")))
        patch.setenv("STRATA_TALKS", str(tmp_path_factory.mktemp("talks")))
        yield


@pytest.fixture(autouse=True, scope="session")
def nothing_waits_for_the_disk():
    """What a test writes needs to last as long as the test; what a power cut leaves is tested on a disk made for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def what_was_imported_is_no_garbage():
    """Every training begins with a full collection, and looking at millions of objects takes longer than its steps."""
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def sums_are_the_same_each_time():
    """A GPU may add in another order each time, and then nothing is equal to the bit."""
    if DEVICE == "cpu":
        yield
        return
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
        yield
        torch.use_deterministic_algorithms(False)


@pytest.fixture(autouse=True, scope="session")
def slots_of_a_class_are_found_once():
    """A copy of a model copies hundreds of dictionaries, and Python looks for the slots of their class each time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(copyreg, "_slotnames", cache(copyreg._slotnames))
        yield


@pytest.fixture(autouse=True, scope="session")
def no_gpu_is_seeded():
    """Until there is a GPU, torch keeps the stack of every call that seeds it, which takes longer than a tiny model."""
    torch = sys.modules.get("torch")  # files of tests that do not import it seed nothing
    with pytest.MonkeyPatch.context() as patch:
        if torch and not torch.cuda.is_available():
            for kind in (torch.cuda, torch.xpu, torch.mtia):
                patch.setattr(kind, "manual_seed_all", lambda seed: None)
        yield


@pytest.fixture(autouse=True, scope="session")
def no_config_is_written_out():
    """For a line of its log that nobody reads, transformers writes out each config.json that it has read."""
    transformers = sys.modules.get("transformers")
    with pytest.MonkeyPatch.context() as patch:
        if transformers:
            patch.setattr(transformers.PreTrainedConfig, "__repr__", object.__repr__)
        yield


@pytest.fixture(autouse=True, scope="session")
def packages_are_searched_once():
    """Every AppTest searches all installed packages for components, which takes longer than a page does."""
    from streamlit.components.v2 import manifest_scanner

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def logged():
    """The warnings and errors that are logged during a test."""
    messages = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    yield messages
    logging.getLogger().removeHandler(handler)


@pytest.fixture(scope="session")
def wordnet_folder(tmp_path_factory):
    return str(tiny_wordnet.write(tmp_path_factory.mktemp("nltk")))


@pytest.fixture(scope="module")
def words_with_opposites(wordnet_folder):
    """The WordNet of the tests, also for the processes they start; the next file may be to find none."""
    from explorer.data import wordnet

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLTK_DATA", wordnet_folder)
        wordnet.antonym.cache_clear()
        yield
    wordnet.antonym.cache_clear()


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate.model_names import of_folder
    from tests.tiny_models import save_tiny

    folder = tmp_path_factory.mktemp("tiny") / "bert"
    save_tiny("bert", folder)
    return load(of_folder("tiny", folder), precision="float32", device=DEVICE)


@pytest.fixture(scope="session")
def bundled_encoder():
    from explorer.encoding.load.loading import load
    from explorer.encoding.locate.model_names import find

    return load(find("all-MiniLM-L6-v2"), precision="float32", device=DEVICE)


@pytest.fixture(scope="session")
def bundled_scores():
    """The scores that ship, which are computed anew by a test of the best cell, and on a GPU."""
    from explorer.data import sample
    from explorer.encoding.locate.model_names import find
    from explorer.measuring.scores.measure import Settings, measure
    from explorer.progress import finish

    settings = Settings("float32", "auto" if DEVICE == "cpu" else DEVICE)
    return finish(measure(find("all-MiniLM-L6-v2"), sample.pairs(), settings))


@pytest.fixture(scope="session")
def few_pairs():
    from explorer.data.text_sets import GradedPairs

    first = (
        "a small boat", "the kettle boils", "nobody came", "we were late again because of the rain", "a small boat",
    )  # fmt: skip
    second = ("a little ship", "water is hot", "the room was empty", "sun", "a very large boat left the harbour early")
    return GradedPairs("few", first, second, (4.5, 3.0, 4.0, 0.5, 2.5), ("",) * 5)
