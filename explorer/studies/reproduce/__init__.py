"""Turn a table of a paper into a plan, scaled down if asked for, and put measured scores beside the published ones.

The files in `tables/` say how each row is reproduced, one file for each paper: by the name of a row's model, or its
model and pooling, the method and the settings in which the row differs from the paper's values.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from explorer import in_words
from explorer.data import reference_scores, text_sets
from explorer.data.reference_scores import PrintedRow, PrintedScore, PrintedTable
from explorer.encoding.locate import layout, model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT, POOLINGS, title_of
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.evaluation import columns, evaluation, loaded
from explorer.evaluating.results import result_files, result_table
from explorer.evaluating.results.scored_task import EVALUATED, Options, ScoredTask
from explorer.evaluating.results.table_formats import Number, TableCell, TableColumn
from explorer.evaluating.tasks import Subject, tasks_of
from explorer.knobs import LARGEST_SEED, Knob, Knobs, Values, knob
from explorer.measuring.scores.metrics import measure_in_words
from explorer.methods import PAPER, load, paper_values
from explorer.progress import Work
from explorer.run_folder import model_name
from explorer.studies.plans import plan_folder
from explorer.studies.plans.plan import Plan, Variant, cells
from explorer.studies.recipe_runs import RecipeRuns, is_finished
from explorer.training.record.run_results import scored

FOLDER = Path(__file__).parent / "tables"
WHOLE = tasks_of("sts")  # whose average papers print
AVERAGE = "STS average"
OTHER_TEXT = ", trained on other text"
BASES = {
    "BERT-base": "bert-base-uncased",
    "BERT-large": "bert-large-uncased",
    "RoBERTa-base": "roberta-base",
    "RoBERTa-large": "roberta-large",
    "SBERT-base": "sentence-transformers/bert-base-nli-mean-tokens",
    "SBERT-large": "sentence-transformers/bert-large-nli-mean-tokens",
    "MBERT": "bert-base-multilingual-cased",
}
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
    data: tuple[str, ...] = knob((), metavar="FILE|NAME", repeated=True, help="The training text.")
    translations: str = knob("", metavar="FILE", help="Back-translations, for the rows of BT.")
    other_text: str = knob("", metavar="FILE", help="Text of another domain, for rows trained on it.")
    settings: Values = field(default_factory=dict)  # such as the number of steps
    seeds: tuple[int, ...] = knob(
        (1, 2, 3), item=int, low=0, high=LARGEST_SEED, help="One training of each row for each."
    )
    dev: str = knob("STS-B dev", metavar="FILE|NAME", help="Chooses the best checkpoints.")
    test: str = knob("STS-B test", metavar="FILE|NAME", help="The test set of each run.")
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
class ReproducedRow:
    """A row of a paper, and where its scores come from: a training, the base model as it is, or nothing, and why."""

    row: PrintedRow
    method: str = ""  # that trains it
    settings: Values = field(default_factory=dict)  # in which it differs from the paper's values
    text: str = ""  # what it is trained on in place of the table's text, a name of `ASKED`
    pooling: str = ""  # of an untrained base: of its last layer, or its model default
    why_not: str = ""  # of a row that Strata does not run
    base: str = ""  # the model that is used
    label: str = ""
    mark: str = ""  # of the label, if a row is trained under several poolings
    trained_as: str = ""  # its row in the plan: rows of one training have one
    setting: str = ""  # how it differs from the paper's, in words

    @property
    def training(self) -> str:
        """What it trains: rows of one method, settings and text are one training."""
        text = [self.text.replace("_", " ")] if self.text else []
        stated = ", ".join([*(f"{name} {Knob.text(value)}" for name, value in self.settings.items()), *text])
        return f"{self.method} ({stated})" if stated else self.method

    def not_run(self, why: str) -> "ReproducedRow":
        """The row without its scores, for a reason."""
        return replace(self, method="", settings={}, text="", pooling="", why_not=why)


@dataclass(frozen=True)
class PaperTable:
    """One table or figure: its training text, its evaluation tasks, and how each row is made."""

    name: str  # as the command takes it: "sg-bert-5"
    paper: str  # as in the published figures: "SG-BERT"
    number: str
    about: str  # one line
    figure: bool = False  # else it is a table
    data: str = ""  # the paper's training text, as Strata names it; "" if the user has to give it
    text: str = ""  # the same in words
    seeds: int = 1  # of the paper
    tasks: tuple[str, ...] = ()
    column: Mapping[str, str] = field(default_factory=dict)  # of the paper, by task, where the names differ
    settings: Values = field(default_factory=dict)  # of every row
    rows_of: str = ""  # the table that has the rows of a figure
    base: str = ""  # of these rows
    losses: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # on other text, by model and column
    other_text: str = ""  # that text in words
    elsewhere: str = ""  # the command or page that shows it, if its rows are not trained here

    @property
    def title(self) -> str:
        """`Table 5`, `Figure 4`."""
        return f"{'Figure' if self.figure else 'Table'} {self.number}"

    def published(self) -> PrintedTable:
        """The paper's table; a figure has rows of a table, and the same ones less what they lose on other text."""
        if not self.losses:
            return reference_scores.find_table(self.paper, self.number)
        whole, rows = reference_scores.find_table(self.paper, self.rows_of), []
        for row in whole.rows:
            if row.base == self.base and row.model in self.losses:
                less = {
                    column: PrintedScore(round(value - lost, 2))
                    for column, lost in self.losses[row.model].items()
                    if (value := row.scores[column].value) is not None
                }
                rows += [row, replace(row, model=f"{row.model}{OTHER_TEXT}", scores=less)]
        return replace(whole, number=self.number, rows=tuple(rows))

    def how(self, row: PrintedRow) -> ReproducedRow:
        """What a row trains or reads, or why it is not run."""
        stated, known = _stated(self.paper), _stated(self.paper)["rows"]
        rule = known.get(f"{row.model}, {row.pooling}") or known.get(row.model)
        if rule is None:
            return ReproducedRow(row, why_not=f"Strata has no such method ({row.reported_by or self.paper})")
        if "not_run" in rule:
            return ReproducedRow(row, why_not=rule["not_run"])
        if "untrained" in rule:
            return ReproducedRow(row, pooling=rule["untrained"].get(row.pooling, "mean"))
        if row.reported_by and not row.reimplemented:
            of_row = row.model, row.base, row.pooling
            if sum((one.model, one.base, one.pooling) == of_row for one in self.published().rows) > 1:
                return ReproducedRow(row, why_not=f"reported by {row.reported_by}: see the authors' own row")
        settings = {stated["parameters"][name]: float(value) for name, value in row.parameters.items()}
        if rule.get("pooled"):
            settings[stated["poolings"]["setting"]] = stated["poolings"]["values"][row.pooling]
        kind = load(rule["method"])
        as_released = {name: kind.released[name] for name in stated.get("released", ()) if name in kind.released}
        given = {**as_released, **settings, **self.settings, **rule.get("settings", {})}
        return ReproducedRow(row, rule["method"], given, rule.get("text", ""))


@cache
def paper_tables() -> tuple[PaperTable, ...]:
    """Every table and figure of the papers."""
    found = []
    for paper in dict.fromkeys(published.paper for published in reference_scores.tables()):
        stated = _stated(paper)
        for one in stated["tables"]:
            given = {**({} if "elsewhere" in one else stated["training"]), **one}
            suite, kind = given.pop("suite", None), "figure-" if given.get("figure") else ""
            tasks = tasks_of(suite) if suite else tuple(given.pop("tasks", ()))
            found.append(PaperTable(f"{stated['prefix']}-{kind}{given['number']}", paper, tasks=tasks, **given))
    return tuple(found)


def paper_table(name: str) -> PaperTable:
    """The table with this name."""
    by_name = {table.name: table for table in paper_tables()}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name.lower(), by_name, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no table '{name}'.{meant} 'reproduce list' shows them all.")


@cache
def _stated(paper: str) -> dict[str, Any]:
    found = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json")))
    return next(stated for stated in found if stated["paper"] == paper)


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
                data = (getattr(scale, line.text),) if line.text else None
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


def base_scores(found: Reproduction) -> Work[None]:
    """Evaluate the base models of the rows that train nothing."""
    for base in dict.fromkeys(line.base for line in found.lines if line.pooling):
        subject = Subject(model_names.find(base), EVALUATED)
        yield from evaluation([(scored(subject.found), subject)], found.table.tasks, Options())


def written(found: Reproduction) -> tuple[list[TableColumn], list[list[TableCell]]]:
    """Header and rows: measured and published scores of each task, and what differs from the paper's setting.

    None stands for what is not there. An average needs every task.
    """
    table, published = found.table, found.table.published()
    tasks = [*table.tasks, *([AVERAGE] if set(WHOLE) <= set(table.tasks) else [])]
    # the tasks as results identify them: as the plans evaluated them, others as they are now
    known = {task: one for plan in found.plans.values() for task, one in plan_folder.standing(plan).tasks.items()}
    known |= columns(loaded([task for task in table.tasks if task not in known], Options()), Options(), EVALUATED)
    lines: list[list[TableCell]] = []
    measures: dict[str, dict[str, None]] = {task: {} for task in tasks}
    for line in found.lines:
        paper = result_table.published_row(published, line.row, [table.column.get(task, task) for task in tasks])
        model, title = _measured(found, line, [known[task] for task in table.tasks])
        parts: list[TableCell] = [line.label]
        for task in tasks:
            column = table.column.get(task, task)
            measured, printed, metric = None, paper.cell(column), paper.measure(column)
            if model is not None and task == AVERAGE:
                measured = model.average([known[one] for one in WHOLE], title, metric)
            elif model is not None:
                measured = model.cell(known[task], title, metric)
            by = measure_in_words(metric)
            if measured is not None or printed is not None:
                measures[task][by] = None
            gap = None
            if measured is not None and printed is not None:
                difference = in_words.gap(printed.mean, measured.mean)
                gap = Number(difference, text=in_words.signed(difference))
            parts += [score and replace(score, measure=by) for score in (measured, printed, gap)]
        lines.append([*parts, f"not run: {line.why_not}" if line.why_not else line.setting])
    header = [TableColumn("row", is_text=True)]
    for task, of_task in measures.items():
        words = " or ".join(of_task)
        task = f"{task} of {len(WHOLE)}" if task == AVERAGE else task
        header += [TableColumn(name.format(task), words) for name in ("{}", "{}, published", "{}, difference")]
    header.append(TableColumn("setting", is_text=True, is_note=True))
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] for row in lines)]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in lines]


def _measured(
    found: Reproduction, line: ReproducedRow, tasks: Sequence[ScoredTask]
) -> tuple[result_table.ModelRow | None, str]:
    """The measured model of a row, and the layer & pooling whose scores are the row's."""
    names, title = [], MODEL_DEFAULT
    if line.method and line.base in found.plans:
        of_row = [cell.recipe for cell in cells(found.plans[line.base]) if cell.row == line.trained_as]
        runs = [run for run in RecipeRuns().of(of_row) if run and is_finished(run)]
        if len(runs) == len(of_row):
            names = [scored(model_names.find(model_name(run.name))) for run in runs]
    elif line.pooling:
        base = model_names.find(line.base)
        names = [scored(base)]
        if line.pooling in POOLINGS:
            title = title_of(line.pooling, (layout.last_layer(base.folder),))
    by_task = []
    for name in names:
        saved = {task.digest: result_files.saved(name, task) for task in tasks}
        by_task.append({digest: one.measured for digest, one in saved.items() if one is not None})
    return result_table.ModelRow(line.label, tuple(by_task)) if by_task else None, title


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
        text, own = (scale.other_text, table.other_text) if line.text else (", ".join(scale.data), table.text)
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
        data=(scale.data or (table.data,),),
        variants=variants,
        seeds=seeds or scale.seeds,
        dev=scale.dev,
        test=scale.test,
        values=PAPER,
        tasks=table.tasks,
    )
    return replace(plan, name=f"{table.name}-{text_sets.digest_of((repr(asdict(plan)),))[:6]}")
