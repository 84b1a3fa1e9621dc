"""Test that every source gives its rows in order, and the reason why it cannot give others."""

from dataclasses import replace
from pathlib import Path

import pytest

from explorer.data import sample
from explorer.data.corpora import kind_of, without_evaluated
from explorer.data.graded import sets, sts
from explorer.data.sources import identity, is_folder
from explorer.data.tables.files import read_file
from explorer.data.text_sets import (
    BACK_TRANSLATIONS,
    DOCUMENTS,
    KINDS,
    LABELLED_TEXTS,
    PAIRS,
    SCORED_PAIRS,
    SENTENCES,
    TRIPLETS,
    Columns,
    Corpus,
    GradedPairs,
    Kind,
)
from explorer.errors import BadChoice, SetNotFound, TooFewRows, UnreadableFile, WrongColumns
from tests.named_texts import corpus, matching_sets, serves

BROUGHT = GradedPairs("mine.csv", ("a", "b", "c"), ("d", "e", "a"), (1.0, 2.0, 3.0), ("", "", ""))
FILES: dict[Kind, str] = {
    SENTENCES: "text\nOne two.\nThree four.\nOne two.\n",
    PAIRS: "anchor\tpositive\nOne two.\tOne and two.\nThree four.\tOne two.\n",
    SCORED_PAIRS: "score\tsentence1\tsentence2\n5\tOne two.\tOne and two.\n0\tThree four.\tOne two.\n2\tA b.\tA c.\n"
    "1\tA d.\tA b.\n3\tA c.\tA d.\n",
    TRIPLETS: "anchor\tpositive\tnegative\nOne two.\tOne and two.\tNone.\nThree four.\tOne two.\tNone.\n",
    BACK_TRANSLATIONS: "sentence\tback_translation\nOne two.\tOne and two.\nThree four.\tThree four.\nFive.\t5.\n",
    LABELLED_TEXTS: "label\ttext\n1\tOne two.\n0\tThree four.\n1\tOne two.\n",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of sets with SICK-R and STS17, in each row a sentence of its own; an empty cache, and no hub."""
    monkeypatch.setenv("STRATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(sts.VARIABLE, str(tmp_path))
    monkeypatch.setattr(sts, "hub_table", lambda *_, **__: None)
    for name, pairs in (("SICK/train", 4500), ("SICK/trial", 500), ("SICK/test", 4927), ("STS17_en/test", 250)):
        rows = "".join(f"{at % 6}\t{name} {at}.\tThe same.\n" for at in range(pairs))
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("score\tsentence1\tsentence2\n" + rows, encoding="utf-8")
    return tmp_path


def _file(folder: Path, content: str, name: str = "mine.tsv") -> str:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return str(path)


def _columns(source: str, eats: Kind, **columns: str) -> Columns:
    return corpus([source], eats, columns)[0].columns


def test_the_sample_gives_its_sentences_and_those_of_its_pairs_and_its_triplets():
    rows, (report,) = corpus(["sample"], SENTENCES)
    plain = sample.sentences().texts
    assert rows.columns[0][:800] == plain
    assert set(rows.columns[0]) == {*plain, *sample.pairs().first, *sample.pairs().second}
    assert len(rows) == len(set(rows.columns[0])) == report.rows_kept == 1280
    assert (rows.name, rows.kind) == ("sample", SENTENCES)
    triplets = sample.triplets()
    assert _columns("sample", TRIPLETS) == (triplets.anchors, triplets.positives, triplets.negatives)
    assert _columns("sample", PAIRS) == (triplets.anchors, triplets.positives)


def test_the_sample_gives_the_graded_pairs_of_its_train_part_and_none_that_it_is_evaluated_on():
    rows, (report,) = corpus(["sample"], SCORED_PAIRS)
    part = sample.train_part()
    assert rows.columns == (part.first, part.second, tuple(score / 5 for score in part.gold))
    assert rows.texts == (part.first, part.second)
    assert report.rows_kept == len(part) < len(sample.dev()) == 120
    assert report.score_range == (0, 5)
    dev, test = matching_sets(["sample"], SCORED_PAIRS)
    assert (sets.load(dev), sets.load(test)) == (sample.dev_part(), sample.test())
    assert without_evaluated(rows, [sample.dev_part().sentences, sample.test().sentences], 1) == (rows, "")
    assert matching_sets(["sample"], SENTENCES) is None
    assert matching_sets(["sample train part", "STS-B train"], SENTENCES) == (dev, test), "those of the first"


@pytest.mark.parametrize("wanted", [SCORED_PAIRS, SENTENCES])
@pytest.mark.parametrize("name", ["STS-B", "SICK-R"])
def test_the_dev_and_test_split_of_a_published_set_belong_to_its_train_split(name, wanted):
    own = sets.dev_and_test(identity(name))
    for text in (f"{name} train", name, f"{name} train, 200 items"):
        assert matching_sets([text], wanted) == own
        assert matching_sets(["a-file.csv", text, "sample train part"], wanted) == own
    for text in (f"{name} dev", f"{name} test", f"{name} dev, 200 items", "STS12", "STS17 test"):
        assert matching_sets([text], wanted) is None, "they are not to be trained on, or lack one of the two"


def test_scores_of_each_source_are_scaled_by_its_own_range_and_names_of_sets_give_pairs_to_train_on(folder):
    one = _file(folder, "score\tsentence1\tsentence2\n3\ta\tb\n5\tc\td\n4\te\tf\n4\tg\th\n3\ti\tj\n", "one.tsv")
    rows, reports = corpus(
        [one, _file(folder, "a,b,rating\nx,y,-0.5\nz,w,0\nu,v,1.5\ns,t,0\nq,r,1.5\n", "two.csv")], SCORED_PAIRS
    )
    assert rows.columns == (tuple("acegixzusq"), tuple("bdfhjywvtr"), (0, 1, 0.5, 0.5, 0, 0, 0.25, 1, 0.25, 1))
    assert [report.score_range for report in reports] == [(3, 5), (-0.5, 1.5)]
    assert str(rows.scale) == "0 to 1", "both have it in common"
    rows, _ = corpus([one], SCORED_PAIRS)
    assert (str(rows.scale), rows.scale.own(rows.scores)) == ("3 to 5", (3, 5, 4, 4, 3))
    assert _columns(sets.keep(BROUGHT).written, SCORED_PAIRS) == (BROUGHT.first, BROUGHT.second, (0.0, 0.5, 1.0))
    train = _columns("SICK-R train", SCORED_PAIRS)
    assert [len(column) for column in train] == [4500] * 3
    assert _columns("sick", SCORED_PAIRS) == train
    assert [len(column) for column in _columns("STS17", SCORED_PAIRS)] == [250] * 3, "it has a test split alone"


def test_the_train_part_of_an_own_set_is_trained_on_beside_its_dev_part_and_test_half():
    rows = [(f"left {row}", f"right {row}", float(row % 6)) for row in range(200)]
    first, second, gold = zip(*rows, strict=True)
    part, _ = sets.parts(sets.keep(GradedPairs("mine.csv", first, second, gold, ("",) * 200)))
    found, (report,) = corpus([part.written], SCORED_PAIRS)
    assert 50 < len(found) < 100
    assert found.texts == (sets.load(part).first, sets.load(part).second)
    assert report.score_range == (0, 5)
    evaluated = [sets.load(one) for one in matching_sets([part.written], SCORED_PAIRS) or ()]
    assert len(evaluated) == 2
    assert without_evaluated(found, [one.sentences for one in evaluated], 1) == (found, "")


def test_a_source_says_what_it_lacks(folder):
    pairs = serves(_file(folder, FILES[PAIRS]))
    assert pairs[TRIPLETS] == "has two sentences per row and no contradiction: a third column is needed"
    assert "name their columns sentence=… and translated=…" in pairs[BACK_TRANSLATIONS]
    assert "may be unrelated" in serves(_file(folder, FILES[SCORED_PAIRS]))[PAIRS]
    assert serves(_file(folder, FILES[SENTENCES]))[PAIRS] == "has one sentence per row: a second column is needed"
    with pytest.raises(WrongColumns, match="make them with 'python -m explorer backtranslate'"):
        corpus(["sample"], BACK_TRANSLATIONS)


# in the order of FILES: what each kind of file gives to each need
ONE, TWO, THREE = "One two.", "One and two.", "Three four."
GIVEN: dict[tuple[Kind, Kind], Columns] = {
    (SENTENCES, SENTENCES): ((ONE, THREE),),
    (PAIRS, SENTENCES): ((ONE, THREE, TWO),),
    (SCORED_PAIRS, SENTENCES): ((ONE, THREE, "A b.", "A d.", "A c.", TWO),),
    (TRIPLETS, SENTENCES): ((ONE, THREE, TWO, "None."),),
    (BACK_TRANSLATIONS, SENTENCES): ((ONE, THREE, "Five."),),  # not the machine's
    (LABELLED_TEXTS, SENTENCES): ((ONE, THREE),),
    (PAIRS, PAIRS): ((ONE, THREE), (TWO, ONE)),
    (TRIPLETS, PAIRS): ((ONE, THREE), (TWO, ONE)),
    (BACK_TRANSLATIONS, PAIRS): ((ONE, "Five."), (TWO, "5.")),  # not what came back as it went
    (TRIPLETS, TRIPLETS): ((ONE, THREE), (TWO, ONE), ("None.", "None.")),
    (BACK_TRANSLATIONS, BACK_TRANSLATIONS): ((ONE, THREE, "Five."), (TWO, THREE, "5.")),
    (SENTENCES, DOCUMENTS): ((ONE, THREE, ONE),),
    (LABELLED_TEXTS, DOCUMENTS): ((ONE, THREE, ONE),),
    (SCORED_PAIRS, SCORED_PAIRS): (
        (ONE, THREE, "A b.", "A d.", "A c."),
        (TWO, ONE, "A c.", "A b.", "A d."),
        (1.0, 0.0, 0.4, 0.2, 0.6),
    ),
}


@pytest.mark.parametrize("eats", [eats for eats in KINDS if eats != LABELLED_TEXTS], ids=str)
@pytest.mark.parametrize("kind", FILES, ids=str)
def test_a_file_gives_what_its_kind_holds_and_says_why_not_more(folder, kind, eats):
    source = _file(folder, FILES[kind])
    guessed = SENTENCES if kind == LABELLED_TEXTS else kind  # unless labels are asked for
    lack = serves(source)[eats]
    assert (lack == "") == ((kind, eats) in GIVEN) == guessed.gives(eats)
    if not lack:
        assert _columns(source, eats) == GIVEN[kind, eats]
    else:
        with pytest.raises(WrongColumns, match=r"mine\.tsv cannot give .*: it has .*\. Choose other data") as raised:
            corpus([source], eats)
        assert lack in str(raised.value)


@pytest.mark.parametrize("kind", FILES, ids=str)
def test_a_file_is_labelled_if_it_has_classes_or_triplets(folder, kind):
    source = _file(folder, FILES[kind])
    lack = serves(source)[LABELLED_TEXTS]
    assert (lack == "") == kind.gives(LABELLED_TEXTS) == (kind in (LABELLED_TEXTS, TRIPLETS))
    rows = len(read_file(source).rows) * (2 if kind == TRIPLETS else 1)
    few = f"has {rows} rows, and 0 of them would choose the checkpoint"
    with pytest.raises(WrongColumns if lack else TooFewRows, match=lack or few):
        corpus([source], LABELLED_TEXTS)


def test_labelled_rows_are_joined_with_their_validation_and_test_rows_but_not_with_pairs(folder):
    lines = "".join(f"{'yes' if at % 2 else 'no'}\tText {at}.\n" for at in range(100))
    source = _file(folder, f"label\ttext\n{lines}")
    rows, (report, _) = corpus([source, source], LABELLED_TEXTS)
    assert (rows.name, report.rows_kept) == ("mine.tsv + mine.tsv", 100)
    assert [len(part) for part in (rows, rows.validation, rows.test)] == [160, 20, 20]
    assert (len(rows.texts), set(rows.labels)) == (1, {"yes", "no"})
    assert all(label == ("yes" if int(text[5:-1]) % 2 else "no") for text, label in zip(*rows.columns, strict=True))
    assert rows.classes == ("no", "yes")
    assert rows.division.count("a tenth of the rows chooses the checkpoint") == 2
    changed = replace(rows, test=replace(rows.test, columns=(("x",) * 20, rows.test.labels)))
    assert changed.digest != rows.digest, "a run is not resumed on other test rows"
    assert corpus([source], SENTENCES)[0].columns[0][:2] == ("Text 0.", "Text 1.")
    lines = "".join(f"{'yes' if at % 2 else 'no'}\tText {at}.\n" for at in range(100))
    with pytest.raises(WrongColumns, match=r"sample and mine\.tsv cannot be joined: some rows have one sentence"):
        corpus(["sample", _file(folder, f"label\ttext\n{lines}")], LABELLED_TEXTS)


def test_a_labelled_set_gives_its_training_sentences(folder):
    assert {eats for eats, lack in serves("GLUE RTE").items() if not lack} == {SENTENCES, LABELLED_TEXTS}
    (folder / "GLUE" / "RTE").mkdir(parents=True)
    for split, count in (("train", 2490), ("dev", 277)):
        lines = "".join(f"{at % 2}\t{split} {at}\tand {at}\n" for at in range(count))
        (folder / "GLUE" / "RTE" / f"{split}.tsv").write_text(f"label\tsentence1\tsentence2\n{lines}")
    (texts,) = _columns("rte", SENTENCES)
    assert len(texts) == 2 * 2490
    assert {text.split()[0] for text in texts} == {"train", "and"}
    rows, _ = corpus(["GLUE RTE"], LABELLED_TEXTS)
    assert (rows.validation.texts[0][-1], rows.test.texts[0][0]) == ("dev 26", "dev 27")


def test_every_kind_of_file_has_its_needs():
    assert FILES.keys() == set(KINDS) - {DOCUMENTS}, "a file of documents looks like one of sentences"


def test_the_rows_of_several_files_are_counted_together(folder):
    files = [_file(folder, FILES[SCORED_PAIRS], name) for name in ("one.tsv", "two.tsv")]
    of_one, of_both = (kind_of([identity(file) for file in some]) for some in (files[:1], files))
    assert of_one == (SCORED_PAIRS, 2, len(read_file(files[0]).rows))
    assert of_both == (SCORED_PAIRS, 2, 2 * of_one[2])


def test_people_choose_the_columns(folder):
    source = _file(folder, "text\tother\tscore\n1 a b\tc d e\t3\nf g h\ti j k\t4\n")
    assert _columns(source, SENTENCES) == (("1 a b", "f g h"),)
    assert _columns(source, SENTENCES, sentence="other") == (("c d e", "i j k"),)
    chosen = {"sentence": "other", "translated": "text"}
    assert _columns(source, BACK_TRANSLATIONS, **chosen) == (("c d e", "i j k"), ("1 a b", "f g h"))
    assert serves(source, chosen)[BACK_TRANSLATIONS] == ""
    assert _columns(source, PAIRS, first="text", second="other")[1] == ("c d e", "i j k")
    assert _columns(_file(folder, FILES[SCORED_PAIRS]), SENTENCES, sentence="sentence2") == (
        GIVEN[SCORED_PAIRS, SCORED_PAIRS][1],
    )
    source = _file(folder, "a\tb\tc\nOne two.\tOne and two.\tx\nThree four.\tNone.\ty\n")
    assert _columns(source, SENTENCES, text="b", label="c") == ((TWO, "None."),)
    assert _columns(source, SENTENCES, text="b", label="c", second="a") == ((TWO, "None.", ONE, THREE),)
    assert serves(source, {"text": "b", "label": "c"})[PAIRS] == "has one sentence per row: a second column is needed"
    source = _file(folder, "premise\thypothesis\tlabel\nOne two.\tOne and two.\tneutral\n")
    assert _columns(source, SENTENCES) == ((ONE, TWO),)


def test_sets_give_sentences_and_are_not_read_to_say_so(monkeypatch):
    brought = sets.keep(BROUGHT).written
    assert _columns(brought, SENTENCES) == (("a", "b", "c", "d", "e"),)
    assert _columns("Sample pairs", SENTENCES) == (sample.pairs().sentences,)
    monkeypatch.setattr(sts, "load", None)
    monkeypatch.setattr(sets, "uploaded_pairs", None)
    for source in (brought, *(one.written for one in sets.halves()), "STS-B", "STS-B dev", "sick"):
        assert {eats for eats, lack in serves(source).items() if not lack} == {SENTENCES, SCORED_PAIRS}
        with pytest.raises(WrongColumns, match="may be unrelated"):
            corpus([source], PAIRS)
    assert {eats for eats, lack in serves("sample").items() if lack} == {BACK_TRANSLATIONS, DOCUMENTS}


def test_a_set_without_a_split_gives_the_sentences_of_all_its_splits(folder):
    (texts,) = _columns("SICK-R", SENTENCES)
    assert (len(texts), texts[0]) == (4500 + 500 + 4927 + 1, "SICK/train 0.")
    assert texts[-1] == "SICK/test 4926."
    assert _columns("sick train", SENTENCES)[0][-2:] == ("SICK/train 4499.", "The same.")
    assert _columns("STS17", SENTENCES) == _columns("STS17 test", SENTENCES)
    found = {keep: len(corpus(["SICK-R"], SENTENCES, keep_duplicates=keep)[0]) for keep in (True, False)}
    assert found == {True: 2 * (4500 + 500 + 4927), False: 4500 + 500 + 4927 + 1}


def test_the_name_of_a_published_set_is_no_folder_and_a_path_is_no_name(folder, monkeypatch):
    named = _columns("SICK", SCORED_PAIRS)
    monkeypatch.chdir(folder)
    assert _columns("SICK", SCORED_PAIRS) == named
    assert (is_folder("SICK"), serves("SICK")[SCORED_PAIRS]) == (False, "")
    for path in ("./SICK", str(folder / "SICK"), "../" + folder.name + "/SICK"):
        assert (is_folder(path), identity(path).is_scored) == (True, False)
    Path("STS12").write_text("score\tsentence1\tsentence2\n1\ta\tb\n2\tc\td\n3\te\tf\n", encoding="utf-8")
    assert not identity("./STS12").is_scored


def test_sources_are_joined_in_order_and_a_sentence_is_kept_once_but_pairs_row_by_row(folder):
    one, two = _file(folder, "Six.\nThe same.\n", "one.txt"), _file(folder, FILES[PAIRS], "two.tsv")
    rows, reports = corpus([one, "STS17 test", two], SENTENCES)
    assert rows.columns[0][:3] == ("Six.", "The same.", "STS17_en/test 0.")
    assert rows.columns[0][-3:] == (ONE, THREE, TWO)
    assert len(rows) == len(set(rows.columns[0])) == 2 + 250 + 3
    assert rows.name == "one.txt + STS17 test + two.tsv"
    assert [report.rows_kept for report in reports] == [2, 251, 3]
    source = _file(folder, FILES[TRIPLETS])
    rows, _ = corpus(["sample", source, source], PAIRS)
    assert len(rows) == 160 + 2 + 2
    assert [column[-2:] for column in rows.columns] == [(ONE, THREE), (TWO, ONE)]


def test_duplicates_are_kept_if_they_are_asked_for(folder):
    one, two = _file(folder, "Six.\nThe same.\nSix.\n", "one.txt"), _file(folder, FILES[PAIRS], "two.tsv")
    rows, reports = corpus([one, "STS17 test", two], SENTENCES, keep_duplicates=True)
    texts = list(rows.columns[0])
    assert texts[:3] == ["Six.", "The same.", "Six."]
    assert texts[3:503] == [f"STS17_en/test {at}." for at in range(250)] + ["The same."] * 250
    assert texts[503:] == [ONE, THREE, TWO, ONE]
    assert rows.duplicates == 1 + 250 + 1
    assert [(report.rows_kept, report.duplicates, report.dropped) for report in reports] == [
        (3, 1, ()), (500, 249, ()), (4, 1, ())]  # fmt: skip
    once, _ = corpus([one, "STS17 test", two], SENTENCES)
    assert once.columns[0] == tuple(dict.fromkeys(texts)), "in the same order"
    assert once.duplicates == 0


def test_a_report_tells_what_became_of_a_files_sentences(folder):
    _, (report,) = corpus([_file(folder, FILES[PAIRS] + "\tAlone.\n")], SENTENCES)
    assert (report.rows_read, report.rows_kept) == (6, 4)
    assert [str(each) for each in report.dropped] == [
        "1 dropped: empty sentence (line 4)",
        "1 dropped: sentence seen before (line 3)",
    ]


def test_roles_that_belong_to_no_kind_together_are_answered_with_those_that_do(folder):
    source = _file(folder, FILES[PAIRS])
    for choose in (corpus, lambda sources, _, columns: serves(sources[0], columns)):
        with pytest.raises(
            WrongColumns, match=r"has the roles sentence, anchor\. There are sentences: sentence; pairs"
        ):
            choose([source], PAIRS, {"sentence": "positive", "anchor": "anchor"})
        with pytest.raises(WrongColumns, match=r"mine\.tsv has no column 'x' for second"):
            choose([source], PAIRS, {"second": "x"})


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("MNLI", SetNotFound,
         r"There is no set 'MNLI'\. There are: STS-B, .* Or give 'sample' or 'minimal pairs' or 'more"),
        ("STS-B half", SetNotFound, "STS-B has no split 'half'"),
        ("x" * 5000, SetNotFound, "There is no set 'xxx"),
        ("", SetNotFound, "There is no set ''"),
        ("gone.tsv", UnreadableFile, r"There is no file gone\.tsv"),
        ("gone/mnli", UnreadableFile, r"There is no file gone.mnli"),
    ],
)  # fmt: skip
def test_an_unknown_source_is_answered_with_what_there_is(source, error, message, folder, monkeypatch):
    monkeypatch.chdir(folder / "SICK")
    for ask in (serves, lambda name: corpus([name], SENTENCES)):
        with pytest.raises(error, match=message):
            ask(source)


def test_what_is_out_of_reach_unknown_or_empty_is_no_corpus(folder, monkeypatch):
    with pytest.raises(SetNotFound, match="STS-B train is not available"):
        corpus(["STS-B"], SENTENCES)
    with pytest.raises(SetNotFound, match="is no longer stored"):
        corpus(["gone.csv · 0123abcd"], SENTENCES)
    with pytest.raises(BadChoice, match=r"No training text is named\. Give 'sample'"):
        corpus([], SENTENCES)
    with pytest.raises(TooFewRows, match="Pairs need at least 2"):
        corpus([_file(folder, "anchor\tpositive\nOne.\tTwo.\n")], PAIRS)
    _file(folder, "One.\n", "notes")
    monkeypatch.chdir(folder)
    with pytest.raises(UnreadableFile, match="notes has no ending"):
        corpus(["notes"], SENTENCES)


def test_going_online_is_passed_on(monkeypatch):
    asked: list[bool] = []
    monkeypatch.setattr(sts, "hub_table", lambda *_, online: asked.append(online))
    for source in ("STS-B", "STS-B dev"):
        with pytest.raises(SetNotFound):
            corpus([source], SENTENCES, online=True)
    assert asked == [True, True]


def test_a_digest_is_the_rows_and_their_kind_and_not_their_name():
    rows = Corpus("x", PAIRS, (("a",), ("b",)))
    assert rows.digest == Corpus("y", PAIRS, (("a",), ("b",))).digest
    others = Corpus("x", BACK_TRANSLATIONS, (("a",), ("b",))), Corpus("x", PAIRS, (("a",), ("c",)))
    assert rows.digest not in {other.digest for other in others}
    assert len(rows) == 1


def test_documents_are_the_rows_of_a_file_whole_and_in_order(folder):
    body = '"A first. \n\nA second, longer."', "A third one here.", "Again"
    lines = "".join(f"The title of this,{text}\n" for text in body)
    source = _file(folder, f"title,body\n{lines}", "a.csv")
    with pytest.raises(
        WrongColumns, match=r"cannot give documents: it has no documents: .* name its column document=…"
    ):
        corpus([source], DOCUMENTS)
    rows, (report,) = corpus([source], DOCUMENTS, {"document": "body"})
    assert rows.columns == rows.texts == (("A first. A second, longer.", "A third one here.", "Again"),)
    assert report.rows_kept == 3
    assert rows.digest == corpus([_file(folder, "A first. A second, longer.\nA third one here.\nAgain\n", "a.txt")],
                                 DOCUMENTS)[0].digest  # fmt: skip
    for lines in ("sample", "STS-B", "minimal pairs"):
        with pytest.raises(WrongColumns, match="has no documents"):
            corpus([lines], DOCUMENTS)
