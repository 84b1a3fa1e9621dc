"""Show the models between a base and its tuned model: scores over the share α, a slider, and the export of a blend."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import streamlit as st

from explorer import in_words, places, progress, run_folder
from explorer.data import sources
from explorer.data.set_items import size_of
from explorer.drawing.scores import curves
from explorer.measuring.scores.verdict import CHOSE, NO_TEST, OPTIMISTIC
from explorer.studies.blend import blending
from explorer.studies.blend.blend_curve import DEV, BlendCurve
from explorer.training.record.runs import Run
from explorer.ui import messages
from explorer.ui.access import cached, jobs, sidebar_choice
from explorer.ui.frame import page_list, sidebar
from explorer.ui.widgets import controls, downloads, job_buttons, onnx_export, pair_words

TITLE, TITLE_OF_TWO = "Blend with the base", "Blend A and B"
ABOUT = (
    "Every weight between the base (α = 0) and the tuned model (α = 1). A blend often keeps what was learned and "
    "forgets less. The best α is chosen on the dev set."
)
ABOUT_TWO = "Every weight between A (α = 0) and {} (α = 1). The blend takes the place of B, on every page."
ALPHA, STEP = "α, the share of the tuned model", 0.05
OTHER_BASE = "At every α the layer & pooling is that of the tuned model; the base has another model default."
BLEND_MINUS = "the blend: {}"
COMPARE, AS_B, IS_B = "Compare this blend with the base", "Show this blend as B", "B is this blend."
FOLDER, WRITE, SHOW = "folder of the blend", "export the blend", "show the blend"


def of_run(run: Run) -> None:
    """The blends of a run that has a model, once their part of the page is open."""
    if not run.model.is_dir():
        return
    folded = st.expander(TITLE, icon=":material/blender:", key=f"open blend {run.name}", on_change="rerun")
    if not folded.open:
        return
    with folded:
        st.caption(ABOUT)
        shares = blending.BlendOptions().shares
        curve = _curve(run, shares)
        if curve is None:
            return
        figures = st.container()  # above the slider that marks a share in them
        alpha = _slider(f"alpha {run.name}", curve.best)
        if alpha not in curve.points:
            curve = _curve(run, (*shares, alpha))
        if curve is None:
            return
        with figures:
            _figures(curve, alpha)
        best = (
            " is the best on the dev set." if alpha == curve.best else f"; the best on the dev set is {curve.best:g}."
        )
        if why := curve.why_no_score(DEV):
            best = f". The dev set chooses none, since it has no score: {why}."
        st.caption(f"α = {alpha:g}{best}" + f" {OTHER_BASE}" * (not curve.same_head))
        _show(curve, alpha)
        source = _model(run.recipe().model, run_folder.model_name(run.name), alpha)
        if source is not None:

            def compare() -> None:
                page_list.compare_with_base(run)
                sidebar.choose_model_b(source)

            if st.button(COMPARE, key="compare the blend", icon=":material/compare_arrows:", on_click=compare):
                st.switch_page("pages/compare.py", query_params={})
        _export(run, curve, alpha)
        if source is not None:
            onnx_export.draw(cached.found(source))


def of_two(choice: sidebar_choice.Choice, choice_b: sidebar_choice.Choice) -> None:
    """A slider between A and B, or between A and the model that B is a blend of."""
    folded = st.expander(TITLE_OF_TWO, icon=":material/blender:", key="open blend of two", on_change="rerun")
    if not folded.open:
        return
    with folded:
        base, found = choice.found(), choice_b.found()
        ends = blending.ends_of(found.folder)
        tuned, alpha = (ends.tuned, ends.alpha) if ends and ends.base_digest == base.digest else (choice_b.source, 1.0)
        st.caption(messages.plain(ABOUT_TWO.format("B" if tuned == choice_b.source else tuned)))
        source = _model(choice.source, tuned, _slider(f"alpha {base.digest} {tuned}", alpha))
        if source == choice_b.source:
            st.caption(IS_B)
        elif source is not None:
            st.button(
                AS_B,
                key="blend as B",
                icon=":material/compare_arrows:",
                on_click=sidebar.choose_model_b,
                args=(source,),
            )


def _slider(key: str, usual: float) -> float:
    help = "0: the base. 1: the tuned model. Shares that were not scored yet are scored when they are chosen."
    knob = replace(blending.BlendOptions.knobs["alpha"], default=usual, title=ALPHA, help=help)
    alpha: float = controls.draw("", knob, key=key, slider=True, step=STEP)
    return round(alpha, 2)


def _curve(run: Run, shares: Iterable[float]) -> BlendCurve | None:
    """The scores; None, with progress or the error shown, until they are there."""

    def work() -> progress.Work[BlendCurve]:
        return (yield from blending.of_runs([run], shares))[1]

    return jobs.result(_key(run, shares), f"Blends of {run.name}", work)


def _key(run: Run, shares: Iterable[float]) -> str:
    name, recipe = run_folder.model_name(run.name), run.recipe()
    names = (name, recipe.model, *map(str, (recipe.dev, *recipe.tests)))
    return key_of(names, cached.found(name).digest, recipe.made_with, tuple(shares))


def key_of(names: tuple[str, ...], tuned: str, made_with: Mapping[str, object], shares: tuple[float, ...]) -> str:
    """What a curve is of: names of models and sets, digests of the tuned model and of what made its run, the shares.

    It shows the names, so that a run whose weights or sets are those of another one has a curve of its own; what each
    item gets is kept by digests, and not measured again for it.
    """
    return f"blends {names} {tuned} {sorted(made_with.items())} {shares}"


def _show(curve: BlendCurve, alpha: float) -> None:
    """What the blend learned, and its scores beside those of base and tuned model."""
    learned = curve.learned(alpha)
    if messages.learned(learned):
        pair_words.pairs_that_show(learned.shown_pairs)
    for use, judge in curve.sets.items():
        to_base, to_tuned = curve.against_base(use, alpha), curve.against_tuned(use, alpha)
        size = size_of(judge.given)
        of_set = messages.plain(sources.shown(judge.name))
        st.markdown(f"**{use.capitalize()}**: {of_set}, {size} · {judge.measure} × 100")
        cells = (
            ("base, model default", to_base.before, to_base),
            ("tuned model", to_tuned.before, to_tuned),
            (f"blend, α = {alpha:g}", to_base.after, None),
        )
        for card, (label, score, gap) in zip(st.columns(3, gap="small"), cells, strict=True):
            note = BLEND_MINUS.format(gap.gap) if gap and gap.gap else ""
            messages.number(card, f"{use.capitalize()}: {label}", in_words.number(score), note, border=True)
        if to_base.kind == CHOSE:
            st.caption(NO_TEST[CHOSE])
        if use in curve.optimistic:
            st.caption(f"{OPTIMISTIC.capitalize()}.")


def _figures(curve: BlendCurve, alpha: float) -> None:
    """Scores and probe packs over the share, with the chosen one marked."""
    scores = {curve.label(use): list(curve.scores(use).values()) for use in curve.sets}
    shares = [curve.packs(share) for share in curve.shares]
    packs = {name: [100 * one[name] for one in shares] for name in shares[0]}
    drawn = (
        ("blends", scores, "score × 100", "The score on each evaluation set"),
        ("blends-probe-packs", packs, "cases that are right, %", "How many cases of each probe pack are right"),
    )
    for column, (name, lines, title, alt) in zip(st.columns(2, gap="medium"), drawn, strict=True):
        if lines:
            with column:
                downloads.draw(
                    curves.by_share(curve.shares, lines, alpha, title),
                    key=name,
                    config=downloads.config(name),
                    alt=f"{alt}, for every share of the tuned model. The file below has the numbers.",
                )
    rows: in_words.Rows = [
        {"α": share, **{name: in_words.rounded(values[at]) for name, values in {**scores, **packs}.items()}}
        for at, share in enumerate(curve.shares)
    ]
    downloads.rows(rows, " ".join((*curve.tuned, "blends")), "Scores of all α (CSV)")


def _model(base: str, tuned: str, alpha: float) -> str | None:
    """The blend as a model by its name; None, with a button that writes it, until it is there. The ends are there."""
    ends = cached.found(base), cached.found(tuned)
    folder = blending.stored_in(*ends, alpha)
    source = {0.0: base, 1.0: tuned}.get(alpha, str(folder))
    if source == str(folder) and blending.ends_of(folder) is None:
        job_key, title = f"blend {folder}", f"Blend at α = {alpha:g}"
        job_buttons.button(
            st.container(),
            "Make this blend a model",
            job_key,
            partial(jobs.follow, job_key, title, partial(blending.stored, base, tuned, alpha)),
            key=SHOW,
            anew=True,
            icon=":material/add:",
            help="Writes it to the cache, so that every page can show it: maps, sentences, search, attention.",
        )
        return None
    return source


def _export(run: Run, curve: BlendCurve, alpha: float) -> None:
    def work(folder: Path) -> progress.Work[None]:
        models, found = yield from blending.of_runs([run], (*curve.shares, alpha))
        yield from blending.export(models, found, alpha, folder)

    job_buttons.export(
        places.runs_folder() / "blends" / downloads.file_name(f"{run.name} {alpha:g}"),
        lambda folder: f"export {_key(run, (alpha,))} to {folder}",
        work,
        label="Export this blend",
        key=WRITE,
        field=FOLDER,
        about=", with a model card. transformers and sentence-transformers open it.",
    )
