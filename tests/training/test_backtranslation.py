"""Test that sentences are translated once and in order despite interruptions, and other files are kept."""

import json
from pathlib import Path

import pytest

from explorer.commands.backtranslate import BEAMS
from explorer.data import text_sets
from explorer.data.corpora import corpus
from explorer.encoding.locate.model_names import Found, of_folder
from explorer.errors import BadChoice, CannotResume, NotWritable, RunBusy, TooFewRows, UnsupportedModel
from explorer.progress import finish
from explorer.training import backtranslation
from explorer.training.backtranslation import HEADER, backtranslate, makers_file
from tests.tiny_models import save_tiny
from tests.tiny_translators import save_translator

SENTENCES = tuple(f"a man plays {number} guitars" for number in range(10))


class Shouting:
    """A translator that can be read: it adds a mark to each sentence, and counts what it is given."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.asked: list[str] = []

    def translate(self, sentences: list[str]) -> list[str]:
        self.asked += sentences
        return [f"{sentence.upper()}\t{self.mark}\n" for sentence in sentences]


THERE, BACK = (Found(name, Path(name), digest=name * 8) for name in ("there", "back"))


@pytest.fixture
def translators(monkeypatch) -> dict[str, Shouting]:
    """Two translators that stand in for models; they are loaded anew for each job, and count through all of them."""
    made = {"there": Shouting("1"), "back": Shouting("2")}
    monkeypatch.setattr(backtranslation, "load_translator", lambda found, **_: made[found.name])
    return made


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "folder" / "mine.tsv"


def work(out: Path, sentences=SENTENCES, there=THERE, back=BACK, **options):
    return backtranslate(sentences, there, back, out, **({"batch": 3} | options))


def expected(sentences=SENTENCES) -> bytes:
    return HEADER + "".join(f"{sentence}\t{sentence.upper()} 1 2\n" for sentence in sentences).encode()


def test_every_sentence_stands_beside_its_back_translation_in_order(translators, out):
    told = []
    assert finish(work(out), told.append) == out
    assert out.read_bytes() == expected()
    assert translators["there"].asked == list(SENTENCES)
    assert [step.done for step in told] == [0, 0, 3, 6, 9, 10]
    assert {step.total for step in told[1:]} == {10}


def test_the_file_is_read_as_back_translations(translators, out):
    finish(work(out))
    rows, (report,) = corpus([str(out)], text_sets.BACK_TRANSLATIONS)
    assert rows.columns == (SENTENCES, tuple(f"{sentence.upper()} 1 2" for sentence in SENTENCES))
    assert report.rows_kept == 10


def test_odd_characters_stay_in_their_cell(translators, out):
    odd = ('"To be', "tab\there", " line\nbreak\u2028 ", "ü | ; ,", "None")
    finish(work(out, odd))
    rows, _ = corpus([str(out)], text_sets.BACK_TRANSLATIONS)
    assert rows.columns[0] == ('"To be', "tab here", "line break", "ü | ; ,", "None")
    finish(work(out, odd))


@pytest.mark.parametrize("steps", range(1, 6))
def test_a_job_that_was_stopped_goes_on_where_it_was(translators, out, steps):
    job = work(out)
    for _ in range(steps):
        next(job)
    job.close()
    finish(work(out, batch=4))
    assert out.read_bytes() == expected()
    assert translators["there"].asked == list(SENTENCES)  # none of them twice


@pytest.mark.parametrize("cut", [1, 10, len(HEADER) - 1, len(HEADER), len(HEADER) + 1, 100, 130, 10**6])
def test_a_file_torn_anywhere_is_mended(translators, out, cut):
    finish(work(out))
    out.write_bytes(expected()[:cut])
    finish(work(out))
    assert out.read_bytes() == expected()


def test_a_letter_torn_in_two_is_mended(translators, out):
    sentences = ("größe", "straße", "süß")
    finish(work(out, sentences))
    whole = out.read_bytes()
    out.write_bytes(whole[: whole.index("straße".encode()) + 5])  # between the two bytes of ß
    finish(work(out, sentences))
    assert out.read_bytes() == whole


def test_more_sentences_at_the_end_are_added(translators, out):
    finish(work(out, SENTENCES[:4]))
    finish(work(out))
    assert out.read_bytes() == expected()
    assert translators["back"].asked == [f"{sentence.upper()}\t1\n" for sentence in SENTENCES]


def test_what_is_done_needs_no_models(translators, out, monkeypatch):
    finish(work(out))
    monkeypatch.setattr(backtranslation, "load_translator", None)
    told = []
    assert finish(work(out), told.append) == out
    assert [(step.done, step.total) for step in told] == [(10, 10)]


def test_it_is_written_down_what_made_the_file(translators, out):
    finish(work(out, beams=7))
    assert makers_file(out).name == "mine.tsv.json"
    assert json.loads(makers_file(out).read_text()) == {
        "there": {"name": "there", "digest": "there" * 8},
        "back": {"name": "back", "digest": "back" * 8},
        "beams": 7,
    }


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"there": Found("there", Path(), "new")}, "was translated by 'there', which is not the model 'there' is now"),
        ({"back": Found("other", Path(), "new")}, "was translated back by 'back', which is not the model 'other' is"),
        (
            {"beams": 6},
            "was made with 5 beams, not with 6. Use the same number. Choose another file, or delete this one",
        ),
        (
            {"sentences": SENTENCES[::-1]},
            "Line 2 of .* holds 'a man plays 0 .*', not 'a man plays 9 .* another order",
        ),
        ({"sentences": SENTENCES[:3]}, "has 10 rows, but there are only 3 sentences"),
    ],
)
def test_a_file_of_something_else_is_not_gone_on_with(translators, out, changed, message):
    finish(work(out))
    with pytest.raises(CannotResume, match=message):
        finish(work(out, **changed))
    assert out.read_bytes() == expected()


def test_a_model_under_another_name_is_the_same_model(translators, out, monkeypatch):
    finish(work(out, SENTENCES[:4]))
    renamed = {"there" * 8: translators["there"], "back" * 8: translators["back"]}
    monkeypatch.setattr(backtranslation, "load_translator", lambda found, **_: renamed[found.digest])
    finish(work(out, there=Found("x", Path(), "there" * 8), back=Found("y", Path(), "back" * 8)))
    assert out.read_bytes() == expected()


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"there": {"digest": 1}}', "[" * 50_000])
def test_a_file_nobody_knows_the_makers_of_is_not_gone_on_with(translators, out, content):
    finish(work(out, SENTENCES[:4]))
    if content is None:
        makers_file(out).unlink()
    else:
        makers_file(out).write_text(content)
    with pytest.raises(
        CannotResume, match=r"mine\.tsv\.json, the record of how mine\.tsv was made, is missing or cannot be"
    ):
        finish(work(out))
    assert out.read_bytes() == expected(SENTENCES[:4])


@pytest.mark.parametrize("content", [b"my notes", b"my\nnotes\n", b"sentence\tother\na\tb\n", b"\xff\xfe\n", b"sent\n"])
def test_a_file_that_holds_something_else_is_left_as_it_is(translators, out, content):
    out.parent.mkdir()
    out.write_bytes(content)
    with pytest.raises(
        CannotResume, match=r"exists already and is not a file of back-translations. Choose another file"
    ):
        finish(work(out))
    assert out.read_bytes() == content
    assert not translators["there"].asked


@pytest.mark.parametrize("row", [b"no tab", b"a man plays 3 guitars\tA\tB", b"\xff\tA"])
def test_a_row_that_was_edited_is_found(translators, out, row):
    finish(work(out, SENTENCES[:3]))
    out.write_bytes(out.read_bytes() + row + b"\n")
    with pytest.raises(CannotResume, match="Line 5 of "):
        finish(work(out))


def test_two_jobs_do_not_write_one_file(translators, out):
    one = work(out)
    next(one), next(one)
    finish(work(out))
    with pytest.raises(RunBusy, match="is being written by another job"):
        finish(one)
    assert out.read_bytes() == expected()


def test_a_job_that_waited_for_its_models_goes_on_after_what_came_meanwhile(translators, out):
    one = work(out)
    next(one)
    finish(work(out))
    finish(one)
    assert out.read_bytes() == expected()
    assert translators["there"].asked == list(SENTENCES)


def test_a_disk_that_takes_no_more_is_told_and_what_is_written_stays(translators, out, monkeypatch):
    job = work(out)
    next(job), next(job), next(job)

    def refuse(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(backtranslation.os, "fsync", refuse)
        with pytest.raises(NotWritable, match=r"No space left on device. Make room there and start again: the rows"):
            finish(job)
    out.write_bytes(out.read_bytes()[:-7])
    finish(work(out))
    assert out.read_bytes() == expected()


def test_a_place_that_cannot_be_written_to_is_told(translators, tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(NotWritable, match=r"[Cc]hoose another file"):
        finish(work(tmp_path / "file" / "mine.tsv"))
    (tmp_path / "folder.tsv").mkdir()
    with pytest.raises(NotWritable, match="Is a directory"):
        finish(work(tmp_path / "folder.tsv"))


def test_what_cannot_be_done_is_said_before_a_model_is_loaded(out, monkeypatch):
    monkeypatch.setattr(backtranslation, "load_translator", None)
    with pytest.raises(TooFewRows, match="no sentence to translate"):
        finish(work(out, ()))
    with pytest.raises(BadChoice, match=r"mine\.csv does not end in \.tsv"):
        finish(work(out.with_suffix(".csv")))


def test_the_papers_beam_is_told():
    assert (BEAMS.usual, BEAMS.help) == ("5", "Beam size of the search; the paper's is 100.")


def test_real_models_translate_there_and_back(tmp_path, out):
    there, back = (of_folder(kind, save_translator(kind, tmp_path / kind)) for kind in ("fsmt", "t5"))
    finish(backtranslate(SENTENCES[:3], there, back, out, beams=2, device="cpu"))
    rows, _ = corpus([str(out)], text_sets.SENTENCES)
    assert rows.columns == (SENTENCES[:3],)
    bert = of_folder("bert", save_tiny("bert", tmp_path / "bert"))
    with pytest.raises(UnsupportedModel, match="'bert'"):
        finish(backtranslate(SENTENCES, there, bert, out.with_name("other.tsv"), device="cpu"))
    assert not out.with_name("other.tsv").exists()
