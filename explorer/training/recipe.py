"""The recipe of a run: method, base model, text, settings and seeds; form, file and command line share it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from explorer.data import safe_yaml, sample, sources
from explorer.data.graded.sets import AT_HAND, CROSS_FITTED, SetIdentity, halves
from explorer.data.sources import OF_SETS, OF_TEXTS
from explorer.data.text_sets import Kind
from explorer.encoding.load import chosen_prompts
from explorer.encoding.load.hardware import DEVICES, PRECISIONS
from explorer.encoding.locate import lookup, model_names
from explorer.errors import BadChoice, StrataError
from explorer.knobs import LARGEST_SEED, NUMBER_OR_TEXT, Knob, Knobs, Values, find, knob, needed
from explorer.methods import Method, Schedule, fitted_names, knobs_of, load

MOST_SEEDS = 100
MOST_STAGES = 9  # before the recipe's own training
MOST_TESTS = 20
NONE = "none"  # in place of a set
COLUMNS = "The columns of the text by their roles, where they are detected wrongly."
SETTINGS = "Settings of the method."
# the settings that a command states first, always, and those that differ, before any others
_BEFORE = ("model", "data", "dev")
_ORDER = ("elsewhere", "folds", "corpus", "watch", "elsewhere_most", "seeds", "precision", "device")


@dataclass(frozen=True)
class Stage(Knobs):
    """A training before that of the recipe: its method, its text, and the settings that are not the default."""

    method: str = needed(
        flag="stage",
        metavar="METHOD",
        help="A training before that of METHOD, which starts from its best checkpoint. --stage-data, --stage-column "
        "and --stage-set that follow are of this stage. Dev and test sets, seeds and base are those of the run.",
    )
    data: tuple[SetIdentity, ...] = knob(
        (), **OF_TEXTS, flag="stage_data", empty="that of the run", help="Its training text."
    )
    columns: Mapping[str, str] = knob({}, typed=False, help=COLUMNS)
    settings: Values = knob({}, item=NUMBER_OR_TEXT, typed=False, help=SETTINGS)


@dataclass(frozen=True)
class Recipe(Knobs):
    """The definition of a run. `settings` holds non-default values only; `made_with` holds digests and versions."""

    method: str = needed(typed=False, help="The method, such as those that 'methods' lists.")
    model: str = knob(lookup.BUNDLED, metavar="MODEL", help="The base: a name, a folder, a hub id, or run:NAME.")
    data: tuple[SetIdentity, ...] = knob(
        (sources.text(sample.TEXT),), **OF_TEXTS, least=1, help="Training text: a file, 'sample', 'STS-B', …."
    )
    columns: Mapping[str, str] = knob({}, typed=False, help=COLUMNS)
    dev: SetIdentity = knob(
        halves()[0],
        **OF_SETS,
        help="Dev set, which chooses the best checkpoint: scored pairs, a retrieval set (a BEIR folder, a file of "
        "queries and passages, or 'Sample search'), triplets, translations, 'Probe packs', or 'held-out rows' of pairs "
        "and triplets, usual for own files.",
    )
    test: SetIdentity | None = knob(halves()[1], **OF_SETS, optional=True, typed=False, help="The main test set.")
    more_tests: tuple[SetIdentity, ...] = knob(
        (),
        most=MOST_TESTS - 1,
        **OF_SETS,
        title="Further test sets",
        repeated=True,
        typed=False,
        help="The base and the best checkpoint are evaluated on these too. Each has a comparison of its own.",
    )
    elsewhere: tuple[SetIdentity, ...] = knob(
        (AT_HAND,),
        most=MOST_TESTS,
        **OF_SETS,
        title="Elsewhere",
        repeated=True,
        help="Sets that show what training costs elsewhere: scored pairs, a retrieval set or triplets, without what is "
        "in the text, the dev set or a test set. 'at hand': 'Sample pairs', 'Sample search', and 'SICK-R test', or "
        "else 'STS-B test', if STRATA_DATA has it. 'none' for none.",
    )
    elsewhere_most: int = knob(
        500,
        low=0,
        title="Most items elsewhere",
        help="At most so many pairs, queries or triplets of each of these sets, drawn by their text; 0 for all.",
    )
    folds: int = knob(
        5,
        low=2,
        high=20,
        help="With 'cross-fitted rows' as dev set: the rows are divided into so many folds without a sentence in "
        "common. For each a model is trained on the others and judged on it; the saved one is trained on all rows.",
    )
    corpus: str | None = knob(
        None, metavar="FILE|FOLDER", help="Search held-out queries among the passages of this corpus, too."
    )
    watch: tuple[str, ...] = knob(
        (),
        title="Watched pair",
        metavar="SENTENCE",
        repeated=True,
        help="Given twice, a pair of sentences: its cosine is recorded at every evaluation, and shown on Train. "
        "Others are of held-out rows or of the probe packs.",
    )
    settings: Values = knob({}, item=NUMBER_OR_TEXT, typed=False, help=SETTINGS)
    prompt: str | None = knob(None, **chosen_prompts.OF_TRAINING)
    seeds: tuple[int, ...] = knob(
        (1,),
        item=int,
        low=0,
        high=LARGEST_SEED,
        least=1,
        most=MOST_SEEDS,
        distinct=True,
        flag="seed",
        metavar="S",
        repeated=True,
        help="Whole numbers. With several, the run trains once per seed and reports mean and standard deviation.",
    )
    precision: str = knob("auto", choices=PRECISIONS, help="auto: bfloat16 if this machine supports it.")
    device: str = knob("auto", choices=DEVICES, help="auto: a GPU if there is one.")
    made_with: Mapping[str, Any] = knob({}, item=object, typed=False, help="Digests and versions.")
    stages: tuple[Stage, ...] = knob(
        (), of=Stage, most=MOST_STAGES, title="Stage", typed=False, help="Trained before it, one after the other."
    )

    def consistent(self) -> None:
        """Check the settings by the method, sets, folds and stages; settings that are the default are left out."""
        knobs = knobs_of(load(self.method))
        tests = tuple(map(str, self.tests))
        if self.more_tests and (self.test is None or len(set(tests)) < len(tests)):
            raise BadChoice(
                f"Test sets cannot be {', '.join(tests) or 'left out'}: give different ones, the main one first."
            )
        # held-out rows are others each time, and a cross-fitted row is judged by a model that it did not choose
        if not self.dev.is_own_rows and (same := [one for one in self.tests if one == self.dev]):
            raise BadChoice(
                f"The dev set and the test set cannot both be '{sources.shown(same[0])}': a set cannot test what "
                "it chose. Name another dev set, or another test set."
            )
        if len(self.seeds) > 1 and not self.trains:
            raise BadChoice(
                f"{self.method} uses no random numbers, so every seed gives the same result. Give one seed."
            )
        elsewhere = tuple(dict.fromkeys(one for one in self.elsewhere if str(one) != NONE))
        for one in elsewhere:
            if one.is_own_rows or str(one) == sample.PROBE_PACKS:
                why = "they are of the training text" if one.is_own_rows else "every run is scored on them"
                raise BadChoice(
                    f"elsewhere cannot be {str(one)!r}: {why}. Name other sets, '{sources.AT_HAND}' or '{NONE}'."
                )
        if len(self.watch) not in (0, 2) or not all(one.strip() for one in self.watch):
            raise BadChoice(f"watch cannot be {list(self.watch)!r:.200}. Give it twice, with a sentence each time.")
        self._check_folds()
        values = {name: find(knobs, name).checked(value) for name, value in self.settings.items()}
        settings = {name: value for name, value in values.items() if value != knobs[name].default}
        object.__setattr__(self, "elsewhere", elsewhere)
        object.__setattr__(self, "settings", settings)
        object.__setattr__(self, "stages", self._checked_stages())

    def _check_folds(self) -> None:
        """Refuse rows that are cross-fitted where they cannot be."""
        if not self.is_cross_fitted:
            if self.folds != self.knobs["folds"].default:
                raise BadChoice(
                    f"folds cannot be {self.folds}: no rows are cross-fitted. Leave folds out, or set dev and test to "
                    f"'{sources.CROSS_FITTED}'."
                )
            return
        if self.dev != CROSS_FITTED:
            raise BadChoice(
                f"dev cannot be {sources.shown(self.dev)!r} where a test set is '{sources.CROSS_FITTED}': the "
                f"folds choose the number of updates. Set dev to '{sources.CROSS_FITTED}', too."
            )
        if self.stages:
            raise BadChoice(
                f"'{sources.CROSS_FITTED}' cannot be used with stages: each fold would need a model of every stage. "
                "Choose another dev set and test set, or leave out the stages."
            )
        if not self.kind.trains() or not (self.kind.rows.is_judged or self.kind.predicts()):
            raise BadChoice(
                f"{self.method} trains on {self.kind.rows.title}, which cannot be judged by themselves. Choose a set "
                f"of scored pairs, triplets or queries in place of '{sources.CROSS_FITTED}'."
            )
        if self.settings.get("select_by", "dev") != "dev":
            raise BadChoice(
                f"select_by cannot be {self.settings['select_by']!r} with '{sources.CROSS_FITTED}': the rows of each "
                "fold choose. Set it to dev."
            )

    @property
    def is_cross_fitted(self) -> bool:
        """Whether every row of the text is judged, each by a model that was not trained on it."""
        return CROSS_FITTED in (self.dev, *self.tests)

    def _checked_stages(self) -> tuple[Stage, ...]:
        """The stages with every value converted to its type; an error names the stage and the value."""
        settings = self.settings
        if self.stages and settings.get("lora_rank") and settings.get("blend", 1) != 1:
            raise BadChoice(
                f"blend cannot be {settings['blend']:g} with lora_rank in a run with stages: adapters go back to the "
                "stage before, not to the base. Set blend to 1, or lora_rank to 0."
            )
        found = []
        for number, stage in enumerate(self.stages, start=1):
            with naming(self, number):
                own = replace(self, **self._of_stage(stage), stages=())
                if not own.kind.trains_encoder():
                    raise BadChoice(
                        f"{stage.method} leaves the weights of the encoder as they are, so that no further stage can "
                        "start from them. Make it the last stage, or leave it out."
                    )
                if own.settings.get("blend", 1) != 1:
                    raise BadChoice(
                        f"blend cannot be {own.settings['blend']:g} before the last stage: a blend is with the "
                        "base, and is made once, of the last stage. Set it to 1, and blend in the last stage."
                    )
            found.append(replace(stage, data=own.data, columns=own.columns, settings=own.settings))
        return tuple(found)

    @property
    def chain(self) -> tuple[Recipe, ...]:
        """The trainings of the run in order, each a recipe without stages; the last one is the recipe's own."""
        if not self.stages:
            return (self,)
        whole = {name: getattr(self, name) for name in self.declared}
        found = []
        for own in (*map(self._of_stage, self.stages), {}):
            part = object.__new__(Recipe)  # what the run is made of was checked with it
            vars(part).update({**whole, **own, "stages": ()})
            found.append(part)
        return tuple(found)

    def _of_stage(self, stage: Stage) -> dict[str, Any]:
        """What the training of a stage has in place of the recipe's own."""
        columns = stage.columns if stage.columns or stage.data else self.columns  # of the text of the run
        return {"method": stage.method, "data": stage.data or self.data, "columns": columns, "settings": stage.settings}

    @property
    def trains(self) -> bool:
        """Whether weights are trained in any stage, so that seeds differ."""
        return bool(self.stages) or self.kind.trains()

    @property
    def trains_encoder(self) -> bool:
        """Whether weights of the encoder are trained in any stage."""
        return any(one.kind.trains_encoder() for one in self.chain)

    @property
    def methods(self) -> str:
        """The methods in order: `tsdae, then contrast`."""
        return ", then ".join(one.method for one in self.chain)

    def named_models(self) -> dict[str, str]:
        """The models that settings name, such as a guide, by the name of the setting, and of its stage."""
        found: dict[str, str] = {}
        for number, one in enumerate(self.chain, start=1):
            values, prefix = one.every_setting(), f"stage_{number}_" if number <= len(self.stages) else ""
            found |= {prefix + name: model for name, model in one.kind.named_models(values).items()}
        return found

    @property
    def rows(self) -> Kind:
        """The kind of rows that the method trains on under these settings."""
        return self.kind.rows_under(self.method_values())

    @property
    def tests(self) -> tuple[SetIdentity, ...]:
        """Every test set, the main one first."""
        return (*([self.test] if self.test else []), *self.more_tests)

    @property
    def kind(self) -> type[Method]:
        """The method."""
        return load(self.method)

    def schedule(self) -> Schedule:
        """The method's schedule with the recipe's settings."""
        own = {name: value for name, value in self.settings.items() if name in Schedule.knobs}
        return self.kind.schedule.with_values(own)

    @property
    def keeps_duplicates(self) -> bool:
        """Whether a sentence that occurs twice in the text is trained on twice."""
        return "keep_duplicates" in knobs_of(self.kind) and self.schedule().keep_duplicates

    def method_values(self) -> dict[str, Any]:
        """The settings that belong to the method."""
        return {name: value for name, value in self.settings.items() if name in self.kind.knobs}

    def every_setting(self) -> dict[str, Any]:
        """Every knob of the method and of its schedule, set or not."""
        return {name: self.settings.get(name, one.default) for name, one in knobs_of(self.kind).items()}

    def command(self) -> str:
        """The command that repeats the run."""
        words = ["python", "-m", "explorer", "train", self.method, "--model", self.model]
        words += [word for text in self.data for word in ("--data", str(text))]
        words += [word for role, column in self.columns.items() for word in ("--column", f"{role}={column}")]
        for stage, own in zip(self.stages, self.chain, strict=False):
            words += ["--stage", stage.method, *(word for text in stage.data for word in ("--stage-data", str(text)))]
            words += [word for role, one in stage.columns.items() for word in ("--stage-column", f"{role}={one}")]
            for name, value in own._stated().items():
                words += ["--stage-set", f"{name}={Knob.text(value)}"]
        words += ["--dev", str(self.dev), *(word for test in self.tests or (NONE,) for word in ("--test", str(test)))]
        values = self.by_name() | {"elsewhere": self.elsewhere or (NONE,)}
        for name in (*_ORDER, *(name for name in self.knobs if name not in (*_BEFORE, *_ORDER))):
            if name == "seeds" or getattr(self, name) != self.knobs[name].default:
                words += self.knobs[name].words(values[name])
        for name, value in self._stated(*fitted_names(self.kind)).items():
            words += ["--set", f"{name}={Knob.text(value)}"]
        return shlex.join(words)

    def _stated(self, *fitted: str) -> dict[str, Any]:
        """The settings that a command states.

        Where the paper has another value for the model's family, or the text may decide (`fitted`), the method's
        default is among them.
        """
        of_family = self.kind.by_family
        others = {*(of_family.get(model_names.family(self.model), {}) if of_family else {}), *fitted}
        left = {name: one for name, one in self.every_setting().items() if name in others and name not in self.settings}
        return left | dict(self.settings)

    def digest_of(self, what: str) -> str:
        """The digest of what the run was made with: `model`, `data`, `dev`, `test 2` and so on; "" if not known."""
        return str(self.made_with.get(f"{what.replace(' ', '_')}_digest") or "")

    def how_trained(self) -> dict[str, Any]:
        """Method, precision, seeds and every setting by name, and those of stages; texts and models have digests."""
        named = {"method": self.method, "precision": self.precision, "seeds": list(self.seeds)}
        some: dict[str, Any] = {"folds": self.folds} if self.is_cross_fitted else {}
        some |= {} if self.prompt is None else {"prompt": self.prompt}
        found = {**named, **self.every_setting(), **some, "stages": len(self.stages)}
        for number, one in enumerate(self.chain[:-1], start=1):
            of_stage = {"method": one.method, **one.every_setting()}
            found |= {f"{name} of stage {number}": value for name, value in of_stage.items()}
        return found

    def trained_on(self) -> Recipe:
        """The recipe with the digests of what decides the weights, in place of all that it was made with."""
        digests = {name: one for name, one in self.made_with.items() if name.endswith("_digest")}
        decides = {name: one for name, one in digests.items() if not name.startswith(("test", "elsewhere"))}
        return replace(self, made_with=decides, elsewhere=(), watch=())

    @cached_property
    def of_any_seed(self) -> str:
        """YAML of everything that decides the weights except the seed; with digests, since edited texts differ."""
        return replace(self.trained_on(), seeds=(0,)).as_yaml()

    def as_yaml(self) -> str:
        """The text of recipe.yaml."""
        return safe_yaml.written(self.content())

    def content(self) -> dict[str, Any]:
        """What recipe.yaml holds: every setting, default or not."""
        content = self.every() | {"settings": self.every_setting()}
        some = {"elsewhere": self.elsewhere, "elsewhere_most": self.elsewhere, "folds": self.is_cross_fitted}
        some |= {"prompt": self.prompt is not None, "corpus": self.corpus, "watch": self.watch}
        some |= {"stages": ()}  # the others are always stated
        content = {name: value for name, value in content.items() if some.get(name, True)}
        if self.stages:
            stages = (Stage(one.method, one.data, one.columns, one.every_setting()) for one in self.chain[:-1])
            content["stages"] = [one.every() for one in stages]
        return content


@contextmanager
def naming(recipe: Recipe, number: int) -> Iterator[None]:
    """Name the stage of a recipe, counted from 1, in what is raised in this block; nothing in a run without stages."""
    try:
        yield
    except StrataError as error:
        if not recipe.stages or error.stage:
            raise
        own = recipe.stages[number - 1] if number <= len(recipe.stages) else recipe
        text = " + ".join(map(sources.shown, own.data or recipe.data))
        named = type(error)(f"Stage {number} of {len(recipe.stages) + 1} ({own.method} on {text}): {error}")
        named.stage = number
        raise named from error
