"""What a type checker sees of `import strata`: mypy reads this file (`make lint`), and nothing runs it."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import strata
from strata.errors import BadChoice, StrataError


def results_have_types(model: strata.Model, run: strata.Run) -> None:
    """Every function gives its result, whose values have types."""
    assert_type(strata.load("a"), strata.Model)
    assert_type(strata.encode(model, ["a"], "mean of layer 4"), NDArray[np.float32])
    assert_type(strata.score("a", "sample test").default, float | None)
    assert_type(strata.compare(model, "b", metric="Pearson").difference, float | None)
    assert_type(strata.compare("a", run.model).text, str)
    assert_type(strata.explain("a", "one", "two").cosine, dict[str, float])
    assert_type(strata.train(model, "sample", "simcse", steps=3, temperature=0.1), strata.Run)
    assert_type(strata.blend(run).alpha, float)
    assert_type(strata.evaluate(["a", model], "sts").missing, tuple[str, ...])
    assert_type(strata.__version__, str)
    error: StrataError = BadChoice("a")
    assert_type(strata.errors.StrataError(), StrataError)
    assert error


def mistakes_are_found(model: strata.Model) -> None:
    """Each is an error of mypy's, which also refuses to ignore what is none."""
    strata.score(3)  # type: ignore[arg-type]
    strata.compare(model)  # type: ignore[call-arg]
    strata.embed(model, ["a"])  # type: ignore[attr-defined]
    strata.load("a").default = "b"  # type: ignore[misc]
