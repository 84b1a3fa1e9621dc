"""Test runs on static embeddings: they are trained, scored and saved as sentence-transformers opens them."""

import pytest
import torch
from sentence_transformers import SentenceTransformer

from explorer.encoding.locate.model_names import of_folder
from explorer.errors import UnsupportedModel
from explorer.progress import finish
from explorer.studies.size import static_folder
from explorer.studies.size.static_encoder import StaticOptions
from tests.encoding.load.test_static_embedding import saved
from tests.trainings import new, spearman, texts_of, train


@pytest.mark.parametrize(("method", "text"), [("contrast-hard", "triplets"), ("cosent", "test")])
def test_a_method_on_triplets_or_scores_trains_them(place, tmp_path, method, text):
    folder, settings = tmp_path / "static", {"steps": 3, "learning_rate": 0.01, "batch_size": 4}
    finish(static_folder.export(of_folder("tiny", place.model), StaticOptions(dimensions=8), folder))
    given = {"model": str(folder), "data": (str(getattr(place, text)),), "dev": str(place.dev), "test": None}
    run = train(new(place, method, settings=settings, **given))
    first, second, gold = texts_of(place.dev)
    models = [SentenceTransformer(str(where), device="cpu") for where in (folder, run.model)]
    before, after = (
        spearman(model.encode(first, convert_to_tensor=True), model.encode(second, convert_to_tensor=True), gold)
        for model in models
    )
    found = run.status().verdict.dev
    assert (found.before, found.after) == pytest.approx((before, after), abs=1e-3)
    tables = [model[0].embedding.weight for model in models]
    assert run.status().facts.nothing or not torch.equal(*tables)
    card = (run.model / "README.md").read_text()
    assert "With transformers alone" not in card
    assert "from sentence_transformers import SentenceTransformer" in card


def test_a_method_that_needs_layers_or_another_pooling_is_refused_before_training(place, tmp_path):
    model = str(saved(tmp_path / "static"))
    with pytest.raises(
        UnsupportedModel, match=r"'static' is static embeddings, .* and simcse needs them. Choose a method"
    ):
        train(new(place, "simcse", model=model))
    data = (str(place.triplets),)
    with pytest.raises(UnsupportedModel, match=r"cls of the last layer cannot be exported. Set pooling to 'mean'"):
        train(new(place, "contrast-hard", model=model, data=data, settings={"pooling": "cls"}))
