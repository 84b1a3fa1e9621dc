"""List the published STS sets: their splits and sizes, their files in a folder and on the hub, their names in MTEB."""

from dataclasses import dataclass

LANGUAGES = {  # by the codes of SemEval, as MTEB writes them
    "ar": "ara-Arab",
    "de": "deu-Latn",
    "en": "eng-Latn",
    "es": "spa-Latn",
    "fr": "fra-Latn",
    "it": "ita-Latn",
    "pl": "pol-Latn",
    "ru": "rus-Cyrl",
    "tr": "tur-Latn",
    "zh": "cmn-Hans",
}


@dataclass(frozen=True)
class Split:
    """One split of a set: its file in a folder, its size, and its file on the hub."""

    name: str  # "all" for a set without splits
    file: str
    rows: int
    sizes: tuple[int, ...] = ()  # rows per sub-corpus, or per class and the largest first, if published
    # what its path on the hub contains, or with a / the path before its ending; empty: not on the hub
    on_hub: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()  # files of a folder that are this split together


@dataclass(frozen=True)
class InMteb:
    """A task of MTEB, or one of its subsets, in which the pairs and the metric are the same."""

    task: str
    subset: str = "default"
    languages: tuple[str, ...] = (LANGUAGES["en"],)


@dataclass(frozen=True)
class PublishedSet:
    """The description of one set, of scored pairs or of texts with labels."""

    name: str
    splits: tuple[Split, ...]
    hub_id: str = ""
    also: tuple[str, ...] = ()  # other names, normalised by `plain`
    part: str | None = None  # the column that names the sub-corpus
    tag: str | None = None  # another column with a label of each pair
    about: str = ""  # what the labels mean, how many there are, and the columns of the files
    classes: int = 2
    columns: str = "score sentence1 sentence2"
    revision: str | None = None  # of the hub, if the newest one is not the one to download
    language: str = ""  # of its rows, in a file of several languages
    as_written: bool = False  # texts keep every space and line end
    both: str = ""  # the column of both sentences, a line each
    in_mteb: InMteb | None = None

    @property
    def folds(self) -> bool:
        """Whether a classifier on fixed vectors can be scored on it; not on a dev split alone."""
        return any(split.name in ("all", "test") for split in self.splits)


def _test(folder: str, rows: int, *sizes: int, on_hub: str = "test") -> tuple[Split]:
    return (Split("test", f"{folder}/test.tsv", rows, sizes, (on_hub,)),)


def _year(name: str, *sizes: int) -> PublishedSet:
    """The English set of a year of SemEval, with the sizes of its sub-corpora."""
    splits = _test(name, sum(sizes), *sizes)
    return PublishedSet(name, splits, f"mteb/{name.lower()}-sts", part="source", in_mteb=InMteb(name))


def _track(first: str, second: str, *, turned: bool = False) -> PublishedSet:
    """A track of SemEval-2017's task 1: 250 pairs of two languages, which the hub may name in the other order."""
    languages = (second, first) if turned else (first, second)
    subset = "-".join(languages)
    return PublishedSet(
        f"STS17-{first}-{second}",
        (Split("test", f"STS17_{first}_{second}/test.tsv", 250, on_hub=(subset,)),),
        "mteb/sts17-crosslingual-sts",
        in_mteb=InMteb("STS17", subset, tuple(LANGUAGES[one] for one in dict.fromkeys(languages))),
    )


def _news(rows: int, *languages: str) -> PublishedSet:
    """A subset of STS22.v2: news articles of one or two languages."""
    subset = "-".join(languages)
    english = languages == ("en",)
    on_hub = ("data/test*", f"test/{subset}", f"{subset}/test*")
    return PublishedSet(
        "STS22.v2" if english else f"STS22.v2-{subset}",
        (Split("test", "STS22.v2/test.tsv", rows, on_hub=on_hub),),
        "mteb/sts22-crosslingual-sts",
        also=("sts22v2en",) if english else (),
        columns="score sentence1 sentence2 lang",
        # MTEB's; others have the pairs with an empty article, too, which are dropped
        revision="d31f33a128469b20e357535c39b82fb3c3f6f2bd",
        language=subset,
        as_written=True,
        in_mteb=InMteb("STS22.v2", subset, tuple(LANGUAGES[one] for one in languages)),
    )


# Chen et al. 2022, without the pairs with an empty article, as MTEB counts them
NEWS = (
    _news(197, "en"),
    _news(514, "de"),
    _news(200, "es"),
    _news(182, "pl"),
    _news(208, "tr"),
    _news(193, "ar"),
    _news(265, "ru"),
    _news(637, "zh"),
    _news(101, "fr"),
    _news(158, "de", "en"),
    _news(365, "es", "en"),
    _news(407, "it"),
    _news(48, "pl", "en"),
    _news(161, "zh", "en"),
    _news(212, "es", "it"),
    _news(74, "de", "fr"),
    _news(28, "de", "pl"),
    _news(8, "fr", "pl"),
)

# Sizes: Cer et al. 2017 (STS-B, STS17), Marelli et al. 2014 (SICK); the yearly tasks as SentEval scores them,
# that is without pairs without a score and, in 2013, without SMT, which is not free; Agirre et al. 2014 (Spanish:
# Wikipedia and news); Soğancıoğlu et al. 2017 (BIOSSES); Abdalla et al. 2023 (STR-2022).
SETS = (
    PublishedSet(
        "STS-B",
        (
            Split("train", "STSB/train.tsv", 5749, (3299, 2000, 450), ("train",)),
            Split("dev", "STSB/dev.tsv", 1500, (500, 625, 375), ("validation", "dev")),
            Split("test", "STSB/test.tsv", 1379, (500, 625, 254), ("test",)),
        ),
        "mteb/stsbenchmark-sts",
        also=("stsbenchmark",),
        part="genre",
        tag="source",
        in_mteb=InMteb("STSBenchmark"),
    ),
    _year("STS12", 750, 750, 459, 750, 399),
    _year("STS13", 189, 750, 561),
    _year("STS14", 450, 300, 750, 750, 750, 750),
    _year("STS15", 375, 750, 375, 750, 750),
    _year("STS16", 254, 249, 230, 244, 209),
    PublishedSet(
        "SICK-R",
        (
            Split("train", "SICK/train.tsv", 4500),
            Split("dev", "SICK/trial.tsv", 500),
            Split("test", "SICK/test.tsv", 4927),
        ),
        "mteb/sickr-sts",
        also=("sick",),
        tag="entailment",
    ),
    PublishedSet(
        "SICK-R-all",
        (
            Split(
                "test",
                "SICK/all.tsv",
                9927,
                on_hub=("test",),
                joined=("SICK/train.tsv", "SICK/trial.tsv", "SICK/test.tsv"),
            ),
        ),
        "mteb/sickr-sts",
        in_mteb=InMteb("SICK-R"),
    ),
    PublishedSet(
        "STS17",
        _test("STS17_en", 250, on_hub="en-en"),
        "mteb/sts17-crosslingual-sts",
        also=("sts17en", "sts17enen"),
        in_mteb=InMteb("STS17", "en-en"),
    ),
    _track("ar", "ar"),
    _track("es", "es"),
    _track("ar", "en", turned=True),
    _track("es", "en"),
    PublishedSet("STS17-es-en-wmt", (Split("test", "STS17_es_en_wmt/test.tsv", 250),)),
    _track("tr", "en", turned=True),
    PublishedSet("STS14-es", (Split("test", "STS14_es/test.tsv", 804, (324, 480)),), part="source"),
    PublishedSet("BIOSSES", _test("BIOSSES", 100), "mteb/biosses-sts", as_written=True, in_mteb=InMteb("BIOSSES")),
    *NEWS,
    PublishedSet(
        "STR-2022",
        (Split("test", "STR-2022/sem_text_rel_ranked.csv", 5500, on_hub=("sem_text_rel_ranked",)),),
        "vkpriya/str-2022",
        also=("str",),
        columns="Text Score",
        both="Text",
    ),
)
