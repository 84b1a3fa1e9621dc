"""Test what is made before a training: back-translations despite interruptions, and a generator that guesses words."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from explorer.data import text_sets
from explorer.encoding.load import language_models
from explorer.encoding.locate.model_names import Found, of_folder
from explorer.errors import BadChoice, CannotResume, NotWritable, RunBusy, TooFewRows, UnsupportedModel
from explorer.progress import finish
from explorer.training import backtranslation
from explorer.training.backtranslation import HEADER, TranslationOptions, backtranslate, makers_file
from explorer.training.generator import make_generator
from tests.named_texts import corpus
from tests.spoiling import encoder_of
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


def test_every_sentence_stands_beside_its_back_translation_in_order_and_is_read_so(translators, out):
    told = []
    assert finish(work(out), told.append) == out
    assert out.read_bytes() == expected()
    assert translators["there"].asked == list(SENTENCES)
    assert [step.done for step in told] == [0, 0, 3, 6, 9, 10]
    assert {step.total for step in told[1:]} == {10}
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


def test_it_is_written_down_what_made_the_file_and_told_how_many_beams_the_paper_has(translators, out):
    finish(work(out, beams=7))
    assert makers_file(out).name == "mine.tsv.json"
    assert json.loads(makers_file(out).read_text()) == {
        "there": {"name": "there", "digest": "there" * 8},
        "back": {"name": "back", "digest": "back" * 8},
        "beams": 7,
    }
    beams = TranslationOptions.knobs["beams"]
    assert (beams.usual, beams.help) == ("5", "Beam size of the search; the paper's is 100.")


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


def test_real_models_translate_there_and_back(tmp_path, out):
    there, back = (of_folder(kind, save_translator(kind, tmp_path / kind)) for kind in ("fsmt", "t5"))
    finish(backtranslate(SENTENCES[:3], there, back, out, beams=2, device="cpu"))
    rows, _ = corpus([str(out)], text_sets.SENTENCES)
    assert rows.columns == (SENTENCES[:3],)
    bert = of_folder("bert", save_tiny("bert", tmp_path / "bert"))
    with pytest.raises(UnsupportedModel, match="'bert'"):
        finish(backtranslate(SENTENCES, there, bert, out.with_name("other.tsv"), device="cpu"))
    assert not out.with_name("other.tsv").exists()


# what follows a word is always the same, so there is something to learn
PHRASES = [" ".join(["a", one, *pair.split()]) for one in ("man", "woman", "dog") for pair in
             ("plays guitar", "eats pasta", "slices potatoes")] * 12  # fmt: skip


@pytest.fixture
def encoder(tmp_path):
    return encoder_of(save_tiny("bert", tmp_path / "tiny"))


def made(encoder, folder, sentences=PHRASES, **options):
    return finish(make_generator(encoder, sentences, folder, **({"steps": 60, "rate": 1e-2} | options)))


def test_it_learns_and_what_it_learned_is_a_generator_for_the_encoder(encoder, tmp_path):
    weights = {name: weight.clone() for name, weight in encoder.model.state_dict().items()}
    found = made(encoder, tmp_path / "generator")
    assert found.words > 10
    assert found.after > found.before + 0.1
    generator = language_models.load_masked(of_folder("generator", tmp_path / "generator"), encoder)
    ids, mask = encoder.padded(encoder.tokens(PHRASES[:9]).ids)
    hidden = ids.clone()
    hidden[:, 3] = encoder.tokenizer().mask_token_id
    assert (generator.guesses(hidden, mask)[:, 3] == ids[:, 3]).float().mean() > 0.2
    assert all(torch.equal(weight, weights[name]) for name, weight in encoder.model.state_dict().items())


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert"])
def test_words_at_chosen_places_are_expected_as_at_all_places(tmp_path, kind):
    encoder = encoder_of(save_tiny(kind, tmp_path / kind))
    torch.manual_seed(0)
    model = language_models.with_new_head(encoder).eval()
    ids, mask = encoder.padded(encoder.tokens(PHRASES[:5]).ids)
    chosen = torch.rand(ids.shape) < 0.4
    with torch.no_grad():
        every = model.model(input_ids=ids, attention_mask=mask.long()).logits
        assert torch.allclose(model.scores(ids, mask, chosen), every[chosen], atol=1e-6)
        assert torch.equal(model.guesses(ids, mask), every.argmax(-1).where(mask, ids))


def test_the_words_it_is_tied_to_are_those_it_reads_and_the_same_seed_makes_the_same_generator(encoder, tmp_path):
    made(encoder, tmp_path / "generator", steps=3)
    kept = load_file(tmp_path / "generator" / "model.safetensors")
    assert "cls.predictions.decoder.weight" not in kept, "one matrix reads words and guesses them"
    before = encoder.model.state_dict()["embeddings.word_embeddings.weight"]
    assert not torch.equal(kept["bert.embeddings.word_embeddings.weight"], before)
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        made(encoder, tmp_path / name, steps=3, seed=seed)
    one, again, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other


def test_what_is_measured_was_not_learned_from(encoder, tmp_path, monkeypatch):
    seen, measured = set(), set()
    monkeypatch.setattr("explorer.training.generator._learn", lambda *given: seen.update(given[-1]))
    monkeypatch.setattr(
        "explorer.training.generator._accuracy",
        lambda *given: (measured.update(given[-2]), (0.0, 1))[1],
    )
    made(encoder, tmp_path / "generator", [f"{number} guitars" for number in range(100)], steps=50)
    assert len(measured) == 12
    assert len(seen) > 60
    assert not seen & measured


def test_what_was_broken_off_leaves_nothing(encoder, tmp_path):
    work = make_generator(encoder, PHRASES, tmp_path / "generator", steps=5)
    for progress in work:
        if progress.done == 2:
            break
    work.close()
    assert [path.name for path in tmp_path.iterdir()] == ["tiny"]


def test_what_cannot_be_is_refused(encoder, tmp_path):
    with pytest.raises(TooFewRows, match="9 sentences are too few to train a generator; at least 64 are needed"):
        made(encoder, tmp_path / "generator", PHRASES[:9])
    with pytest.raises(NotWritable, match="exists already"):
        made(encoder, tmp_path / "tiny")
    decoder = encoder_of(save_tiny("t5", tmp_path / "t5"))
    decoder.tokenizer = encoder.tokenizer
    with pytest.raises(UnsupportedModel, match="is a t5, for which transformers has no masked language model"):
        made(decoder, tmp_path / "generator")
    assert not (tmp_path / "generator").exists()
