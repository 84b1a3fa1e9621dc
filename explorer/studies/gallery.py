"""Write a gallery: a folder of pages on runs, and copies of reports, which a browser opens without a server."""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from explorer import run_folder
from explorer.data import sources
from explorer.drawing.reports import standalone
from explorer.drawing.scores import run_figures
from explorer.errors import BadChoice, NotWritable
from explorer.knobs import Knob, Knobs, knob
from explorer.measuring.comparing import headline, learned
from explorer.measuring.comparing.verdict_sentence import Sentence, elsewhere
from explorer.measuring.scores.verdict import UNKNOWN, WORDS
from explorer.places import check_regular, given_path, whole_folder
from explorer.training.record import run_results, runs
from explorer.training.record.run_facts import REPORT
from explorer.training.record.status import FINISHED, Status

INDEX, MARK = "index.html", "gallery.json"  # the mark lists the files, by which a folder is known as a gallery
HOW = (
    "Each line is the dev score by step; the dashed one is the score of the base. A model is judged against its base "
    "as people use it: if the 95 % confidence interval includes 0, the difference could be chance."
)
DEV = "The dev set chose the checkpoint, so that its score is no evidence. A star is the best checkpoint."


@dataclass(frozen=True)
class GalleryOptions(Knobs):
    """What a gallery shows."""

    title: str = knob("Gallery", metavar="TEXT", help="The title of the first page.")
    run: tuple[str, ...] = knob(
        (),
        repeated=True,
        metavar="RUN",
        empty="all finished ones",
        help="A finished run: run:NAME, its name or folder.",
    )
    report: tuple[str, ...] = knob(
        (),
        repeated=True,
        metavar="FILE",
        help="A report to copy beside: of compare, explain, plan or shrink (--report), of advise (--html), or "
        "downloaded from a page.",
    )


@dataclass(frozen=True)
class CopiedReport:
    """A report that another command wrote: its content, its title, and the sentence that it begins with."""

    content: bytes
    title: str
    sentence: str


def write(folder: Path, options: GalleryOptions) -> Path:
    """Write the gallery, in place of an older one, and return its first page."""
    folder = folder.absolute()
    check_free(folder)  # before pages are made
    shown = [(run, run.status()) for run in chosen_runs(options.run)]
    reports = [read_report(given_path(path)) for path in options.report]
    if not shown and not reports:
        raise BadChoice("No run is finished yet. Train one, or name an example that ships: --run example.")
    _replace(folder, pages(options.title, shown, reports))
    return folder / INDEX


def chosen_runs(names: Sequence[str]) -> list[runs.Run]:
    """The finished runs that are named, or all of the user's, newest first."""
    if not names:
        return [run for run in runs.every() if run.status().state == FINISHED]
    found = list(dict.fromkeys(map(runs.named, names)))
    for run in found:
        if run.status().state != FINISHED:
            raise BadChoice(f"'{run.name}' is {run.status().state}, not finished. Finish it first, or leave it out.")
        if sum(one.name == run.name for one in found) > 1:
            raise BadChoice(f"Two runs are called '{run.name}'. Rename one of them, or leave it out.")
    return found


def pages(title: str, shown: Sequence[tuple[runs.Run, Status]], reports: Sequence[CopiedReport]) -> dict[str, bytes]:
    """The files of a gallery by name."""
    files = {f"run-{run.name}.html": run_page(run, status) for run, status in shown}
    cards = [_card(name, run, status) for name, (run, status) in zip(files, shown, strict=True)]
    copied = {f"report-{number}.html": one for number, one in enumerate(reports, start=1)}
    body = []
    if cards:
        body += [standalone.heading("Runs"), standalone.note(HOW), standalone.side_by_side(*cards, kind="cards")]
    if copied:
        listed = [
            standalone.linked(one.title, name, [standalone.paragraph(((one.sentence, False),))])
            for name, one in copied.items()
        ]
        body += [standalone.heading("Reports"), standalone.side_by_side(*listed, kind="cards")]
    files |= {name: one.content for name, one in copied.items()}
    return {INDEX: standalone.page(title, body), **files}


def _card(name: str, run: runs.Run, status: Status) -> str:
    """The verdict and a drawing of the training."""
    lines = [
        [(one.step, one.dev) for one in own if isinstance(one, run_folder.Evaluation) and one.dev is not None]
        for *_, own in run_figures.by_seed(run.metrics())
    ]
    drawn = standalone.sparkline(lines, status.base, f"Dev score of {run.called} by step")
    return standalone.linked(run.called, name, [standalone.verdict(sentence_of(status)), drawn])


def sentence_of(status: Status) -> Sentence:
    """What a run learned, or how its classes compare with those of the frozen encoder; else that it is not known."""
    if (line := headline.line(status.learned)) is not None:
        return line
    if status.frozen is not None:
        return status.frozen.sentence
    return Sentence.of(UNKNOWN, "the run has no score on a test set")


def run_page(run: runs.Run, status: Status) -> bytes:
    """The page of a run: verdict, scores, curve, settings, and the commands that repeat it."""
    facts, found = status.facts, status.learned
    further = [elsewhere(found.elsewhere), status.frozen.sentence if status.frozen else None]
    body = [standalone.verdict(sentence_of(status))]
    body += [standalone.verdict(one) for one in further if one is not None and one != sentence_of(status)]
    if headline.line(found) is not None:
        body.append(standalone.paragraph((("How sure: ", True), (learned.sure(found), False))))
    body += [standalone.note(text) for text in facts.warnings]
    if rows := score_rows(status):
        body += [standalone.heading("Scores"), standalone.table(rows)]
    evaluations = [one for one in run.metrics() if isinstance(one, run_folder.Evaluation)]
    if evaluations:
        parts = facts.folds.parts if facts.folds else ()
        curve = run_figures.dev_scores(evaluations, status.base, measure=facts.step_measure, parts=parts)
        body += [standalone.heading("Training"), standalone.picture(curve, f"{facts.step_score} by step", DEV)]
    if about := [{"": title, "value": words} for title, words in facts.listed(REPORT).items()]:
        body.append(standalone.table(about))
    body += [*_settings(run), standalone.heading("To repeat it"), *_commands(run)]
    return standalone.page(f"Run {run.called}", body)


def score_rows(status: Status) -> list[dict[str, object]]:
    """Scores of base and tuned model on each test set, on the dev set, and on sets that it was not trained for."""
    verdict = status.verdict
    if verdict is None:
        return []
    of_sets = [status.facts.judged(use, one) for use, one in verdict.by_use.items()]
    uses = [*verdict.by_use, *["elsewhere"] * len(verdict.elsewhere)]
    return [
        {
            "": use,
            "set": sources.shown(one.name),
            "items": one.items,
            "measure × 100": one.measure,
            "base, model default": one.verdict.before,
            "tuned model": one.verdict.after,
            "difference (95 % CI)": one.verdict.gap,
            "verdict": WORDS[one.verdict.kind],
        }
        for use, one in zip(uses, [*of_sets, *verdict.elsewhere], strict=True)
    ]


def _settings(run: runs.Run) -> list[str]:
    """Every setting of each method of the run, next to its default."""
    from explorer.methods import knobs_of

    body: list[str] = []
    for own in run.recipe().chain:
        knobs: Mapping[str, Knob] = knobs_of(own.kind)
        rows = [
            {"": name, "value": sources.shown(Knob.text(value)), "default": Knob.text(knobs[name].default)}
            for name, value in own.every_setting().items()
        ]
        body += [standalone.heading(f"Settings of {own.method}"), standalone.table(rows)]
    return body


def _commands(run: runs.Run) -> list[str]:
    """The commands that train the run again and compare it with its base; of a path there is the last part only."""
    recipe = run.recipe()
    compared = shlex.join(["python", "-m", "explorer", *run_results.compare_words(run)])
    lines = [shlex.join(map(sources.shown, shlex.split(one))) for one in (recipe.command(), compared)]
    return [
        standalone.note("With the paths of your models and files:"),
        standalone.code("\n".join(lines)),
    ]


class _Outline(HTMLParser):
    """The title, the policy and the first verdict or paragraph of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.policy = "", ""
        self.paragraphs: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attributes: Sequence[tuple[str, str | None]]) -> None:
        """Note what the text that follows is of."""
        known = dict(attributes)
        if tag == "meta" and known.get("http-equiv") == "Content-Security-Policy":
            self.policy = self.policy or known.get("content") or ""
        if tag in ("title", "p", "script", "style"):
            self._open = tag
        if tag == "p":
            self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        """Note that a title or a paragraph ends."""
        if tag == self._open:
            self._open = ""

    def handle_data(self, data: str) -> None:
        """Keep the text of the title and of paragraphs."""
        if self._open == "title":
            self.title += data
        elif self._open == "p":
            self.paragraphs[-1] += data


def read_report(path: Path) -> CopiedReport:
    """A report that Strata wrote; another file might load something from the network, and is refused."""
    try:
        check_regular(path)
        content = path.read_bytes()
    except OSError as error:
        raise BadChoice(f"{path} cannot be read: {error.strerror or error}. Give a report that is there.") from error
    outline = _Outline()
    with suppress(AssertionError):  # of the parser, on markup of no page
        outline.feed(content.decode("utf-8", "replace"))
    if not outline.policy.lstrip().startswith(standalone.ALONE):
        raise BadChoice(f"{path} is no report of Strata. Give a file that --report or --html has written.")
    sentence = next((text for text in outline.paragraphs if text.strip()), "")
    return CopiedReport(content, outline.title.strip() or path.name, " ".join(sentence.split()))


def check_free(folder: Path) -> None:
    """Refuse a folder that is no gallery, or that holds other files, too."""
    if not folder.exists() and not folder.is_symlink():
        return
    try:
        known = json.loads((folder / MARK).read_text(encoding="utf-8"))
        if folder.is_symlink() or not {path.name for path in folder.iterdir()} <= {*known["files"], MARK}:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise NotWritable(
            f"{folder} exists already and is no gallery, or holds other files. Choose another folder, or remove it."
        ) from None


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write the files as a folder that is complete before it takes the place of an older one."""
    new, old = (folder.with_name(f"{folder.name}.{end}") for end in ("new", "old"))
    for left in (new, old):  # by a process that was killed
        check_free(left)
        shutil.rmtree(left, ignore_errors=True)
    with whole_folder(new) as part:
        for name, content in files.items():
            (part / name).write_bytes(content)
        (part / MARK).write_text(json.dumps({"files": list(files)}), encoding="utf-8")
    try:
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    except OSError as error:
        raise NotWritable(f"{folder} cannot be written: {error.strerror}. Choose another folder.") from error
    shutil.rmtree(old, ignore_errors=True)
