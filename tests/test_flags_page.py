from tests.flags_page import page
from tests.live import ROOT


def test_the_page_of_flags_is_what_the_commands_state():
    assert (ROOT / "docs" / "flags.md").read_text(encoding="utf-8") == page()
