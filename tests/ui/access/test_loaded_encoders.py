"""Test which encoders stay in memory."""

import weakref

from explorer.encoding.locate.model_names import Found
from explorer.measuring.scores.measure import Settings
from explorer.ui.access import loaded_encoders


def test_the_encoder_used_longest_ago_is_let_go_before_another_one_is_loaded(monkeypatch):
    held: list[weakref.ref] = []
    before: list[list[int]] = []

    class Loaded:
        pass

    def load(found, settings):
        before.append([place for place, one in enumerate(held) if one() is not None])
        encoder = Loaded()
        held.append(weakref.ref(encoder))
        return encoder

    monkeypatch.setattr(loaded_encoders, "_LOADED", {})
    monkeypatch.setattr(loaded_encoders, "load_encoder", load)
    first, second, third = (Found(name, None, name * 64) for name in "abc")
    one = weakref.ref(loaded_encoders.encoder(first, Settings()))
    loaded_encoders.encoder(second, Settings())
    assert loaded_encoders.encoder(first, Settings(max_length=8)) is one(), "for any length"
    loaded_encoders.encoder(third, Settings())
    assert before == [[], [0], [0]], "the second has gone when the third is loaded"
    assert loaded_encoders.encoder(first, Settings()) is one()
