"""Test that an embedding stores every text byte for byte, and that its vector is that of this text."""

import csv
import io
import json
import random
import unicodedata

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from explorer.errors import CannotResume
from explorer.studies.embedding.corpus import TextSource
from tests.studies.embedding.desk import WORDS

# tab, two spaces, no-break space, ideographic space, line separator, vertical tab, zero-width space and joiner
BETWEEN = (" ", "  ", "\t", "\u00a0", "\u3000", "\u2028", "\x0b", "\u200b", "\u200d", " \u202f")
AROUND = ("", "", " ", "\t", "\u00a0", "\ufeff", "\u200b")
MORE = (
    "Caf\u00e9",
    "Cafe\u0301",
    "\u1e69",
    "s\u0323\u0307",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u2603\ufe0f",
    "\u0130I\u0307",
)


def written(count):
    """Distinct texts with all kinds of spaces, marks and forms; each holds a word."""
    draw = random.Random(7)
    texts = {}
    while len(texts) < count:
        words = draw.choices((*WORDS, *MORE), k=draw.randint(1, 9))
        text = "".join(word + draw.choice(BETWEEN) for word in words[:-1]) + words[-1]
        texts[
            draw.choice(AROUND) + draw.choice((text, text, unicodedata.normalize("NFD", text))) + draw.choice(AROUND)
        ] = 0
    return list(texts)


def as_txt(path, texts):
    path.write_bytes("\n".join([*texts[:9], " \t ", "", *texts[9:]]).encode() + b"\n")


def as_csv(path, texts):
    rows = io.StringIO(newline="")
    csv.writer(rows, quoting=csv.QUOTE_ALL).writerows([["number", "sentence"], *enumerate(texts), [1, " "]])
    path.write_bytes(rows.getvalue().encode())


def as_jsonl(path, texts):
    path.write_text("".join(json.dumps({"sentence": text}) + "\n" for text in texts), encoding="utf-8")


def as_parquet(path, texts):
    pq.write_table(pa.table({"sentence": texts}), path)


MANY = "One\r\ntwo.", "One\rtwo.", "One\n two.\n"  # in a cell, a text may have several lines


@pytest.mark.parametrize(
    ("ending", "write", "more"),
    [("txt", as_txt, ()), ("csv", as_csv, MANY), ("jsonl", as_jsonl, MANY), ("parquet", as_parquet, MANY)],
)
def test_every_text_is_stored_byte_for_byte_and_its_vector_is_that_of_this_text(desk, ending, write, more):
    texts = [*written(1000), *more]
    source = desk.folder / f"written.{ending}"
    write(source, texts)
    desk.embed(f"of {ending}", texts=(TextSource(str(source)),), with_text=True, rows_per_shard=300)
    stored = pq.read_table(desk.folder / f"of {ending}" / "vectors.parquet").to_pydict()
    assert [text.encode() for text in stored["text"]] == [text.encode() for text in texts]
    theirs = SentenceTransformer(str(desk.model), device="cpu").encode(texts)
    np.testing.assert_allclose(stored["model default"], theirs, atol=2e-6)


def test_an_embedding_of_the_same_words_with_other_spaces_is_not_resumed(desk):
    source = desk.folder / "spaced.txt"
    source.write_bytes(b"One two.\nThree.\n")
    desk.embed("spaced", texts=(TextSource(str(source)),))
    source.write_bytes(b"One  two.\nThree.\n")
    with pytest.raises(CannotResume, match="text digest"):
        desk.embed("spaced", texts=(TextSource(str(source)),))
