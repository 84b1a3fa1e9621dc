"""Test the Search page without a browser, also on judged queries: their menu, scores and relevant documents."""

import json
import re

import numpy as np
import pytest

from explorer.__main__ import main
from explorer.data import sample, selections
from explorer.data.corpora import SAMPLE
from explorer.data.sample import SEARCH
from explorer.data.sources import identity
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import find
from explorer.encoding.read.windows import windows
from explorer.evaluating.encoded import reading_of
from explorer.evaluating.kinds import run_set
from explorer.evaluating.tasks.retrieval import retrieval
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from explorer.ui.access import selection, sidebar_choice
from explorer.ui.search import neighbours, query_view, searched_corpus
from tests.tiny_models import save_tiny
from tests.visits import buttons, by_link, cards, entered, measured, opened, pressed, words

NASTY = (
    "<b>bold</b> <img src=x onerror=alert(1)>",
    "**stars** `code` [link](javascript:alert(1)) $x^2$ :red[red] # head",
    "🦜 parrots 🦜",
    "كم ثمن هذا الببغاء؟",
    "word " * 1000,
)


@pytest.fixture(scope="module")
def place(place):
    save_tiny("bert", place.folder / "other", seed=1)
    return place


@pytest.fixture
def app(furnished, place):
    furnished.switch_page("pages/search.py")
    furnished.query_params["corpus"], furnished.query_params["precision"] = str(place.test), "float32"
    return furnished


def ask(app, text):
    """Type a text into the box and click Search."""
    app.text_input(key=query_view.QUERY).set_value(text)
    return pressed(app, query_view.SEARCH)


def in_the_address(app):
    """The query that the address names, if it names one; once a page has written it, AppTest gives a list."""
    named = app.query_params.get("query")
    return named[0] if isinstance(named, list) else named


def shown(app, side):
    """The sentences under a side, in order."""
    keys = [key for key in (button.key or "" for button in app.button) if key.startswith(f"search for {side} ")]
    texts = [text.value for text in app.text]
    return texts[: len(keys)] if side == "A" else texts[len(shown(app, "A")) :][: len(keys)]


def test_without_b_the_page_shows_what_a_finds_a_result_can_be_the_next_query_and_is_named_as_plain_text(app):
    measured(app)
    assert len(shown(app, "A")) == 10
    assert not shown(app, "B")
    assert sidebar_choice.ASK_FOR_B in words(app.caption)
    assert not app.subheader
    first = shown(app, "A")[0]
    next(one for one in app.button if (one.key or "").startswith("search for A ")).click()
    measured(app)
    assert app.text_input(key=query_view.QUERY).value == first
    assert first not in shown(app, "A"), "it does not find itself"
    assert query_view.LEFT_OUT in words(app.caption)
    ask(app, f"  {NASTY[1]}  ")
    assert app.text_input(key=query_view.QUERY).value == NASTY[1]
    assert in_the_address(app) == NASTY[1]
    assert f"**{query_view.NAMED.format(NASTY[1])}**" in words(app.markdown)
    ask(app, "long " * 999)
    assert max(len(text) for text in words(app.markdown) if text.startswith("**Results")) < 250
    app.switch_page("pages/compare.py").run()
    del app.query_params["query"]  # as a browser does
    opened(app, "search")
    assert app.text_input(key=query_view.QUERY).value == ("long " * 999).strip()
    assert in_the_address(app) == ("long " * 999).strip()


def test_a_result_opens_the_words_that_it_shares_with_the_query_under_both(app, place):
    measured(app, beside=str(place.folder / "other"), query="a red ball")
    sentence = shown(app, "B")[2]
    pressed(app, [button for button in buttons(app) if button.startswith("words of B ")][2])
    coloured = [one for one in words(app.markdown) if one.startswith(":gray-background[")]
    texts = [re.sub(r":gray-background\[(.*?):small\[ .\d\.\d\d\]\]", r"\1", one) for one in coloured]
    assert texts == ["a red ball", sentence] * 2
    assert any(one.startswith(("Under B the cosine is", "The cosine is")) for one in words(app.markdown))


def test_the_page_shows_the_numbers_of_the_command_line(app, place, capsys):
    measured(app, beside=str(place.folder / "other"), query="a red ball", k="5")
    asked = ["search", "a red ball", "--corpus", place.test, "--model", place.model, "--model", place.folder / "other"]
    capsys.readouterr()
    assert main([*map(str, asked), "--k", "5", "--precision", "float32", "--json", "--whole"]) == 0
    told = json.loads(capsys.readouterr().out)
    for side, other in ("AB", "BA"):
        assert shown(app, side) == [row["sentence"] for row in told[side]["results"]]
        for row in told[side]["results"]:
            notes = [one.value for one in app.markdown if f"cosine {row['cosine']:.3f}" in one.value]
            assert any(f"{row['mark']} · {row[f'rank in {other}']} in {other}" in note for note in notes)
    assert any(f"**{told['kept']} kept**" in one.value for one in app.markdown)
    assert any(f"Jaccard {told['jaccard']:.2f}" in one.value for one in app.markdown)
    assert cards(app)[neighbours.MEAN.format(5)] == f"{told['whole']['mean_jaccard']:.2f}"
    assert len(app.get("plotly_chart")) == 1


def test_the_same_model_on_both_sides_has_kept_everything(app, place):
    measured(app, beside=str(place.folder / "." / "tiny" / ".." / "tiny"))
    assert cards(app)[neighbours.MEAN.format(10)] == "1.00"
    assert cards(app)[neighbours.NONE_KEPT].startswith("0 ")
    assert shown(app, "A") == shown(app, "B")


@pytest.mark.parametrize("given", [None, "a red ball", ""])
def test_only_a_query_that_nobody_gave_follows_the_corpus(app, place, given):
    path = place.folder / "own.txt"
    path.write_text("A  boat sails.\nThe kettle boils.\n", encoding="utf-8")
    app.query_params["corpus"] = str(path)
    if given is not None:
        app.query_params["query"] = given
    measured(app)
    assert app.text_input(key=query_view.QUERY).value == ("A boat sails." if given is None else given)
    app.selectbox(key="corpus").set_value(SAMPLE).run()
    assert app.text_input(key=query_view.QUERY).value == (searched_corpus.DEFAULT if given is None else given)
    assert in_the_address(app) == given
    ask(app, "a boat")
    app.selectbox(key="corpus").set_value(SEARCH).run()
    assert app.text_input(key=query_view.QUERY).value == in_the_address(app) == "a boat"


def test_no_query_leaves_the_string_of_the_style_sheet():
    for text in (*NASTY, '"] {} </style><script>', "'\\\"\n\t\x7fA1 \\22 é\u200d👩\u200d🚀", "a" * 5000, ""):
        written = query_view.in_css(text)
        assert not re.search(r"[^A-Za-z0-9\\ ]", written)
        # CSS Syntax Level 3, 4.3.7: a backslash, up to six hexadecimal digits, and one space that ends them
        assert re.sub(r"\\([0-9a-f]{1,6}) ", lambda found: chr(int(found[1], 16)), written) == text


def test_an_empty_query_is_asked_for(app):
    app.run()
    ask(app, " \n ")
    assert query_view.EMPTY in words(app.info)
    assert not shown(app, "A")


@pytest.mark.parametrize("query", NASTY)
def test_any_text_can_be_the_query(app, place, query):
    measured(app, beside=str(place.folder / "other"), query=query)
    assert len(shown(app, "A")) == len(shown(app, "B")) == 10
    assert (neighbours.CUT.format(64) in words(app.warning)) == (len(query) > 1000)


def test_sentences_are_shown_as_they_are_and_never_read_as_markup(app, place):
    path = place.folder / "nasty.txt"
    path.write_text("\n".join(NASTY), encoding="utf-8")
    measured(app, corpus=str(path), beside=str(place.folder / "other"), query=searched_corpus.DEFAULT)
    found = shown(app, "A")
    assert {sentence[:20] for sentence in found} == {sentence[:20] for sentence in NASTY}
    assert max(map(len, found)) <= 400
    assert not any("onerror" in one.value or "**stars" in one.value for one in app.markdown)


@pytest.mark.parametrize(("lines", "found"), [(1, 1), (2, 2), (200, 1)])
def test_small_corpora_and_one_sentence_said_often(app, place, lines, found):
    path = place.folder / f"{lines} lines.txt"
    path.write_text("\n".join(["a man plays"] * 200 if lines == 200 else ["a man plays", "the dog"][:lines]))
    measured(app, corpus=str(path), beside=str(place.folder / "other"), query=searched_corpus.DEFAULT)
    assert len(shown(app, "A")) == len(shown(app, "B")) == found
    assert (neighbours.ONE_SENTENCE in words(app.info)) == (found == 1)


@pytest.mark.parametrize("corpus", ["nonsense", "/no/such.txt", "x" * 3000, "<b>x</b>", "\0.txt", "STS99 dev", "  "])
def test_a_corpus_that_is_not_there_is_an_error_in_words(app, corpus):
    by_link(app, corpus=corpus)
    assert app.error


def test_a_b_that_is_not_there_leaves_a_in_view(app):
    measured(app, beside="run:nobody")
    assert app.error
    assert len(shown(app, "A")) == 10


DOCUMENTS = ("a man is playing a guitar", "two dogs run", "a woman reads", "the dog sleeps", "men talk", "a cat",
             "children sing", "the man walks", "women dance", "a dog barks", "birds fly", "a woman cooks")  # fmt: skip
QUERIES = {"who plays music": {0: 1, 6: 1}, "**which** animals <b>sleep</b>": {3: 2}}


@pytest.fixture(scope="module")
def judged_folder(place):
    """Two queries that are judged."""
    folder = place.folder / "judged"
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = [json.dumps({"_id": f"{name}{at}", "text": text}) for at, text in enumerate(texts)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    rows = [
        f"queries{at}\tcorpus{document}\t{grade}"
        for at, judged in enumerate(QUERIES.values())
        for document, grade in judged.items()
    ]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return folder


@pytest.fixture
def queries(app, judged_folder):
    """The page on them."""
    app.query_params["corpus"] = str(judged_folder)
    return app


def told(app) -> list[tuple[float, list[int]]]:
    """The score of each side that has one, and the ranks of the relevant documents."""
    found = (re.match(r"\*\*nDCG@10 ([\d.]+)\*\* · relevant at rank ([\d, ]+)$", text) for text in words(app.markdown))
    return [(float(one[1]), [int(rank) for rank in one[2].split(",")]) for one in found if one]


def badges(app) -> int:
    return sum("relevant]" in text for text in words(app.markdown))


def slow_ndcg(ranks: list[int]) -> float:
    """For documents that are all graded 1, or for a single one."""
    gain = [0.0, *(1.0 for _ in range(10))]
    discount = [0.0, 1.0, 1.5849625, 2.0, 2.32192809, 2.5849625, 2.80735492, 3.0, 3.169925, 3.32192809, 3.45943162]
    found = sum(gain[rank] / discount[rank] for rank in ranks if rank <= 10)
    return 100 * found / sum(1 / discount[place] for place in range(1, len(ranks) + 1))


def test_a_query_that_is_chosen_is_searched_and_each_side_is_scored(queries, place):
    measured(queries, beside=str(place.folder / "other"), query=searched_corpus.DEFAULT)
    assert told(queries) == [], "this query is not judged"
    assert queries.selectbox(key=neighbours.MENU).value is None
    for query, judged in QUERIES.items():
        entered(queries, queries.selectbox(key=neighbours.MENU), query)
        assert queries.text_input(key=query_view.QUERY).value == query
        scores = told(queries)
        assert len(scores) == 2
        for score, ranks in scores:
            assert len(ranks) == len(judged)
            assert score == pytest.approx(slow_ndcg(ranks), abs=0.006)
        assert badges(queries) == sum(rank <= 10 for _, ranks in scores for rank in ranks)


def test_a_judged_query_that_is_typed_is_scored_too_and_any_other_one_is_not(queries):
    measured(queries, query=next(iter(QUERIES)))
    assert queries.selectbox(key=neighbours.MENU).value == next(iter(QUERIES))
    assert len(told(queries)) == 1
    ask(queries, "who plays")
    assert queries.selectbox(key=neighbours.MENU).value is None
    assert told(queries) == []
    assert badges(queries) == 0


def test_the_first_query_of_the_set_is_searched_before_one_is_given(queries):
    measured(queries)
    assert queries.text_input(key=query_view.QUERY).value == next(iter(QUERIES))
    assert len(told(queries)) == 1


def test_all_queries_are_compared_as_the_retrieval_task_scores_them(queries, place, judged_folder):
    measured(queries, beside=str(place.folder / "other"))
    task = run_set(identity(str(judged_folder)))
    encoders = [load(find(str(folder)), precision="float32", device="cpu")
                for folder in (place.model, place.folder / "other")]  # fmt: skip
    wanted = [finish(retrieval(one, task, titles=["model default"])) for one in encoders]
    means = [100 * one.items.values.mean() for one in wanted]
    shown = cards(queries)
    assert [shown[f"nDCG@10 of {name}"] for name in "AB"] == [f"{mean:.2f}" for mean in means]
    assert shown["B − A"] == f"{means[1] - means[0]:+.2f}"
    gaps = wanted[1].items.values - wanted[0].items.values
    told = f"2 queries: {(gaps > 1e-9).sum()} improved, {(gaps < -1e-9).sum()} got worse"
    assert any(text.startswith(told) for text in words(queries.caption))


def test_a_pooling_under_which_nothing_can_be_ranked_is_told(queries, place):
    measured(queries, beside=str(place.folder / "other"), reading="cls of layer 0")
    assert neighbours.NO_SCORE in words(queries.info)


def test_the_sample_has_its_judged_queries_and_other_corpora_have_none(app):
    by_link(app, corpus=sample.SEARCH)
    assert len(app.selectbox(key=neighbours.MENU).options) == 60
    entered(app, app.selectbox(key="corpus"), SAMPLE)
    assert neighbours.MENU not in {box.key for box in app.selectbox}


def test_a_damaged_folder_is_told_and_not_searched(app, place):
    (place.folder / "judged2" / "qrels").mkdir(parents=True, exist_ok=True)
    (place.folder / "judged2" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (place.folder / "judged2" / "corpus.jsonl").write_text('{"_id": "d1", "text": "a man"}\n')
    by_link(app, corpus=str(place.folder / "judged2"))
    assert any("has no file of queries" in text for text in words(app.error))


LIMIT = 16


def slow_cosines(encoder, query: str, passages) -> dict[str, tuple[float, str]]:
    """Of each passage the cosine of its best window, and that window, encoded one by one."""

    def vector(text: str):
        found = finish(of_reading(encoder, [text], reading_of(encoder, "model default"), LIMIT))[0].astype(np.float64)
        return found / np.linalg.norm(found)

    best = {}
    for passage in passages:
        of_windows = finish(windows(encoder, [passage], LIMIT)).texts
        best[passage] = max((float(vector(query) @ vector(text)), text) for text in of_windows)
    return best


def test_with_the_switch_of_the_sidebar_texts_are_searched_in_windows(app, place):
    passages = [" ".join(DOCUMENTS[at:] + DOCUMENTS[:at]) for at in range(0, 12, 3)] + ["a cat", "birds fly"]
    asked = [" ".join(passage.split()[-6:]) for passage in passages[:4]] + ["the cat", "all birds fly"]
    path = place.folder / "long.tsv"
    path.write_text("query\tpassage\n" + "".join(map("{}\t{}\n".format, asked, passages)), encoding="utf-8")
    folders = {"A": place.model, "B": place.folder / "other"}
    encoders = {side: load(find(str(folder)), precision="float32", device="cpu") for side, folder in folders.items()}
    app.query_params["sts"], app.query_params["corpus"] = str(path), searched_corpus.PAIRS
    measured(app, beside=str(folders["B"]), query=asked[0], max_length=str(LIMIT))
    cut = shown(app, "A"), told(app)
    app.toggle(key="windows").set_value(True).run()
    measured(app)
    for side, encoder in encoders.items():
        best = slow_cosines(encoder, asked[0], passages)
        order = sorted(passages, key=lambda passage: -best[passage][0])
        assert shown(app, side) == order
        for cosine, window in best.values():
            assert any(f"cosine {cosine:.3f}" in note for note in words(app.markdown))
            named = query_view.NEAREST_WINDOW.format(window) in words(app.caption)
            assert named == (window not in passages), "a text that is read whole has no window to name"
    assert words(app.caption).count(neighbours.IN_WINDOWS.format(4, 6, LIMIT)) == 2
    task = run_set(identity(str(path)))
    how = {"titles": ["model default"], "max_length": LIMIT, "windows": True}
    slow = [finish(retrieval(encoder, task, **how)) for encoder in encoders.values()]
    means = [100 * one.items.values.mean() for one in slow]
    assert [cards(app)[f"nDCG@10 of {side}"] for side in "AB"] == [f"{mean:.2f}" for mean in means]
    app.segmented_control(key="tab").set_value("Whole corpus")
    measured(app)
    assert neighbours.NOT_IN_WINDOWS in words(app.info)
    app.segmented_control(key="tab").set_value("Judged queries")
    app.toggle(key="windows").set_value(False).run()
    measured(app)
    assert (shown(app, "A"), told(app)) == cut
    assert not any("overlapping windows" in text for text in words(app.caption))


def test_a_result_and_the_query_become_the_pair_of_every_page(app):
    measured(app)
    (key, *_) = (one for one in buttons(app) if one.startswith("pair of A "))
    pressed(app, key)
    query, result = selections.read(app.session_state[selection.PAIR])
    assert query == app.text_input(key=query_view.QUERY).value
    assert result == shown(app, "A")[0]
