"""Test the command that mines hard negatives: what it prints, that `train` reads it, and what it refuses."""

import csv
import io

from explorer.data import corpora, sources
from explorer.data.text_sets import TRIPLETS
from explorer.methods import negative_id, written_id
from tests import trainings
from tests.trainings import words_of


def test_a_csv_is_read_as_triplets_and_has_what_the_json_has(place, other, done, answered, tmp_path):
    given = ("mine", place.triplets, "--model", place.model, "--guide", other, "--hard-negatives", 2)
    found = answered(*given, "--json")
    text, summary = done(*given, "--csv")
    assert summary.strip().endswith(found["summary"])
    lines = list(csv.DictReader(io.StringIO(text)))
    assert [line["negative"] for line in lines] == [line["negative"] for line in found["negatives"]]
    assert [float(line["guide"]) for line in lines] == [line["guide"] for line in found["negatives"]]
    closer = sum(line["guide"] > line["guide_of_positive"] for line in found["negatives"])
    assert sum(line["is_closer"] for line in found["negatives"]) == closer > 0
    assert found["summary"].startswith(f"{closer} of {2 * found['rows']} hard negatives are closer")
    file = tmp_path / "mined.csv"
    file.write_text(text, encoding="utf-8")
    corpus, _ = corpora.corpus(sources.texts([str(file)]), TRIPLETS)
    assert corpus.texts[2] == tuple(line["negative"] for line in lines)
    done(*words_of(trainings.recipe(place, "contrast-hard", data=(str(file),), settings={"steps": 1})), "--estimate")


def test_the_closest_by_the_guide_are_printed_first_and_may_be_dropped(place, other, done, answered):
    given = ("mine", place.triplets, "--model", place.model, "--guide", other)
    lines = answered(*given, "--json")["negatives"]
    text, _ = done(*given)
    first = max(lines, key=lambda line: line["guide"] - line["guide_of_positive"])
    _, _, header, printed, *_ = text.splitlines()
    assert header.split()[:4] == ["rank", "cosine", "guide", "opinion"]
    assert first["id"] in printed
    assert first["id"] == written_id(negative_id(first["anchor"], first["negative"]))
    left = answered(*given, "--dropped", first["id"], "--json")["negatives"]
    assert first["id"] not in {line["id"] for line in left}
    assert len(left) == len(lines)
    farther = answered(*given, "--drop-closer", "--json")["negatives"]
    assert not [line for line in farther if line["is_closer"] and line["rank"]]


def test_what_cannot_be_mined_is_refused_in_one_line(place, refused):
    assert "has one sentence per row" in refused("mine", place.text, "--model", place.model)
    assert "no texts of triplets.csv have this id" in refused(
        "mine", place.triplets, "--model", place.model, "--dropped", "0123456789:0123456789"
    )
    assert "--hard-negatives cannot be '0'" in refused(
        "mine", place.triplets, "--model", place.model, "--hard-negatives", 0
    )
    assert "first_rank cannot be 9 with last_rank 4" in refused(
        "mine", place.triplets, "--model", place.model, "--first-rank", 9, "--last-rank", 4
    )
    assert "'nowhere'" in refused("mine", place.triplets, "--model", place.model, "--guide", "nowhere")
