"""Read Markdown as a renderer shows it: the texts between tags, and the tags."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt

ON_PAGES = ":small[]"  # what keeps texts apart in Streamlit's Markdown; a comment does so in files
# what renderers of GitHub's Markdown look for in each text (mdast-util-gfm-autolink-literal, remark-emoji)
ADDRESS = re.compile(r"(https?://|www\.)[-.\w]|(^|[^\w/.+-])[-.\w+]+@[-\w]+\.[-\w]", re.IGNORECASE | re.ASCII)
EMOJI = re.compile(r":\+1:|:-1:|:[\w-]+:", re.ASCII)
_READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Shown(HTMLParser):
    """What is shown: `texts` from one tag or comment to the next, the `tags`, the `heading`, `cells` of tables."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.texts: list[str] = [""]
        self.tags: set[str] = set()
        self.heading = ""
        self.cells: list[list[str]] = []
        self.inside: set[str] = set()
        self.feed(_READER.render(markdown.replace(ON_PAGES, "<!-- -->")))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.inside.add(tag)
        self.texts.append("")
        if tag == "tr":
            self.cells.append([])
        elif tag in ("td", "th"):
            self.cells[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside.discard(tag)
        self.texts.append("")

    def handle_comment(self, data: str) -> None:
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        self.texts[-1] += data
        if "h1" in self.inside:
            self.heading += data
        if self.inside & {"td", "th"}:
            self.cells[-1][-1] += data

    @property
    def words(self) -> list[str]:
        """All that is shown, without spaces: a renderer puts them together."""
        return "".join(self.texts).split()

    @property
    def found_later(self) -> list[str]:
        """Texts that would become links or emoji after all."""
        return [text for text in self.texts if ADDRESS.search(text) or EMOJI.search(text)]
