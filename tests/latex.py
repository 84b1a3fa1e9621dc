"""A strict reader of LaTeX tables: what a compiler would set, or an error where it would stop or set another sign."""

import re
import unicodedata

NAMES = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textasciigrave": "`", "textbar": "|",
    "textless": "<", "textgreater": ">", "textquotedblleft": "“", "textquotedblright": "”", "textquoteleft": "‘",
    "textquoteright": "’", "quotedblbase": "„", "quotesinglbase": "‚", "guillemotleft": "«", "guillemotright": "»",
    "textendash": "–", "textemdash": "—", "textellipsis": "…", "textbullet": "•", "textdagger": "†",
    "textdaggerdbl": "‡", "textsection": "§", "textparagraph": "¶", "textcopyright": "©", "textregistered": "®",
    "texttrademark": "™", "textsterling": "£", "textquestiondown": "¿", "textexclamdown": "¡", "ss": "ß", "ae": "æ",
    "AE": "Æ", "oe": "œ", "OE": "Œ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "i": "ı", "dj": "đ", "DJ": "Đ", "dh": "ð",
    "DH": "Ð", "th": "þ", "TH": "Þ", "ng": "ŋ", "NG": "Ŋ",
}  # fmt: skip
MATHS = {
    "-": "−", r"\pm": "±", r"\times": "×", r"\cdot": "·", r"\div": "÷", r"\rightarrow": "→", r"\leftarrow": "←",
    r"\leftrightarrow": "↔", r"\uparrow": "↑", r"\downarrow": "↓", r"\Rightarrow": "⇒", r"\Leftarrow": "⇐",
    r"\leq": "≤", r"\geq": "≥", r"\neq": "≠", r"\approx": "≈", r"\equiv": "≡", r"\infty": "∞", r"\surd": "√",
    r"\sum": "∑", r"\in": "∈", r"\sim": "∼", r"\parallel": "∥", r"^\circ": "°", "^2": "²", "^3": "³", "^1": "¹",
    r"\neg": "¬",
}  # fmt: skip
# the Greek that LaTeX has commands for; the other letters are those of Latin
GREEK = {
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi": "αβγδεζηθικλμνξπ",
    "rho varsigma sigma tau upsilon phi chi psi omega": "ρςστυφχψω",
    "Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega": "ΓΔΘΛΞΠΣΥΦΨΩ",
}
for names, letters in GREEK.items():
    MATHS |= dict(zip((rf"\{name}" for name in names.split()), letters, strict=True))
LATIN = dict(zip("ABEZHIKMNOPTXo", "ΑΒΕΖΗΙΚΜΝΟΡΤΧο", strict=True))
MATHS |= {rf"\mathrm{{{one}}}": greek for one, greek in LATIN.items()}
ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", "=": "\u0304", "u": "\u0306", ".": "\u0307",
    '"': "\u0308", "r": "\u030a", "H": "\u030b", "v": "\u030c", "d": "\u0323", "c": "\u0327", "k": "\u0328",
    "b": "\u0331",
}  # fmt: skip
TOKEN = re.compile(
    r"\\(?P<accent>[`'^~=.\"]|[urHvdckb](?=\{))\{(?P<under>\\[`'^~=.\"urHvdckb]\{[^{}]+\}|\\[ij]|[A-Za-z])\}"
    r"|\\(?P<name>[A-Za-z]+)\{\}|\\(?P<sign>[&%$#_{}])|\$(?P<maths>[^$]+)\$|\{(?P<kept>[*\[])\}|(?P<nothing>\{\})"
    r"|(?P<plain>[^\\{}$&#%_^~`|<>])"
)


def set_as(written: str) -> str:
    """The text that a compiler sets for a cell; an AssertionError where it would set another one, or stop."""
    at, shown = 0, []
    assert not re.search("--|,,|''", written), f"{written!r} has a ligature"
    while at < len(written):
        found = TOKEN.match(written, at)
        assert found, f"{written[at:]!r} is no text"
        at = found.end()
        if found["accent"]:
            under = {r"\i": "i", r"\j": "j"}.get(found["under"]) or set_as(found["under"])
            shown.append(unicodedata.normalize("NFC", under + ACCENTS[found["accent"]]))
        elif found["name"]:
            shown.append(NAMES[found["name"]])
        elif found["maths"]:
            shown.append(MATHS[found["maths"]])
        else:
            shown.append(found["sign"] or found["kept"] or found["plain"] or "")
    return "".join(shown)


def read(table: str) -> tuple[list[str], list[list[str]], list[str], str]:
    """The titles of the columns, the rows, the notes and the preamble of a written table."""
    lines = table.splitlines()
    comments = [line for line in lines if line.startswith("%")]
    assert lines[: len(comments)] == comments, "comments come first"
    preamble = "".join(re.findall(r"\\usepackage(?:\[\w+\])?\{\w+\}", comments[0]))
    begin, *inside = lines[len(comments) :]
    sides = re.fullmatch(r"\\begin\{tabular\}\{([lr]+)\}", begin)
    assert sides, begin
    end = inside.index(r"\end{tabular}")
    rules = [place for place, line in enumerate(inside[:end]) if line in (r"\toprule", r"\midrule", r"\bottomrule")]
    top, middle, bottom = rules
    assert (top, bottom) == (0, end - 1)
    assert [inside[place] for place in rules] == [r"\toprule", r"\midrule", r"\bottomrule"]
    head, rows = ([_row(line) for line in inside[a + 1 : b]] for a, b in ((top, middle), (middle, bottom)))
    assert {len(row) for row in (*head, *rows)} <= {len(sides[1])}, "a row has another number of columns"
    titles = [" ".join(filter(None, parts)) for parts in zip(*head, strict=True)]
    notes = [re.fullmatch(r"\\par\\noindent\{\\footnotesize (.*)\\par\}", line) for line in inside[end + 1 :]]
    assert all(notes)
    return titles, rows, [set_as(one[1]) for one in notes if one], preamble


def _row(line: str) -> list[str]:
    assert line.endswith(r" \\"), line
    assert not line.startswith(("[", "*")), "the line above takes it for an option"
    return [set_as(cell.strip()) for cell in line.removesuffix(r"\\").split(" & ")]
