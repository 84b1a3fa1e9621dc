"""Tables and figures of layer-wise attention pooling (Oh, Kim, Lee, Huang and Lim 2022)."""

from __future__ import annotations

from collections.abc import Callable

from explorer.data.published_figures import Row
from explorer.studies.reproduce.paper_table import WHOLE, How, NotRun, PaperTable, Trained

NAME = "LayerAttPooler"
# the paper's poolers by Strata's names
POOLERS = {
    "CLS_Last": "cls",
    "AVG_Last": "mean",
    "AVG_FL": "first-last mean",
    "AVG_Last and AVG_FL concatenated": "mean, first-last mean",
    "CLS_Last and AVG_Last concatenated": "cls, mean",
    "CLS_All attention": "attention of cls",
    "AVG_All attention": "attention of mean",
    "CLS_All + AVG_All attention": "attention of cls to mean",
    "CLS_All + AVG_All attention, CLS_Last concatenated": "attention of cls to mean, cls",
}
OBJECTIVES = {"(Eq. 7)": "layer-attention", "(Eq. 6)": "layer-attention-sup", "(Eq. 8)": "layer-attention-hard"}
NLI = "triplets of SNLI and MultiNLI, as SimCSE has published them"


def _row(row: Row) -> How:
    """A row by its objective and pooler: without attention it is the same method with the pooler 'cls'."""
    if row.reported_by and not row.reported_by.startswith("re-implementation"):
        return NotRun(f"reported by {row.reported_by}; the row of the re-implementation is run")
    if "DiffCSE" in row.model:
        attends = row.model.startswith("layer attention")
        return Trained("layer-attention-diffcse") if attends else Trained("diffcse", {"projector": "tanh"})
    pooler = POOLERS.get(row.pooling or "")
    method = next((method for mark, method in OBJECTIVES.items() if mark in row.model), None)
    if pooler is None or method is None:
        return NotRun("Strata has no such pooler or objective")
    # the attention as released: as printed, its normalisation can divide by 0
    settings = {"pooler": pooler, "activation": "rrelu", "normaliser": "softmax"}
    return Trained(method, settings)


def _row_of_search(row: Row) -> How:
    """Search uses [CLS] alone after training, with and without attention in training."""
    attended = row.model.startswith("layer attention")
    pooler = "attention of cls to mean, cls" if attended else "cls"
    settings = {"pooler": pooler, "activation": "rrelu", "normaliser": "softmax", "afterwards": "cls"}
    return Trained("layer-attention-hard", settings)


def _table(
    number: str, about: str, tasks: tuple[str, ...], text: str = NLI, how: Callable[[Row], How] = _row
) -> PaperTable:
    return PaperTable(f"layerattpooler-{number}", NAME, number, about, text=text, tasks=tasks, how=how)


def _figure(number: str, about: str, elsewhere: str) -> PaperTable:
    return PaperTable(f"layerattpooler-figure-{number}", NAME, f"Figure {number}", about, elsewhere=elsewhere)


TABLES = (
    _table("1", "three objectives with and without layer attention", WHOLE),
    _table("2", "nine poolers", ("STS-B",)),
    _table("3", "search of Quora's questions", ("Quora search",), how=_row_of_search),
    _table(
        "5", "DiffCSE with layer attention", ("STS-B",), "a million sentences of Wikipedia, as SimCSE published them"
    ),
    _figure("1", "scores by layer", "the Layers page"),
    _figure(
        "2",
        "scores by pooling, domain and model",
        "python -m explorer evaluate MODEL … --suite sts, and the Results page, by layer",
    ),
    _figure("3", "attention weights of two sentences", "the Layer attention page"),
)
