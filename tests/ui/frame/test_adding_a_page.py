"""The page that docs/adding_a_page.md adds works as it is written there."""

import re
import shutil

from streamlit.testing.v1 import AppTest
from transformers import AutoTokenizer

from explorer.encoding.locate.model_names import find
from explorer.ui.frame import page_frame, page_list
from tests.live import ROOT
from tests.visits import cards, measured, words


def test_the_page_of_the_document_is_drawn_with_its_purpose(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "adding_a_page.md").read_text(encoding="utf-8").replace("\n   ", "\n")
    page, entry = re.findall(r"```python\n(.*?)```", text, re.S)
    shutil.copy(ROOT / "app.py", tmp_path)
    shutil.copytree(ROOT / "pages", tmp_path / "pages")
    (tmp_path / "pages" / "tokens.py").write_text(page, encoding="utf-8")
    pages = (*page_list.PAGES, eval(entry, vars(page_list)))
    monkeypatch.setattr(page_list, "PAGES", pages)
    monkeypatch.setattr(page_frame, "PAGES", pages)
    app = AppTest.from_file(str(tmp_path / "app.py"), default_timeout=60)
    app.switch_page("pages/tokens.py")
    measured(app)
    assert not app.exception
    assert app.title[0].value == "Tokens"
    assert words(app.caption)[0] == pages[-1].purpose
    tokens = AutoTokenizer.from_pretrained(find("all-MiniLM-L6-v2").folder)("The kettle boils.")["input_ids"]
    assert cards(app)["Tokens"] == str(len(tokens))
