"""Put the measured scores of a table of a paper beside the published ones."""

from collections.abc import Sequence
from dataclasses import replace

from explorer import in_words
from explorer.encoding.locate import layout, model_names
from explorer.encoding.read.pooling import MODEL_DEFAULT, POOLINGS, title_of
from explorer.evaluating.evaluation import columns, evaluation, loaded
from explorer.evaluating.results import result_files, result_table
from explorer.evaluating.results.scored_task import EVALUATED, Options, ScoredTask
from explorer.evaluating.results.table_formats import Number, TableCell, TableColumn
from explorer.evaluating.tasks import Subject, tasks_of
from explorer.measuring.scores.metrics import measure_in_words
from explorer.progress import Work
from explorer.run_folder import model_name
from explorer.studies.plans import plan_folder
from explorer.studies.plans.plan import cells
from explorer.studies.recipe_runs import RecipeRuns, is_finished
from explorer.studies.reproduce.paper_tables import ReproducedRow
from explorer.studies.reproduce.reproduction import Reproduction
from explorer.training.record.run_results import scored

WHOLE = tasks_of("sts")  # whose average papers print
AVERAGE = "STS average"


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
