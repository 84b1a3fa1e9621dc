"""Test that the architecture keeps its rules, and that every rule detects a breach."""

import re
from pathlib import Path

import pytest

from tests.architectures import known
from tests.floors import (
    FLOORS,
    KNOWS_FAMILIES,
    LONGEST,
    LONGEST_PAGE,
    MOST_FILES,
    PROGRAM,
    READ_BACK,
    RULES,
    Breach,
    arrows,
    breaches,
    read_back,
)
from tests.house import House, count
from tests.imports import read_sources

ROOT = Path(__file__).resolve().parent.parent
DOC = '"""What this file is."""\n'

HOUSE = {  # everything here is allowed
    "app.py": "import streamlit as st\nfrom explorer.ui import cached\n",
    "pages/layers.py": "import streamlit as st\nfrom explorer.ui import cached\n",
    "explorer/__init__.py": "",
    "explorer/errors.py": "",
    "explorer/losses.py": "import torch\n",
    "explorer/data/__init__.py": "",
    "explorer/data/text.py": "from ..errors import DataError\n",
    "explorer/encoding/encoder.py": "def load():\n    import transformers\n",
    "explorer/encoding/pooling.py": "import torch\nfrom explorer.data.text import read\n",
    "explorer/measuring/scores.py": "import scipy\nfrom explorer.encoding import encoder\n",
    "explorer/methods/__init__.py": "import torch\n",
    "explorer/methods/simcse.py": "from . import Method\nclass SimCSE(Method):\n    name = 'simcse'\n",
    "explorer/training/tables.py": "import explorer.losses\n",
    "explorer/drawing/figures.py": "import plotly\nfrom explorer.measuring.scores import Scores\n",
    "explorer/training/loop.py": "import torch\nfrom explorer import methods\n",
    "explorer/commands/train.py": "def run():\n    from explorer.training import loop\n",
    "explorer/ui/cached.py": "import streamlit\nif TYPE_CHECKING:\n    import torch\n",
    "explorer/ui/layers/view.py": "from explorer.ui import cached\n",
    "explorer/ui/access/jobs.py": "",
    "explorer/ui/widgets/form.py": "from explorer.ui.access import jobs\n",
}

MOST_ARROWS = {
    "explorer.commands": 13, "explorer.data": 51, "explorer.drawing": 6, "explorer.encoding": 9,
    "explorer.evaluating": 16, "explorer.measuring": 16, "explorer.studies": 4, "explorer.training": 18,
    "explorer.ui": 67, "strata": 26,
}  # fmt: skip

# rule, planted file, the line that breaks the rule, what the message has to name
PLANTED = [
    ("direction", "explorer/data/up.py", "from explorer.encoding import encoder", "floor 1 may import 1 and below"),
    ("direction", "explorer/data/up.py", "from ..encoding.encoder import Encoder", "explorer.encoding.encoder"),
    ("direction", "explorer/encoding/up.py", "def f():\n    import explorer.measuring.scores", "floor 2 may import"),
    ("direction", "explorer/losses.py", "if TYPE_CHECKING:\n    from explorer.ui import cached", "is on floor 5"),
    ("direction", "explorer/__init__.py", "from . import errors", "explorer.errors"),
    ("direction", "explorer/methods/marks.py", "from explorer.measuring import scores", "though beside it"),
    ("direction", "explorer/attic/box.py", "", "on no floor; the floors are 6: app, pages"),
    ("apart", "explorer/methods/simcse.py", "from .simcse import SimCSE", "may import explorer.methods itself"),
    ("apart", "explorer/methods/simcse.py", "from . import simcse", "explorer.methods.simcse"),
    ("apart", "pages/train.py", "import pages.layers", "a file in pages may import pages itself"),
    ("homes", "explorer/drawing/show.py", "import streamlit as st", "only app, pages, explorer.ui may"),
    ("homes", "pages/train.py", "def f():\n    import plotly.express", "only explorer.drawing, strata may"),
    ("homes", "explorer/ui/charts.py", "from altair import Chart", "only explorer.drawing may"),
    ("homes", "explorer/training/save.py", "def f():\n    import transformers", "explorer.encoding, explorer.methods"),
    ("quick start", "pages/train.py", "import torch", "inside the function that uses it"),
    ("quick start", "explorer/data/table.py", "import pandas as pd", "imports pandas at the top"),
    ("quick start", "explorer/__main__.py", "try:\n    import scipy.stats\nfinally:\n    pass", "scipy.stats"),
    ("quick start", "explorer/__main__.py", "try:\n    pass\nexcept OSError:\n    import scipy.stats", "scipy.stats"),
    ("quick start", "explorer/__main__.py", "try:\n    pass\nfinally:\n    import scipy.stats", "scipy.stats"),
    ("quick start", "explorer/__main__.py", "if here:\n    pass\nelse:\n    import scipy.stats", "scipy.stats"),
    ("quick start", "explorer/__main__.py", "match here:\n    case 1:\n        import scipy.stats", "scipy.stats"),
    ("quick start", "explorer/measuring/probes.py", "import torch.nn as nn", "torch.nn"),
    ("quick start", "explorer/encoding/hub.py", "from transformers import AutoModel", "transformers"),
    ("quick start", "pages/train.py", "from explorer.encoding import pooling", "loads torch by way of"),
    ("quick start", "explorer/ui/look.py", "import explorer.training.tables", "training.tables → explorer.losses"),
    ("quick start", "explorer/methods/vae.py", "class V:\n    import sklearn", "sklearn"),
    ("nameless", "explorer/training/step.py", "if method == 'simcse':\n    pass", "names the method simcse"),
    ("nameless", "pages/train.py", "LINK = {'method': 'simcse'}", "ask the methods"),
    ("page rooms", "explorer/ui/widgets/box.py", "from explorer.ui.layers import view", "explorer.ui.layers.view"),
    (
        "page rooms",
        "pages/map.py",
        "from explorer.ui.layers.view import x",
        "share stands in a room that is no page",
    ),
    ("shape", "pages/long.py", "\n" * LONGEST_PAGE, f"{LONGEST_PAGE} are allowed"),
    ("shape", "explorer/drawing/long.py", "\n" * LONGEST, f"{LONGEST} are allowed"),
    ("shape", "explorer/data/helpers.py", "", "is named helpers"),
    ("shape", "explorer/data/core/text.py", "", "is named core"),
    ("wording", "explorer/data/set.py", "name.partition(' (')[0]", "cuts at ' ('"),
    ("wording", "explorer/ui/row.py", "name.rsplit(' · ', 1)", "cuts at ' · '"),
    ("wording", "pages/plans.py", "label.removesuffix(f', seed {seed}')", "cuts at ', seed '"),
    ("wording", "explorer/drawing/lines.py", "title.startswith(('mean of layer ', 'x'))", "cuts at 'mean of layer '"),
    ("wording", "explorer/training/room.py", "told.replace(' already', '')", "replaces ' already'"),
    ("wording", "explorer/data/set.py", "re.compile(rf' · ([0-9a-f]{{8}})(?: · {piece})?$')", "parses ' · "),
    ("wording", "explorer/data/set.py", r"re.search(r' \([a-z]+\)$', name)", "parses ' "),
    ("wording", "explorer/ui/box.py", "if str(error) not in missing:\n    pass", "compares what an error says"),
    ("wording", "explorer/ui/box.py", "if error.args[0] == lost:\n    pass", "compares what an error says"),
    ("wording", "explorer/ui/box.py", "str(error).startswith('No')", "cuts at 'No'"),
    ("wording", "explorer/training/record.py", "if step.progress.stage == 'resuming':\n    pass", "compares .stage"),
    (
        "wording",
        "explorer/training/run.py",
        "if step.stage in (FIRST, encoded.READING):\n    pass",
        "compares .stage",
    ),
    ("wording", "explorer/ui/run.py", "if card.title != 'Dev set':\n    pass", "compares .title"),
    ("wording", "explorer/ui/run.py", "if ' of the ' in name:\n    pass", "looks for ' of the ' in a text"),
    ("signs", "explorer/ui/row.py", "f'{gap:+.2f}'", "formats a number with its sign"),
    ("signs", "explorer/ui/row.py", "f'{gap:>+8,.2f} points'", "formats a number with its sign"),
    ("signs", "explorer/ui/row.py", "f'{gap:+.{digits}f}'", "formats a number with its sign"),
    ("signs", "explorer/ui/row.py", "'changed by {:+.1f}.'.format(gap)", "formats a number with its sign"),
    ("signs", "explorer/ui/row.py", "column(format='%+.2f')", "formats a number with its sign"),
    ("signs", "explorer/drawing/bars.py", "hover = 'layer %{x}: %{y:+.3f}<extra>'", "formats a number with its sign"),
    ("signs", "explorer/drawing/bars.py", "format(gap, '+.2f')", "formats a number with its sign"),
    ("signs", "explorer/studies/best.py", "f'95 % CI {low:.2f} to {high:.2f}'", "two numbers of an interval"),
    ("signs", "explorer/studies/best.py", "f'{100 * one:.0f} → {100 * other:.0f} %'", "two numbers of an interval"),
    ("signs", "explorer/studies/best.py", "TEXT = 'from {:.2f} → {:.2f}'", "two numbers of an interval"),
    ("signs", "explorer/studies/best.py", "' → '.join(f'{one:.3f}' for one in sides)", "two numbers of an interval"),
    ("families", "explorer/encoding/up.py", "KINDS = ('bert', 'mine')", "knows bert of an architecture"),
    (
        "families",
        "explorer/data/up.py",
        "KINDS = 'mpnet roberta'.split()",
        "knows mpnet, roberta of an architecture",
    ),
    ("families", "explorer/encoding/up.py", "ENDS = r'.*att.*\\.(mine|c_attn)'", "knows c_attn of an architecture"),
    ("families", "explorer/methods/up.py", "joined = layer.position_embeddings", "knows position_embeddings"),
    ("families", "explorer/methods/up.py", "if config.model_type in mine:\n    pass", "knows model_type"),
    ("families", "explorer/encoding/up.py", "def f():\n    from transformers import BertModel", "knows BertModel"),
    (
        "families",
        "explorer/encoding/up.py",
        "def f():\n    from transformers.models.bert import modeling_bert",
        "modeling_bert",
    ),
    ("circle", "explorer/data/text.py", "import explorer.data.text2\n", "text2"),
    ("circle", "explorer/ui/access/look.py", "from explorer.ui.widgets import form\n", "explorer.ui.widgets"),
    ("circle", "explorer/measuring/look.py", "from explorer.drawing import figures", "→"),
]


def build(root: Path, house: dict[str, str]) -> None:
    """Write files that start with a docstring."""
    for path, text in house.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(DOC + text)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house without a breach."""
    build(tmp_path, HOUSE | {"explorer/data/text2.py": "from explorer.data import text\n"})
    assert breaches(tmp_path) == []
    return tmp_path


def test_the_program_keeps_every_rule() -> None:
    assert not [str(breach) for breach in breaches(ROOT)]


def found_with(house: Path, path: str, line: str) -> list[Breach]:
    """What is found while a file holds a line."""
    build(house, {path: line})
    found = breaches(house)
    (house / path).unlink()
    build(house, {kept: text for kept, text in HOUSE.items() if kept == path})
    return found


def test_a_breach_is_found_where_it_is_on_the_line_of_its_import(house):
    for rule, path, line, words in PLANTED:
        found = found_with(house, path, line)
        assert [(breach.path, breach.rule) for breach in found] == [(path, rule)], line
        assert words in str(found[0])
        assert str(found[0]).startswith(f"{path}:{found[0].line}: {rule}: ")
    build(house, {"explorer/data/up.py": "\n\ndef read():\n    from explorer.ui import cached\n"})
    assert [breach.line for breach in breaches(house)] == [5]


def test_a_file_without_a_docstring_or_with_a_question_is_found(house: Path) -> None:
    for text, what in (
        ("import json\n", "has no docstring"),
        ('"""Who trains here?"""\n', "asks a question in its first line"),
    ):
        (house / "pages/train.py").write_text(text)
        assert [str(breach).partition(";")[0] for breach in breaches(house)] == [f"pages/train.py:1: shape: {what}"]


def test_a_folder_with_too_many_files_is_found_but_for_the_methods(house: Path) -> None:
    build(house, {f"explorer/methods/way{number}.py": "" for number in range(MOST_FILES + 1)})
    assert breaches(house) == []
    build(house, {f"explorer/measuring/room/file{number}.py": "" for number in range(MOST_FILES + 1)})
    (found,) = breaches(house)
    assert found.rule == "crowded"
    assert f"explorer/measuring/room has {MOST_FILES + 1} files; {MOST_FILES} are allowed" in found.what


def test_rooms_import_one_another_no_more_often_than_they_do() -> None:
    more = {part: found for part, found in arrows(ROOT).items() if found > MOST_ARROWS.get(part, 0)}
    assert more == {}, "is there a room in which both could stand?"


@pytest.fixture(scope="module")
def counted() -> House:
    """The program, counted once."""
    return count(ROOT)


def test_the_name_of_a_class_exists_once(house: Path, counted: House) -> None:
    assert counted.names_used_twice == ()
    planted = {f"explorer/{room}/found.py": "class Found: ...\nclass _Own: ...\n" for room in ("data", "encoding")}
    build(house, planted | {"app.py": ""})
    assert count(house).names_used_twice == ("Found",)


def test_an_input_that_a_page_draws_itself_is_of_a_view_or_a_text(house: Path, counted: House) -> None:
    assert counted.inputs_by_hand == 0, "what sets something is drawn from its declaration, by controls.draw"
    drawn = (
        "st.selectbox('a', b)\nbox.slider('c', bind='query-params')\nst.radio('d', on_change=e)\nst.text_area('f')\n"
    )
    build(house, {"explorer/ui/form.py": drawn, "explorer/ui/controls.py": "st.toggle('g')\n", "app.py": ""})
    found = count(house)
    assert (found.inputs_by_hand, found.inputs_of_views, found.typed_texts) == (1, 2, 1)


def test_values_may_be_compared_and_what_is_no_text_for_people_parsed(house: Path) -> None:
    for line in (
        "name.partition('@')",
        "text.split('\\n')",
        "' '.join(text.split())",
        "str(error).partition('\\n')[0][:200]",
        "str(error).strip().splitlines()",
        "file.endswith(('.csv', '.tsv'))",
        "re.compile(r'[ \\t]*(?:\\r\\n?|\\n)[ \\t]*')",
        "name.replace(' ', '_')",
        "step.stage != before.stage",
        "step.stage is Stage.READING",
        "step.stage == Stage.READING",
        "row.title == MODEL_DEFAULT",
    ):
        assert found_with(house, "explorer/data/up.py", f"found = {line}\n") == [], line


def test_only_files_that_read_a_text_back_are_allowed_to() -> None:
    assert {source.path for source in read_sources(ROOT, *PROGRAM) if read_back(source)} == set(READ_BACK)


def test_a_text_may_name_families_and_any_file_what_all_of_them_have(house: Path) -> None:
    for line in (
        "'Choose a roberta or a bert.'",
        "'BERT, RoBERTa'",
        "'distilbert-base-uncased'",
        "model.config.num_hidden_layers",
        "stated.model_type is None",
        "f'a {config.model_type}'",
    ):
        assert found_with(house, "explorer/encoding/up.py", f"found = {line}\n") == [], line


def test_one_file_knows_architectures() -> None:
    assert {source.path for source in read_sources(ROOT, *PROGRAM) if known(source.text)} == {KNOWS_FAMILIES}


def test_every_rule_has_a_planted_breach() -> None:
    assert {rule.__name__.replace("_", " ") for rule in RULES} | {"circle", "nameless", "page rooms"} == {
        rule for rule, *_ in PLANTED
    }


def test_contributing_names_the_same_floors() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    told = {int(floor): set(re.findall(r"\w+", parts)) for floor, parts in re.findall(r"^(\d)  (.+?)  ", text, re.M)}
    kept = {floor: {part.rpartition(".")[2] for part in parts} for floor, parts in FLOORS.items() if floor}
    assert {floor: names - {"explorer", "py"} for floor, names in told.items()} == kept
