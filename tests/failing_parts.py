"""Parts of a benchmark that go wrong: each gives a row first."""

import os
import time

from benchmarks.gpu.parts import Row


def passes(setting):
    yield Row("first", "1", True)
    yield Row("second", "2")


def raises(setting):
    yield Row("first", "1", True)
    raise ValueError("no\nsuch thing")


def dies(setting):
    yield Row("first", "1", True)
    os._exit(3)


def hangs(setting):
    yield Row("first", "1", True)
    time.sleep(600)
