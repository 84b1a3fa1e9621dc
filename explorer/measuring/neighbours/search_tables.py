"""Search results as tables, JSON and text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer import in_words
from explorer.data.kinds import Sentences, digest_of
from explorer.encoding.read.readings import Reading
from explorer.measuring.neighbours.neighbour_overlap import Overlap
from explorer.measuring.neighbours.query_results import FoundSentence, SearchResults
from explorer.measuring.table_cells import Rows, rounded

if TYPE_CHECKING:
    from explorer.encoding.locate.model_names import Found

CHANGED = 10  # most and least changed sentences to print in a terminal


@dataclass(frozen=True)
class SearchRequest:
    """The query, the corpus and the models."""

    query: str
    k: int
    searched: Sentences
    sides: tuple[tuple[Found, Reading], ...]


def found_rows(results: Iterable[FoundSentence], sentences: Sequence[str], other: str) -> Rows:
    """A row for each result of a side; `other` names the other, "" where there is none."""
    return [
        {
            "rank": result.rank,
            "cosine": round(result.cosine, 6),
            **({"mark": result.mark, f"rank in {other}": result.elsewhere} if other else {}),
            "sentence": sentences[result.place],
        }
        for result in results
    ]


def changed_rows(overlap: Overlap, sentences: Sequence[str], *, most_changed: bool, most: int | None = None) -> Rows:
    """A row for each sentence of the corpus, most or least changed first."""
    return [
        {
            "kept": int(overlap.kept[place]),
            "of": overlap.k,
            "jaccard": rounded(overlap.jaccard[place]),
            "sentence": sentences[place],
        }
        for place in overlap.order(most_changed=most_changed)[:most]
    ]


def as_json(asked: SearchRequest, findings: SearchResults, whole: Overlap | None) -> str:
    """Everything as JSON, with query, corpus and models."""
    sentences, sides = asked.searched.texts, (findings.one, findings.other)
    names = "AB"[: len(asked.sides)]
    content: dict[str, object] = {
        "query": asked.query,
        "corpus": asked.searched.name,
        "corpus_digest": digest_of(asked.searched.texts),
        "sentences": len(sentences),
        "k": asked.k,
    }
    for at, (name, (found, reading), results) in enumerate(zip(names, asked.sides, sides, strict=False)):
        content[name] = {
            "model": found.name,
            "model_revision": found.revision,
            "model_digest": found.digest,
            "reading": reading.title,
            "results": found_rows(results or (), sentences, names[1 - at] if len(names) > 1 else ""),
        }
    if findings.other is not None:
        content |= {"kept": findings.kept, "jaccard": rounded(findings.jaccard)}
    if whole is not None:
        content["whole"] = {
            "mean_jaccard": rounded(whole.mean),
            "sentences_by_neighbours_kept": whole.counts().tolist(),
            "changed": changed_rows(whole, sentences, most_changed=True),
        }
    return json.dumps(content, indent=1, ensure_ascii=False)


def as_text(asked: SearchRequest, findings: SearchResults, whole: Overlap | None) -> str:
    """Both lists as text for the terminal."""
    sentences = asked.searched.texts
    lines = [asked.searched.note, f"query: {asked.query}"]
    for name, (found, reading), results in zip("AB", asked.sides, (findings.one, findings.other), strict=False):
        lines += ["", f"{name}  {reading.title} of {found.name}"]
        lines += [_line(result, "B" if name == "A" else "A", sentences[result.place]) for result in results or ()]
    if findings.other is not None:
        found_by_a = len(findings.one)
        lines += ["", f"kept {findings.kept} of {found_by_a}; Jaccard {told_share(findings.jaccard)}"]
    if whole is not None:
        lines += ["", f"over the whole corpus: mean Jaccard@{whole.k} {told_share(whole.mean)}"]
        for most, title in ((True, "most changed"), (False, "least changed")):
            lines.append(f"{title}:")
            rows = changed_rows(whole, sentences, most_changed=most, most=CHANGED)
            lines += [f"{row['kept']:>4} of {row['of']} kept  {row['sentence']}" for row in rows]
    return "\n".join(lines)


def told_mark(result: FoundSentence, other: str) -> str:
    """`kept · 3 in B`, `lost · 37 in B`: the mark, and the rank on the other side; "" without another side."""
    return f"{result.mark} · {result.elsewhere:,} in {other}" if result.mark else ""


def told_share(share: float) -> str:
    """Two decimals; "" if missing."""
    return in_words.number(share)


def _line(result: FoundSentence, other: str, sentence: str) -> str:
    return f"{result.rank:>3}  {result.cosine:.3f}  {told_mark(result, other):<18}  {sentence}".rstrip()
