"""Test what using a part of Strata imports, and that threads may import at once: in one process that begins afresh."""

import json
import subprocess
import sys

import pytest

from tests.live import ROOT

ASKING = """
import contextlib, io, json, sys, traceback
outcomes = {}
for claim, code in json.load(sys.stdin).items():
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, {"sys": sys})
        outcomes[claim] = ""
    except BaseException:
        outcomes[claim] = traceback.format_exc()
print(json.dumps(outcomes))
"""
WITHOUT_TORCH = "\nassert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
# in this order: what an earlier one loads can only break a later one
CLAIMS = {
    "settings are stated without torch": "import explorer.knobs" + WITHOUT_TORCH,
    "the lists of devices and precisions need no torch": """
from explorer.encoding.load.hardware import DEVICES, PRECISIONS
"""
    + WITHOUT_TORCH,
    "finding the bundled encoder imports neither its package nor torch": """
from explorer.encoding.locate import lookup
lookup.bundled_folder()
assert lookup.BUNDLED_PACKAGE not in sys.modules
"""
    + WITHOUT_TORCH,
    "listing the parts imports none of them": """
from explorer.encoding.read import parts
assert {"Dense", "FlowMap"} < set(parts.steps())
"""
    + WITHOUT_TORCH,
    "the command line answers without loading torch": """
from explorer.__main__ import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
    + WITHOUT_TORCH,
    "threads that need the libraries at once all get them whole": """
import gc, threading
from explorer.encoding.load import loading
assert not set(loading.LIBRARIES) & set(sys.modules), "the premise"
usual, troubles = gc.get_threshold(), []

def load():
    try:
        list(loading.importing())
        from transformers import AutoModel, AutoTokenizer, MODEL_MAPPING
    except BaseException as trouble:
        troubles.append(repr(trouble))

threads = [threading.Thread(target=load) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not troubles, troubles
assert gc.get_threshold() == usual, gc.get_threshold()
assert [stage.done for stage in loading.importing()] == list(range(len(loading.LIBRARIES)))
assert set(loading.LIBRARIES) <= set(sys.modules)
""",
    "listing the methods imports none of them": """
from explorer import methods
modules = {f"explorer.methods.{file}" for file in methods.files().values()}
assert "explorer.methods.self_guided" in modules
loaded = modules & set(sys.modules)
assert not loaded, loaded
methods.load("sg")
assert modules & set(sys.modules) == {"explorer.methods.self_guided"}
""",
    # its methods fill twenty thousand lines; an annotation that is evaluated loads it at the start of the app
    "no page loads the class of figures before one is drawn": """
import explorer.ui.frame.page_frame
assert "plotly.graph_objs._figure" not in sys.modules
""",
}


@pytest.fixture(scope="module")
def outcomes():
    asked = [sys.executable, "-c", ASKING]
    done = subprocess.run(asked, input=json.dumps(CLAIMS), cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("claim", CLAIMS)
def test_using_a_part_loads_what_it_needs_and_no_more(outcomes, claim):
    assert outcomes[claim] == ""
