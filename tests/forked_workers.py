"""Fork the workers of a run from one process that has imported and collected all tests, which takes ten seconds.

That process is `serve`. This file as a script is what pytest-xdist starts in place of Python for each worker: it hands
its pipes and the code to run on them over to that process, and lasts as long as the worker.

With each worker a spare is forked, which waits to become the server of multiprocessing that processes of tests are
forked from (`tests/processes.py`): one that is started would import everything again.
"""

import json
import os
import select
import shlex
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
# One arena, as in the app (`fair_share.one_arena`); pages of 2 MB, which take a tenth of the time from small models.
MEMORY = {"MALLOC_ARENA_MAX": "1", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
ABOVE = 512  # no file that is open here has a number as high
spares = []  # of this worker, until it is used: the number of its process, and the socket that it listens on


def fork_from_one(config, specs):
    """Have each worker forked from one process, which ends with this one."""
    name = f"strata-tests-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0{name}")  # a name without a file
        listening.listen()
        call = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests import forked_workers as here; here.serve()"
        arguments = str(listening.fileno()), *map(str, config.invocation_params.args)
        server = subprocess.Popen(
            [sys.executable, "-c", call, *arguments],
            cwd=config.invocation_params.dir,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env=os.environ | MEMORY,
            pass_fds=[listening.fileno()],
        )
    config.add_cleanup(server.communicate)
    for spec in specs:
        spec.python = shlex.join([sys.executable, "-I", "-S", __file__, name])


def serve():
    """Collect the tests, then fork for each worker that asks; what a fork does here is to run the worker's code."""
    import atexit
    import gc

    import pytest

    for name in MEMORY:  # which this process has read when it started: its children, such as a browser, have threads
        os.environ.pop(name, None)
    _, number, *arguments = sys.argv
    listening = socket.socket(fileno=int(number))
    # the plugin that is left out looks through all memory at the end
    pytest.main([*arguments, "--collect-only", "-qq", "-n", "0", "-p", "no:unraisableexception"])
    if "torch" in sys.modules:  # otherwise no test loads a model
        import tests.preloaded  # noqa: F401  # for the workers, which share what it loads
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C ends the workers, and then this process
    gc.freeze()  # otherwise each collection of a worker writes to the memory that it shares with the others
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        asking, _ = listening.accept()
        code, pipes, *_ = socket.recv_fds(asking, 65536, 3)
        if os.fork() == 0:
            spares.append(_spare(asking.fileno(), *pipes))
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for place, pipe in enumerate(pipes):
                os.dup2(pipe, place)
            exec(code, sys.modules["__main__"].__dict__)
            atexit._run_exitfuncs()
            os._exit(0)  # without taking apart all that was imported
        asking.close()
        for pipe in pipes:
            os.close(pipe)
    while True:  # so that their time counts
        try:
            os.wait()
        except ChildProcessError:
            return


def _spare(*of_the_worker):
    """Fork the spare, without the files of its worker, which waits for code and for the files that the code names."""
    here, there = socket.socketpair()
    if process := os.fork():
        there.close()
        return process, here
    here.close()
    for file in of_the_worker:
        os.close(file)
    asked, files, *_ = socket.recv_fds(there, 65536, 8)
    if asked:  # otherwise its worker has ended
        code, *numbers = json.loads(asked)
        for place, file in enumerate(files):
            os.dup2(file, ABOVE + place)
            os.close(file)
        for place, number in enumerate(numbers):
            os.dup2(ABOVE + place, number)
            os.close(ABOVE + place)
        exec(code, {})
    os._exit(0)


@contextmanager
def serving_from_the_spare():
    """In this context multiprocessing starts its server in the spare, if there is still one."""
    from multiprocessing import forkserver, util
    from types import SimpleNamespace
    from unittest import mock

    def start(_, arguments, files):
        process, link = spares.pop()
        files = [1, 2, *files]
        with link:
            socket.send_fds(link, [json.dumps([arguments[-1], *files]).encode()], files)
        return process

    of_the_spare = SimpleNamespace(**vars(util) | {"spawnv_passfds": start})
    with mock.patch.object(forkserver, "util", of_the_spare if spares else util):
        yield


def be_forked(name, code):
    """Ask for a worker with the pipes of this process, and wait until it has ended."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(f"\0{name}")
        socket.send_fds(link, [code.encode()], [0, 1, 2])
        os.close(0)
        os.close(1)  # whoever started this process waits for the end of the worker's pipe
        link.recv(1)


if __name__ == "__main__":
    be_forked(sys.argv[1], sys.argv[-1])
