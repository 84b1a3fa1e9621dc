"""Test that a pooling of one function and one row, in the grid, is on every page that offers poolings."""

from pathlib import Path

from tests import copies
from tests.live import ROOT

FUNCTION = '''def pool_min(states: Tensor, mask: Tensor | None) -> Tensor:
    """The smallest value of each dimension over real tokens."""
    return (states.float() if mask is None else _filled(states, mask, float("inf"))).amin(1)


'''
ROW = '        Pooling("min", "mintokens", \'states.masked_fill(mask == 0, float("inf")).amin(1)\', in_grid=True),\n'
HOME = "explorer/encoding/read/pooling.py"
PLACES = {  # where they are put in: before these lines
    "FUNCTIONS: dict": FUNCTION,
    '    "cls": pool_cls,\n': '    "min": pool_min,\n',
    '        Pooling("cls", "cls"': ROW,
}


def in_a_copy(folder: Path) -> None:
    """Open every page of the copy of the app, with the pooling chosen for A and for B."""
    from streamlit.testing.v1 import AppTest

    from explorer.encoding.load.loading import load
    from explorer.encoding.locate.model_names import of_folder
    from explorer.encoding.read.pooling import parse
    from explorer.measuring.sentences.sentence_vectors import of_reading
    from explorer.progress import finish
    from tests import trainings
    from tests.visits import opened

    place = trainings.furnish(folder / "place")
    encoder = load(of_folder("tiny", place.model), "float32", "cpu")
    reading = parse("min of layer 2", 2)
    vectors = finish(of_reading(encoder, ["a dog is here", "nobody came"], reading))
    for vector, text in zip(vectors, ["a dog is here", "nobody came"], strict=True):
        assert abs(encoder.states([text]).hidden[2, 0].numpy().min(0) - vector).max() < 1e-5
    for page in sorted(path.stem for path in (ROOT / "pages").glob("*.py")):
        app = AppTest.from_file(str(folder / "app.py"), default_timeout=120)
        app.query_params.update(model=str(place.model), beside=str(place.model), sts=str(place.test))
        with trainings.few_probes_shown():
            opened(app, page, reading=reading.title, beside_reading="min of layer 1", projection="PCA")
        assert not app.exception, (page, app.exception[0].value)
        shown = [one for one in app.selectbox if one.key == "reading"]
        assert all(reading.title in one.options for one in shown), page
        assert shown or page != "layers"


def test_every_page_opens_with_it_and_its_vectors_are_those_of_numpy(tmp_path):
    copies.planted(tmp_path, [(HOME, before, new) for before, new in PLACES.items()])
    copies.run_in(tmp_path, in_a_copy)
