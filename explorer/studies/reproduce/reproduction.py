"""Turn a table of a paper into a plan for each base model, scaled down if asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from explorer.data import sources, text_sets
from explorer.data.graded.sets import SetIdentity, published
from explorer.data.reference_scores import PrintedRow
from explorer.data.sources import OF_SETS, OF_TEXTS
from explorer.encoding.locate import model_names
from explorer.errors import BadChoice, StrataError
from explorer.knobs import LARGEST_SEED, Knobs, Values, knob
from explorer.methods import PAPER, load, paper_values
from explorer.studies.plans.plan import Plan, Variant, cells
from explorer.studies.recipe_runs import RecipeRuns
from explorer.studies.reproduce.paper_tables import PaperTable, ReproducedRow

BASES = {
    "BERT-base": "bert-base-uncased",
    "BERT-large": "bert-large-uncased",
    "RoBERTa-base": "roberta-base",
    "RoBERTa-large": "roberta-large",
    "SBERT-base": "sentence-transformers/bert-base-nli-mean-tokens",
    "SBERT-large": "sentence-transformers/bert-large-nli-mean-tokens",
    "MBERT": "bert-base-multilingual-cased",
}
_, DEV, TEST = published("STS-B")
CLS, DEFAULT = "as in the paper", "model default"
TRAINED_UNDER = {"paper": (CLS,), "default": (DEFAULT,), "both": (CLS, DEFAULT)}

# text of single rows that the user gives, by its name in `ReproductionOptions`: what a row without it says
ASKED = {
    "translations": "it needs back-translations: make them with 'backtranslate', and give --translations FILE",
    "other_text": "it is trained on text of another domain: give sentences with --other-text FILE",
}


@dataclass(frozen=True)
class ReproductionOptions(Knobs):
    """What differs from the paper's setting; a row says so."""

    model: str = knob("", metavar="MODEL", help="Use this encoder in place of every base model of the paper.")
    data: tuple[SetIdentity, ...] = knob((), **OF_TEXTS, help="The training text.")
    translations: str = knob("", metavar="FILE", help="Back-translations, for the rows of BT.")
    other_text: str = knob("", metavar="FILE", help="Text of another domain, for rows trained on it.")
    settings: Values = field(default_factory=dict)  # such as the number of steps
    seeds: tuple[int, ...] = knob(
        (1, 2, 3), item=int, low=0, high=LARGEST_SEED, help="One training of each row for each."
    )
    dev: SetIdentity = knob(DEV, **OF_SETS, help="Chooses the best checkpoints.")
    test: SetIdentity = knob(TEST, **OF_SETS, help="The test set of each run.")
    steps: int | None = knob(None, item=int, low=1, help="Fewer updates than in the paper.")
    pooling: str = knob(
        "paper",
        choices=tuple(TRAINED_UNDER),
        help="Train under the paper's pooling ([CLS] mostly), the encoder's model default, or both.",
    )

    def consistent(self) -> None:
        """The number of steps is one of the settings."""
        object.__setattr__(self, "settings", {**self.settings, **({"steps": self.steps} if self.steps else {})})


@dataclass(frozen=True)
class Reproduction:
    """The rows of a table, and a plan for each base model."""

    table: PaperTable
    lines: tuple[ReproducedRow, ...]
    plans: Mapping[str, Plan]  # by base model


def reproduction(table: PaperTable, scale: ReproductionOptions) -> Reproduction:
    """The plans of a table; a row that cannot be run says why."""
    if table.elsewhere:
        raise BadChoice(f"{table.name} is not trained by 'reproduce': {table.elsewhere}.")
    rows = table.published().rows
    first = next((row.base for row in rows if row.base in BASES), None)
    lines = [line for row in rows for line in _lines(table, row, scale, first)]
    bases = []  # before training, under the paper's pooling and as people use it
    for base in dict.fromkeys(line.base for line in lines if line.method):
        setting = "before training" if not scale.model else "before training; not the paper's model"
        for pooling, text in (("cls", "[CLS]"), (DEFAULT, DEFAULT)):
            label = f"{Path(base).name or base}, {text}"
            bases.append(ReproducedRow(PrintedRow("", {}), pooling=pooling, base=base, label=label, setting=setting))
    lines = bases + _named(lines)
    known = RecipeRuns()
    checked: list[ReproducedRow] = []
    variants: dict[str, dict[str, Variant]] = {}  # by base model, then by training
    for line in lines:
        try:
            if line.method:
                settings = {**line.settings, **(scale.settings if load(line.method).trains() else {})}
                data = sources.texts((getattr(scale, line.text),)) if line.text else None
                variant = Variant(line.trained_as, settings, line.method, data)
                (cell,) = cells(_plan(table, scale, line.base, (variant,), seeds=(1,)))
                known.digests(cell.recipe)
                variants.setdefault(line.base, {}).setdefault(line.trained_as, variant)
            elif line.pooling:
                model_names.find(line.base)
        except StrataError as error:
            line = line.not_run(str(error))
        checked.append(line)
    plans = {base: _plan(table, scale, base, tuple(of_base.values())) for base, of_base in variants.items()}
    return Reproduction(table, tuple(checked), plans)


def _lines(table: PaperTable, row: PrintedRow, scale: ReproductionOptions, first: str | None) -> list[ReproducedRow]:
    """A row of the paper, once for each pooling of training; `first` is the base model of its first rows."""
    line = table.how(row)
    if scale.model and not line.why_not and row.base != first:
        line = line.not_run(f"{scale.model} stands for every base model: see the row of {first}")
    if line.method and not scale.data and not table.data:
        line = line.not_run(f"it is trained on {table.text}: give them with --data FILE")
    if line.method and line.text and not getattr(scale, line.text):
        line = line.not_run(ASKED[line.text])
    group = row.group if row.group != row.base and not row.parameters else ""
    label = ", ".join(filter(None, (row.label, row.pooling, group, row.base)))
    base, setting = scale.model or BASES.get(row.base or "", ""), _setting(table, scale, line)
    line = replace(line, base=base, label=label, setting=setting)
    if not line.method:
        return [line]
    kind, lines = load(line.method), []
    usual = paper_values(kind)
    poolings = TRAINED_UNDER[scale.pooling] if "pooling" in kind.knobs else (CLS,)
    for pooling in poolings:
        wanted = line.settings if pooling == CLS else {**line.settings, "pooling": DEFAULT}
        # what differs from the paper's values alone, so that rows of one training have one name
        settings = {name: value for name, value in wanted.items() if usual.get(name) != value}
        mark = f" [trained {'[CLS]' if pooling == CLS else DEFAULT}]" if len(poolings) > 1 else ""
        lines.append(replace(line, settings=settings, label=f"{label}{mark}", mark=mark))
    return lines


def _named(lines: Sequence[ReproducedRow]) -> list[ReproducedRow]:
    """The rows with the names of their trainings: the parts of their labels that tell the trainings of a base apart."""
    found = list(lines)
    for base in dict.fromkeys(line.base for line in lines if line.method):
        first: dict[str, ReproducedRow] = {}  # of each training
        for line in lines:
            if line.method and line.base == base:
                first.setdefault(line.training, line)
        of_base = f", {Path(base).name}" * (len({line.base for line in lines if line.method}) > 1)
        rows = [(one.row.label, one.row.pooling or "", f"{one.mark}{of_base}") for one in first.values()]
        choices = (  # the shortest first
            [model + end for model, _, end in rows],
            [pooling + end for _, pooling, end in rows if pooling],
            [f"{model}, {pooling}{end}" for model, pooling, end in rows],
            [f"{one.label}, {training}" for training, one in first.items()],
        )
        called = dict(zip(first, next(names for names in choices if len(set(names)) == len(rows)), strict=True))
        found = [
            replace(line, trained_as=called[line.training]) if line.method and line.base == base else line
            for line in found
        ]
    return found


def _setting(table: PaperTable, scale: ReproductionOptions, line: ReproducedRow) -> str:
    """How a row differs from the paper's, in words; "as in the paper" if in nothing that is known."""
    other = [f"{scale.model} in place of {line.row.base}"] if scale.model else []
    if line.method:
        text, own = (scale.other_text, table.other_text) if line.text else (", ".join(map(str, scale.data)), table.text)
        other += [f"text: {text} in place of {own}"] if text and own else []
        other += [f"{name} {value}" for name, value in scale.settings.items()]
        other += [f"dev set {scale.dev}"] if scale.dev != ReproductionOptions.dev else []
        other += [f"{len(scale.seeds)} of {table.seeds} seeds"] if len(scale.seeds) < table.seeds else []
    return f"scaled down: {'; '.join(other)}" if other else "as in the paper"


def _plan(
    table: PaperTable, scale: ReproductionOptions, base: str, variants: tuple[Variant, ...], seeds: tuple[int, ...] = ()
) -> Plan:
    """The plan of one base model; its name tells apart scales, so that none goes on with another's."""
    plan = Plan(
        "plan",
        models=(base,),
        data=(scale.data or sources.texts((table.data,)),),
        variants=variants,
        seeds=seeds or scale.seeds,
        dev=scale.dev,
        test=scale.test,
        values=PAPER,
        tasks=table.tasks,
    )
    return replace(plan, name=f"{table.name}-{text_sets.digest_of((repr(sources.with_texts(plan)),))[:6]}")
