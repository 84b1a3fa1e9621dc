"""Write a WordNet of a few words in the layout of the real one."""

from pathlib import Path

FILES = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}  # in the order WordNet numbers them, from 1
# (part of speech, word, its opposite, how often the first is counted in this sense)
OPPOSITES = (
    ("adj", "late", "early", 7), ("adj", "light", "heavy", 3), ("adj", "light", "dark", 9),
    ("adj", "red", "not_red", 1), ("noun", "man", "woman", 5), ("verb", "run", "walk", 2),
)  # fmt: skip


def write(folder: Path) -> Path:
    """The folder that holds it, as nltk's data does."""
    home = folder / "corpora" / "wordnet"
    home.mkdir(parents=True)
    counts = []
    for name, letter in FILES.items():
        rows = [row for row in OPPOSITES if row[0] == name]
        data, index = "", {}
        for number, (_, word, opposite, count) in enumerate(rows):
            first = f"{len(data):08d}"
            # both lines are as long as each other's address is wide, whatever stands in it
            line = "{own} 00 {letter} 01 {word} {sense:x} 001 ! {other} {letter} 0101 | \n"
            length = len(line.format(own=first, letter=letter, word=word, sense=number, other=first))
            second = f"{len(data) + length:08d}"
            data += line.format(own=first, letter=letter, word=word, sense=number, other=second)
            data += line.format(own=second, letter=letter, word=opposite, sense=number, other=first)
            index.setdefault(word, []).append(first)
            index.setdefault(opposite, []).append(second)
            counts.append(f"{word}%{list(FILES).index(name) + 1}:00:{number:02d}:: 1 {count}\n")
        (home / f"data.{name}").write_text(data)
        lines = [f"{word} {letter} {len(at)} 1 ! {len(at)} 0 {' '.join(at)}  \n" for word, at in sorted(index.items())]
        (home / f"index.{name}").write_text("".join(lines))
        (home / f"{name}.exc").write_text("men man\nran run\n" if name in ("noun", "verb") else "")
    (home / "lexnames").write_text("00\tadj.all\t3\n")
    (home / "index.sense").write_text("")
    (home / "cntlist.rev").write_text("".join(sorted(counts)))
    return folder
