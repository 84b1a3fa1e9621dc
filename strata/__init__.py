"""Strata in notebooks and scripts: load, encode, verify, score, compare, explain, train, blend, evaluate encoders.

    import strata

    strata.score("all-MiniLM-L6-v2", "sample test")
    strata.compare("all-MiniLM-L6-v2", "run:example", "sample test")

A model is given by its name, as a folder, or loaded. Each name is imported when it is first used: `import strata` loads
no library.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as type checkers know it: importing `typing`, or importlib, takes ten times as long as all this

if TYPE_CHECKING:
    from strata import errors as errors
    from strata.blends import Blend as Blend
    from strata.blends import blend as blend
    from strata.comparisons import Comparison as Comparison
    from strata.comparisons import compare as compare
    from strata.evaluations import Evaluation as Evaluation
    from strata.evaluations import evaluate as evaluate
    from strata.explanations import Explanation as Explanation
    from strata.explanations import explain as explain
    from strata.models import Model as Model
    from strata.models import encode as encode
    from strata.models import load as load
    from strata.runs import Run as Run
    from strata.runs import train as train
    from strata.scores import Scores as Scores
    from strata.scores import score as score
    from strata.verifications import Verification as Verification
    from strata.verifications import verify as verify

    __version__: str

_FILES = {  # by name, the file that it is imported from
    "load": "models",
    "encode": "models",
    "score": "scores",
    "compare": "comparisons",
    "explain": "explanations",
    "train": "runs",
    "blend": "blends",
    "evaluate": "evaluations",
    "verify": "verifications",
    "Model": "models",
    "Scores": "scores",
    "Comparison": "comparisons",
    "Explanation": "explanations",
    "Run": "runs",
    "Blend": "blends",
    "Evaluation": "evaluations",
    "Verification": "verifications",
}
__all__ = [*_FILES, "__version__", "errors"]  # a test compares them with the imports above


def _engine() -> str | None:
    """The folder or file that `import explorer` opens, or has opened; it is not run for this."""
    loaded = getattr(sys.modules.get("explorer"), "__spec__", None)
    finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
    found = loaded or next(filter(None, (find("explorer", None) for find in finders if find)), None)
    return next(iter(found.submodule_search_locations or ()), found.origin) if found else None


def _check_engine() -> None:
    """Refuse to start with another package in the place of `explorer`, in which Strata's own code is."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 (pathlib is slow, too)
    where = _engine()
    own = os.path.join(home, "explorer")  # noqa: PTH118
    if where is None:
        raise ImportError(f"Strata's own code, the folder {own}, is missing. Install Strata again: pip install .")
    if not (os.path.exists(own) and os.path.exists(where) and os.path.samefile(where, own)):  # noqa: PTH110, PTH121
        raise ImportError(
            f"{where} has taken the name 'explorer', which is that of Strata's own code in {own}. Start Python in "
            f"another folder, or, if you do not need that package here, begin with: import sys; "
            f"sys.path.insert(0, {home!r})."
        )


_check_engine()

if not TYPE_CHECKING:  # a type checker sees the imports above, and no other name

    def __getattr__(name):
        """What a name stands for, imported when it is first asked for."""
        import importlib

        if name in _FILES:
            value = getattr(importlib.import_module(f"strata.{_FILES[name]}"), name)
        elif name == "errors":
            return importlib.import_module("strata.errors")
        elif name == "__version__":
            value = importlib.import_module("explorer.places").version()
        else:
            raise AttributeError(f"module 'strata' has no attribute '{name}'. It has: {', '.join(sorted(__all__))}.")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What completion offers."""
    return sorted(__all__)
