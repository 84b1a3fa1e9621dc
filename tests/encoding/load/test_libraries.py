import subprocess
import sys

AT_ONCE = """
import gc, sys, threading
from explorer.encoding.load import loading
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
"""
ALREADY = """
import sys
import {last}
wanted = {wanted}
assert not (missing := [name for name in wanted if name not in sys.modules]), missing
"""


def run(code):
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr[-2000:]


def test_threads_that_need_the_libraries_at_once_all_get_them_whole():
    run(AT_ONCE)


def test_nothing_is_imported_that_an_encoder_would_not_import():
    from explorer.encoding.load import loading

    wanted = [name for name in loading.LIBRARIES if "models.auto" not in name]
    run(ALREADY.format(last="transformers.models.bert.modeling_bert", wanted=wanted))
