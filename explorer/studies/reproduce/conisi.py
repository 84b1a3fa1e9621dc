"""Tables of ConIsI (Sun and Huang 2022)."""

from __future__ import annotations

from explorer.data.published_figures import Row
from explorer.knobs import Values
from explorer.studies.reproduce.paper_table import WHOLE, How, NotRun, PaperTable, Trained, Untrained

NAME = "ConIsI"


def _row(row: Row) -> How:
    """A row by its model; λ is the share of the interaction loss."""
    known: dict[str, How] = {
        "No tuning": Untrained("mean"),
        "SimCSE": Trained("simcse"),
        "ConIsI-o1": Trained("conisi-o1"),
        "ConIsI-o2": Trained("conisi-o2"),
        "ConIsI-s": Trained("conisi-s", _share(row)),
        "ConIsI-s without fine-grained classification loss": Trained("conisi-s", {"share": 0.0}),
        "ConIsI-s without contrastive loss": Trained("conisi-s", {"share": 1.0}),
        "SG-OPT": Trained("sg-opt"),
        "Flow": Trained("flow"),
        "whitening": Trained("whitening"),
        "GloVe": NotRun("word vectors are scored by 'evaluate FILE', which needs their file"),
    }
    if row.model == "No tuning" and row.pooling == "first-last avg.":
        return NotRun("the mean of layers 1 and last has no row in results: see the Layers page")
    return known.get(row.model, NotRun("Strata has no such method"))


def _share(row: Row) -> Values:
    return {"share": float(row.parameters["λ"])} if row.parameters else {}


def _sts(number: str, about: str) -> PaperTable:
    text = "a million sentences of Wikipedia, as SimCSE has published them"
    return PaperTable(f"conisi-{number}", NAME, number, about, text=text, tasks=WHOLE, how=_row)


TABLES = (
    PaperTable(
        "conisi-2", NAME, "2", "sizes of the STS sets", elsewhere="sets are checked against it when they are read"
    ),
    _sts("4", "all methods on the seven STS sets"),
    _sts("5", "ablation of the two losses"),
    _sts("6", "three ways to construct sentences"),
    _sts("7", "the weight λ of the interaction loss"),
)
