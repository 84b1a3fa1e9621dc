"""Write texts and tables as LaTeX that pdflatex, which reads UTF-8, and lualatex set alike, without further packages.

A sign that the usual fonts lack is written as a command of LaTeX itself: minus, arrows, Greek, quotation marks, letters
with accents. What has no such command, as Chinese, is left as it is and named in the first lines of the table.
"""

import re
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence

from explorer import escaping, in_words

ENGINES = "pdflatex and lualatex set this table"
MOST_LINES = 6  # of the title of a column
PACKAGES, T1 = (r"\usepackage{booktabs}",), r"\usepackage[T1]{fontenc}"
_COMMANDS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}",
    # as they are, the usual fonts have a dash and Spanish marks for these three
    "|": r"\textbar{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "‘": r"\textquoteleft{}", "’": r"\textquoteright{}",
    "„": r"\quotedblbase{}", "‚": r"\quotesinglbase{}", "«": r"\guillemotleft{}", "»": r"\guillemotright{}",
    "–": r"\textendash{}", "—": r"\textemdash{}", "…": r"\textellipsis{}", "•": r"\textbullet{}", "†": r"\textdagger{}",
    "‡": r"\textdaggerdbl{}", "§": r"\textsection{}", "¶": r"\textparagraph{}", "©": r"\textcopyright{}",
    "®": r"\textregistered{}", "™": r"\texttrademark{}", "£": r"\textsterling{}", "¿": r"\textquestiondown{}",
    "¡": r"\textexclamdown{}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}",
    "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "đ": r"\dj{}", "Đ": r"\DJ{}",
    "ð": r"\dh{}", "Ð": r"\DH{}", "þ": r"\th{}", "Þ": r"\TH{}", "ŋ": r"\ng{}", "Ŋ": r"\NG{}",
    "\N{HYPHEN}": "-", "\N{NON-BREAKING HYPHEN}": "-",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}  # fmt: skip
_IN_MATHS = {
    in_words.MINUS: "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "÷": r"\div", "→": r"\rightarrow",
    "←": r"\leftarrow", "↔": r"\leftrightarrow", "↑": r"\uparrow", "↓": r"\downarrow", "⇒": r"\Rightarrow",
    "⇐": r"\Leftarrow", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "≡": r"\equiv", "∞": r"\infty",
    "√": r"\surd", "∑": r"\sum", "∈": r"\in", "∼": r"\sim", "∥": r"\parallel", "°": r"^\circ", "²": "^2", "³": "^3",
    "¹": "^1", "µ": r"\mu", "¬": r"\neg",
}  # fmt: skip
_GREEK = {
    r"\alpha \beta \gamma \delta \epsilon \zeta \eta \theta \iota \kappa \lambda \mu": "αβγδεζηθικλμ",
    r"\nu \xi \pi \rho \varsigma \sigma \tau \upsilon \phi \chi \psi \omega": "νξπρςστυφχψω",
    r"\Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Upsilon \Phi \Psi \Omega": "ΓΔΘΛΞΠΣΥΦΨΩ",
}
for _commands, _letters in _GREEK.items():
    _IN_MATHS |= dict(zip(_letters, _commands.split(), strict=True))
# Greek that has no command, since Latin has the same letter
_IN_MATHS |= {sign: rf"\mathrm{{{one}}}" for sign, one in zip("ΑΒΕΖΗΙΚΜΝΟΡΤΧο", "ABEZHIKMNOPTXo", strict=True)}
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0328": "k",
    "\u0331": "b",
}  # fmt: skip
_OF_T1 = "„‚«»đĐðÐþÞŋŊ"  # and \k: the usual encoding of fonts, OT1, lacks these
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")  # controls, marks without a width, and what is no character


def text(given: str) -> str:
    """A text on one line, with every sign of LaTeX escaped."""
    line = "".join(sign for sign in escaping.one_line(given) if unicodedata.category(sign) not in _UNSEEN)
    signs = (_sign(sign) for sign in unicodedata.normalize("NFC", " ".join(line.split())))
    return re.sub("(?<=([-,']))(?=\\1)", "{}", "".join(signs))  # two of them would become another sign


def _sign(sign: str) -> str:
    if sign in _COMMANDS:
        return _COMMANDS[sign]
    if sign in _IN_MATHS:
        return f"${_IN_MATHS[sign]}$"
    base, *marks = list(unicodedata.normalize("NFD", sign))
    if marks and base.isascii() and base.isalpha() and all(mark in _ACCENTS for mark in marks):
        above = any(unicodedata.combining(mark) == 230 for mark in marks)
        letter = f"\\{base}" if base in "ij" and above else base  # without their dots
        for mark in marks:
            letter = f"\\{_ACCENTS[mark]}{{{letter}}}"
        return letter
    return sign


def left_over(texts: Iterable[str]) -> list[str]:
    """The signs of written texts that no command stands for: a font has to have them."""
    return sorted({sign for one in texts for sign in one if not sign.isascii()})


def tabular(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    sides: Sequence[str],
    notes: Sequence[str] = (),
    remarks: Sequence[str] = (),
) -> str:
    """A tabular with the rules of booktabs, and notes below it; `sides` are `l` or `r` for each column.

    A title has several lines, so that it is not wider than the cells of its column, or only as much as it has to be.
    """
    columns = [
        _title(title, max(map(len, cells))) for title, *cells in zip(header, *rows, [" "] * len(header), strict=True)
    ]
    deep = max(map(len, columns), default=0)
    titles = list(zip(*([""] * (deep - len(title)) + title for title in columns), strict=True))
    head, body, below = [[_row(one) for one in lines] for lines in (titles, rows)] + [[text(one) for one in notes]]
    every = [*header, *(cell for row in rows for cell in row), *notes]
    packages = "".join((*PACKAGES, *([T1] * any(_needs_t1(one) for one in every))))
    fonts = left_over((*head, *body, *below))
    needed = [f"these signs need a font that has them: {' '.join(fonts)}"] * bool(fonts)
    lines = [
        f"% {ENGINES}. The preamble needs: {packages}",
        *(f"% {one}" for one in (*needed, *remarks)),
        f"\\begin{{tabular}}{{{''.join(sides)}}}",
        r"\toprule",
        *head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *(rf"\par\noindent{{\footnotesize {_guarded(one)}\par}}" for one in below),
    ]
    return "\n".join(lines) + "\n"


def _title(title: str, width: int) -> list[str]:
    """The lines of a title, each at most so wide, or wider where there would be too many; a line break stays one."""
    while True:
        wrapped = (
            textwrap.wrap(one, width, break_long_words=False, break_on_hyphens=False) for one in title.split("\n")
        )
        lines = [line for one in wrapped for line in one] or [""]
        if len(lines) <= MOST_LINES or width >= len(title):
            return lines
        width += 1


def _needs_t1(given: str) -> bool:
    return any(sign in given for sign in _OF_T1) or "\u0328" in unicodedata.normalize("NFD", given)


def _row(cells: Sequence[str]) -> str:
    return _guarded(" & ".join(map(text, cells))) + r" \\"


def _guarded(row: str) -> str:
    """A row that the line break or the rule above takes for no argument of its own."""
    return f"{{{row[0]}}}{row[1:]}" if row.startswith(("[", "*")) else row
