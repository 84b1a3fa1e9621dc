"""Fork the workers of a run from one process that has imported and collected all tests, which takes ten seconds.

That process is `serve`. This file as a script is what pytest-xdist starts in place of Python for each worker: it hands
its pipes and the code to run on them over to that process, and lasts as long as the worker.
"""

import os
import select
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


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

    _, number, *arguments = sys.argv
    listening = socket.socket(fileno=int(number))
    # the plugin that is left out looks through all memory at the end
    pytest.main([*arguments, "--collect-only", "-qq", "-n", "0", "-p", "no:unraisableexception"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C ends the workers, and then this process
    gc.freeze()  # otherwise each collection of a worker writes to the memory that it shares with the others
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        asking, _ = listening.accept()
        code, pipes, *_ = socket.recv_fds(asking, 65536, 3)
        if os.fork() == 0:
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
