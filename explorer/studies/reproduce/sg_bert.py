"""Tables and figures of self-guided contrastive learning (Kim, Yoo and Lee 2021)."""

from __future__ import annotations

from explorer.data.published_figures import Row
from explorer.evaluating.tasks.transfer import TASKS as TRANSFER
from explorer.knobs import Values
from explorer.studies.reproduce.paper_table import WHOLE, How, NotRun, PaperTable, Trained, Untrained

NAME = "SG-BERT"


def _row(row: Row) -> How:
    """A row by its model, pooling and parameters."""
    if row.model == "No tuning":
        return Trained("wk") if row.pooling == "WK" else Untrained({"CLS": "cls"}.get(row.pooling or "", "mean"))
    known: dict[str, How] = {
        "Flow": Trained("flow"),
        "BT": Trained("bt", translations=True),
        "SG": Trained("sg"),
        "SG-OPT": Trained("sg-opt", _settings(row)),
        "SG with L_opt2": Trained("sg-opt", {"objective": "opt2"}),
        "SG with L_opt1": Trained("sg-opt", {"objective": "opt1"}),
        "SG-OPT without projection head": Trained("sg-opt", {**_settings(row), "projection": False}),
        "BT + SG-OPT": Trained("bt-sg-opt", translations=True),
        "GloVe": NotRun("word vectors are scored by 'evaluate FILE', which needs their file"),
    }
    return known.get(row.model, NotRun(f"a system of others ({row.reported_by or 'not of the paper'})"))


def _settings(row: Row) -> Values:
    names = {"τ": "temperature", "λ": "pull"}
    return {names[name]: float(value) for name, value in row.parameters.items()}


def _sts(number: str, about: str, tasks: tuple[str, ...] = WHOLE, **column: str) -> PaperTable:
    """A table whose methods are trained on the sentences of STS-B, with eight seeds."""
    name, text = f"sg-bert-{number}", "the sentences of STS-B, without scores"
    return PaperTable(name, NAME, number, about, "STS-B", text, 8, tasks, _row, column=column)


def _other(number: str, about: str, elsewhere: str) -> PaperTable:
    name = f"sg-bert-{number.lower().replace(' ', '-')}"
    return PaperTable(name, NAME, number, about, elsewhere=elsewhere)


TABLES = (
    _sts("1", "all methods on the seven STS sets"),
    _sts("2", "Spanish STS with multilingual BERT", ("STS14-es",), **{"STS14-es": "SemEval-2014 Spanish"}),
    _sts("3", "STS in Arabic, Spanish and English with multilingual BERT", ("STS17-ar-ar", "STS17-es-es", "STS17")),
    _sts("4", "transfer tasks of SentEval", TRANSFER),
    _sts("5", "ablation of losses and hyper-parameters"),
    _other("6", "training and inference time", "make bench ARGS=efficiency"),
    _sts("7", "SG-OPT with back-translations"),
    _other("10", "GLUE by fine-tuning", "python -m explorer evaluate MODEL --suite glue"),
    _sts("11", "all methods with RoBERTa"),
    _other(
        "Figure 1",
        "scores by layer and pooling, with SG and SG-OPT as lines",
        "the Results page, by layer, with the runs of sg-bert-1",
    ),
    _other(
        "Figure 4",
        "trained on text of the test domain, and of another",
        "a plan with 'data: [STS-B, FILE]', the file with sentences of NLI, and 'methods: [sg-opt, flow]'",
    ),
    _other("Figure 5", "a map of sentence pairs before and after", "the Map page"),
    _other("Figure 6", "the same for SBERT", "the Map page"),
)
