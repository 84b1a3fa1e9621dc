"""Turn a table of a paper into a plan, scaled down if asked for, and put measured scores beside the published ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from explorer.data.reference_scores import PrintedRow
from explorer.data.text_sets import digest_of
from explorer.encoding.locate import layout, model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT, title_of
from explorer.encoding.read.pooling import POOLINGS as ALL_POOLINGS
from explorer.errors import BadChoice, StrataError
from explorer.evaluating.evaluation import columns, evaluation, loaded
from explorer.evaluating.results import result_files
from explorer.evaluating.results.result_files import ScoredModel
from explorer.evaluating.results.result_table import MeanScore, ModelRow, PublishedRow, published_row
from explorer.evaluating.results.scored_task import EVALUATED, Measured, Options, ScoredTask
from explorer.evaluating.tasks import Subject
from explorer.knobs import LARGEST_SEED, Knob, Knobs, Values, knob
from explorer.methods import load
from explorer.progress import Work
from explorer.run_folder import model_name
from explorer.studies.plans import plan_folder
from explorer.studies.plans.plan import Plan, Variant, cells
from explorer.studies.recipe_runs import RecipeRuns
from explorer.studies.reproduce.paper_table import (
    ASKED,
    AVERAGE,
    BASES,
    WHOLE,
    PaperTable,
    RowSource,
)
from explorer.training.recipe import PAPER, paper_values
from explorer.training.record import status as statuses
from explorer.training.record.run_results import scored

CLS, DEFAULT = "as in the paper", "model default"
POOLINGS = (CLS, DEFAULT)


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
    poolings: tuple[str, ...] = (CLS,)  # of methods that have a choice: the paper's, the model's, or both


@dataclass(frozen=True)
class ReproducedRow:
    """One row of the reproduced table: a row of the paper under one pooling of training."""

    row: PrintedRow
    base: str  # the model that is used
    how: RowSource
    label: str
    setting: str  # how it differs from the paper's, in words

    @property
    def trained_as(self) -> str:
        """The name of its training: rows of one method, settings and text are one training."""
        text = [self.how.text.replace("_", " ")] if self.how.text else []
        stated = ", ".join([*(f"{name} {Knob.text(value)}" for name, value in self.how.settings.items()), *text])
        return f"{self.how.method} ({stated})" if stated else self.how.method


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
    trained = dict.fromkeys(line.base for line in lines if line.how.method)
    lines = [line for base in trained for line in _bases(base, scale)] + lines
    known = RecipeRuns()
    plans: dict[str, Plan] = {}
    checked: list[ReproducedRow] = []
    for line in lines:
        if line.how.method:
            try:
                (cell,) = cells(_plan(table, scale, line.base, (_variant(table, scale, line),), seeds=(1,)))
                known.digests(cell.recipe)
            except StrataError as error:
                line = replace(line, how=RowSource(why_not=str(error)))
        elif line.how.pooling:
            try:
                model_names.find(line.base)
            except StrataError as error:
                line = replace(line, how=RowSource(why_not=str(error)))
        checked.append(line)
    for base in dict.fromkeys(line.base for line in checked if line.how.method):
        variants: dict[str, Variant] = {}
        for line in checked:
            if line.base == base and line.how.method:
                variants.setdefault(line.trained_as, _variant(table, scale, line))
        plans[base] = _plan(table, scale, base, tuple(variants.values()))
    return Reproduction(table, tuple(checked), plans)


def _bases(base: str, scale: ReproductionOptions) -> list[ReproducedRow]:
    """The base model before training, under the paper's pooling and as people use it."""
    name = Path(base).name or base
    setting = "before training" if not scale.model else "before training; not the paper's model"
    return [
        ReproducedRow(PrintedRow("", {}), base, RowSource(pooling=pooling), f"{name}, {text}", setting)
        for pooling, text in (("cls", "[CLS]"), (DEFAULT, DEFAULT))
    ]


def base_scores(found: Reproduction) -> Work[None]:
    """Evaluate the base models of the rows that train nothing."""
    for base in dict.fromkeys(line.base for line in found.lines if line.how.pooling):
        subject = Subject(model_names.find(base), EVALUATED)
        yield from evaluation([(scored(subject.found), subject)], found.table.tasks, Options())


def written(found: Reproduction) -> tuple[list[str], list[list[str]]]:
    """Header and rows: measured and published scores of each task, and what differs from the paper's setting."""
    published = found.table.published()
    tasks = [*found.table.tasks, *([AVERAGE] if set(WHOLE) <= set(found.table.tasks) else [])]
    header = ["row", *(part for task in tasks for part in (task, f"{task}, published", "difference")), "setting"]
    scored_on = _scored_on(found)
    lines = []
    for line in found.lines:
        paper = published_row(published, line.row, [found.table.column.get(task, task) for task in tasks])
        model, title = _measured(found, line, list(scored_on.values()))
        parts = [part for task in tasks for part in _parts(paper, found.table, model, title, task, scored_on)]
        setting = f"not run: {line.how.why_not}" if line.how.why_not else line.setting
        lines.append([line.label, *parts, setting])
    kept = [place for place in range(len(header)) if place == 0 or any(row[place] for row in lines)]
    return [header[place] for place in kept], [[row[place] for place in kept] for row in lines]


def _scored_on(found: Reproduction) -> dict[str, ScoredTask]:
    """The tasks of a table as results identify them: as its plans evaluated them, others as they are now."""
    known = {task: one for plan in found.plans.values() for task, one in plan_folder.standing(plan).tasks.items()}
    others = loaded([task for task in found.table.tasks if task not in known], Options())
    known |= columns(others, Options(), EVALUATED)
    return {task: known[task] for task in found.table.tasks}


def _parts(
    paper: PublishedRow,
    table: PaperTable,
    model: ModelRow | None,
    title: str,
    task: str,
    scored_on: Mapping[str, ScoredTask],
) -> list[str]:
    """Measured, published and the difference; "" for what is not there. An average needs every task."""
    column = table.column.get(task, task)
    measured: MeanScore | None = None
    if model is not None:
        way = paper.measure(column)
        every = [scored_on[one] for one in (WHOLE if task == AVERAGE else (task,))]
        measured = model.average(every, title, way) if task == AVERAGE else model.cell(every[0], title, way)
    printed = paper.cell(column)
    apart = "" if measured is None or printed is None else f"{measured.mean - printed.mean:+.2f}"
    return ["" if measured is None else str(measured), "" if printed is None else str(printed), apart]


def _measured(found: Reproduction, line: ReproducedRow, tasks: Sequence[ScoredTask]) -> tuple[ModelRow | None, str]:
    """The measured model of a row, and the layer & pooling whose scores are the row's."""
    if line.how.method and line.base in found.plans:
        plan = found.plans[line.base]
        of_row = [cell for cell in cells(plan) if cell.row == line.trained_as]
        runs = RecipeRuns().of([cell.recipe for cell in of_row])
        if not of_row or any(run is None or run.status().state != statuses.FINISHED for run in runs):
            return None, MODEL_DEFAULT
        names = [scored(model_names.find(model_name(run.name))) for run in runs if run is not None]
        return ModelRow(line.label, tuple(_by_task(one, tasks) for one in names)), MODEL_DEFAULT
    if line.how.pooling:
        base = model_names.find(line.base)
        by_task = _by_task(scored(base), tasks)
        if line.how.pooling not in ALL_POOLINGS:
            return ModelRow(line.label, (by_task,)), MODEL_DEFAULT
        return ModelRow(line.label, (by_task,)), title_of(line.how.pooling, (layout.last_layer(base.folder),))
    return None, MODEL_DEFAULT


def _by_task(model: ScoredModel, tasks: Sequence[ScoredTask]) -> dict[str, Measured]:
    """What is saved of a model on these tasks, by their digest."""
    found = {task.digest: result_files.saved(model, task) for task in tasks}
    return {digest: one.measured for digest, one in found.items() if one is not None}


def _lines(table: PaperTable, row: PrintedRow, scale: ReproductionOptions, first: str | None) -> list[ReproducedRow]:
    """A row of the paper, once for each pooling of training; `first` is the base model of its first rows."""
    how, base = table.how(row), scale.model or BASES.get(row.base or "", "")
    if scale.model and not how.why_not and row.base != first:
        how = RowSource(why_not=f"{scale.model} stands for every base model: see the row of {first}")
    group = f", {row.group}" if row.group and row.group != row.base and not row.parameters else ""
    pooling = f", {row.pooling}" if row.pooling else ""
    label = f"{row.label}{pooling}{group}" + (f", {row.base}" if row.base else "")
    if how.method and not scale.data and not table.data:
        how = RowSource(why_not=f"it is trained on {table.text}: give them with --data FILE")
    if how.method and how.text and not getattr(scale, how.text):
        how = RowSource(why_not=ASKED[how.text])
    if not how.method or "pooling" not in load(how.method).knobs:
        if how.method:
            how = replace(how, settings=_pooled(how, CLS))
        return [ReproducedRow(row, base, how, label, _setting(table, row, scale, how))]
    return [
        ReproducedRow(row, base, replace(how, settings=_pooled(how, pooling)), f"{label}{_trained(pooling, scale)}",
             _setting(table, row, scale, how))
        for pooling in scale.poolings
    ]  # fmt: skip


def _pooled(how: RowSource, pooling: str) -> Values:
    """The settings that differ from the paper's values, so that rows of one training have one name."""
    wanted = how.settings if pooling == CLS else {**how.settings, "pooling": DEFAULT}
    usual = paper_values(load(how.method))
    return {name: value for name, value in wanted.items() if usual.get(name) != value}


def _trained(pooling: str, scale: ReproductionOptions) -> str:
    """What a label says of the pooling, if there are several."""
    return f" [trained {'[CLS]' if pooling == CLS else DEFAULT}]" if len(scale.poolings) > 1 else ""


def _setting(table: PaperTable, row: PrintedRow, scale: ReproductionOptions, how: RowSource) -> str:
    """How a row differs from the paper's, in words; "as in the paper" if in nothing that is known."""
    other = [f"{scale.model} in place of {row.base}"] if scale.model else []
    if how.method:
        text, own = (scale.other_text, table.other_text) if how.text else (", ".join(scale.data), table.text)
        other += [f"text: {text} in place of {own}"] if text and own else []
        other += [f"{name} {value}" for name, value in scale.settings.items()]
        other += [f"dev set {scale.dev}"] if scale.dev != ReproductionOptions.dev else []
        other += [f"{len(scale.seeds)} of {table.seeds} seeds"] if len(scale.seeds) < table.seeds else []
    return f"scaled down: {'; '.join(other)}" if other else "as in the paper"


def _variant(table: PaperTable, scale: ReproductionOptions, line: ReproducedRow) -> Variant:
    """What the plan trains for a row."""
    knobs = load(line.how.method)
    settings = {**line.how.settings, **(scale.settings if knobs.trains() else {})}
    data = (getattr(scale, line.how.text),) if line.how.text else None
    return Variant(line.trained_as, settings, line.how.method, data)


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
    return replace(plan, name=f"{table.name}-{digest_of((repr(asdict(plan)),))[:6]}")
