"""Language models beside the encoder: masked ones, which share its vocabulary and fill in words, and translators."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from explorer import errors
from explorer.encoding.load import checking, hardware, loading, model_tokenizer
from explorer.encoding.load.loading import ONE_AT_A_TIME, in_words
from explorer.encoding.locate import families, layout, model_names
from explorer.encoding.locate.model_names import Found
from explorer.encoding.read.batching import batches, limits_of
from explorer.encoding.read.encoder import Encoder, States

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase
    from transformers.modeling_outputs import MaskedLMOutput

# of the chosen tokens, this share is masked and this share replaced by another token; the rest is unchanged
_MASKED, _DRAWN = 0.8, 0.1
BEAMS = 5  # as in the WMT19 models; Kim, Yoo and Lee 2021 use 100
BATCH = 32  # sentences
LONGEST = 200  # most tokens of a translation, as in the WMT19 models
AT_ONCE = 8192  # most tokens of a batch
_CHOOSE = "Choose a model for one pair of languages, such as 'facebook/wmt19-en-de' or 'Helsinki-NLP/opus-mt-en-de'."


class Masker:
    """Masks a share of the tokens as in BERT's training, never special tokens."""

    def __init__(self, encoder: Encoder, share: float) -> None:
        tokenizer = encoder.tokenizer()
        if tokenizer.mask_token_id is None:
            raise errors.BadChoice(
                f"'{encoder.name}' has no mask token, so nothing can be masked. Choose another encoder."
            )
        self.share = share
        self._token: int = tokenizer.mask_token_id
        self._special = torch.tensor(sorted(tokenizer.all_special_ids))
        self._words = len(tokenizer)

    def __call__(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens with some masked, and which were chosen, including the unchanged ones."""
        chosen, fate = torch.rand(ids.shape) < self.share, torch.rand(ids.shape)
        drawn = torch.randint(0, self._words, ids.shape)
        # drawn on the host, so that every device masks the same; a GPU need not wait for it
        chosen, fate, drawn, special = (
            tensor.to(ids.device, non_blocking=True) for tensor in (chosen, fate, drawn, self._special)
        )
        chosen &= mask & ~torch.isin(ids, special)
        changed = ids.masked_fill(chosen & (fate < _MASKED), self._token)
        return torch.where(chosen & (fate >= _MASKED) & (fate < _MASKED + _DRAWN), drawn, changed), chosen


class MaskedModel(nn.Module):
    """An encoder with a head that predicts the token at a place."""

    def __init__(self, model: PreTrainedModel) -> None:
        super().__init__()
        self.model = model

    def scores(self, ids: Tensor, mask: Tensor, chosen: Tensor, count: int | None = None) -> Tensor:
        """Logits of each token at the chosen places (place, token); if their count is known, a GPU need not wait."""
        scores: Tensor = self._run(ids, mask, chosen, count).logits
        return scores

    def states_and_scores(self, ids: Tensor, mask: Tensor, chosen: Tensor, count: int) -> tuple[States, Tensor]:
        """Every layer of the encoder, and the logits at the chosen places, in one pass."""
        found = self._run(ids, mask, chosen, count, output_hidden_states=True)
        return States(hidden=found.hidden_states, mask=mask), found.logits

    def _run(self, ids: Tensor, mask: Tensor, chosen: Tensor, count: int | None, **options: bool) -> MaskedLMOutput:
        def only_chosen(_: nn.Module, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            if count is None:
                return (states[0][chosen],)  # the vocabulary projection is most of the work
            return (states[0].flatten(0, 1)[chosen_places(chosen, count)],)

        hook = self.model.get_output_embeddings().register_forward_pre_hook(only_chosen)
        try:
            found: MaskedLMOutput = self.model(input_ids=ids, attention_mask=mask.long(), **options)
        finally:
            hook.remove()
        return found

    @torch.no_grad()
    def guesses(self, ids: Tensor, mask: Tensor, real: int | None = None) -> Tensor:
        """The most likely token at every real place (sentence, token); padding is unchanged."""
        scores = self.scores(ids, mask, mask, real)
        if scores.device.type == "cpu":  # numpy is seven times as fast as torch here
            likeliest = torch.from_numpy(scores.float().numpy().argmax(-1))
        else:
            likeliest = scores.argmax(-1)
        return ids.masked_scatter(mask, likeliest)

    def save(self, folder: Path, tokenizer: PreTrainedTokenizerBase) -> None:
        """Save a folder that transformers opens as a masked language model."""
        with loading.quiet():
            self.model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def chosen_places(chosen: Tensor, count: int) -> Tensor:
    """The places of a mask (sentence, token), counted through, whose number is known."""
    return torch.nonzero_static(chosen.flatten(), size=count)[:, 0]


def with_new_head(encoder: Encoder) -> MaskedModel:
    """A trainable copy of an encoder under a head that is initialised at random and tied to the embeddings."""
    config = encoder.model.config
    kind = _class(config)
    if kind is None:
        raise _no_masked_model(encoder)
    with ONE_AT_A_TIME:
        model: PreTrainedModel = kind(config)
    model.base_model.load_state_dict(encoder.model.state_dict(), strict=False)  # a pooling layer is not used here
    model.tie_weights()
    return MaskedModel(model.float().to(encoder.device).train())


def head_around(inner: PreTrainedModel, encoder: Encoder) -> MaskedModel:
    """A head on a copy of an encoder that is trained elsewhere, tied to its embeddings.

    It is that of the encoder's folder, or initialised at random if the folder has none.
    """
    config, model = encoder.model.config, None
    kind = _class(config)
    if encoder.folder is not None and kind is not None:
        with suppress(errors.WeightsMissing):  # a head, in a folder of an encoder alone
            with ONE_AT_A_TIME, in_words(encoder.name, encoder.folder):
                model = loading.opened(kind, encoder.folder, config)
            loading.settle(model, "float32", encoder.device)
            model.requires_grad_(True)
    if model is None:
        model = with_new_head(encoder).model
    if type(model.base_model) is not type(inner):
        raise _no_masked_model(encoder)
    setattr(model, model.base_model_prefix, inner)
    model.tie_weights()
    return MaskedModel(model.train())


def load_masked(located: Found, encoder: Encoder) -> MaskedModel:
    """Load the frozen masked language model in a folder, for the tokens of `encoder`."""
    folder = checking.check(located.folder)
    with ONE_AT_A_TIME, in_words(located.name, folder):
        config = loading.read_config(folder)
        kind = _class(config)
        if kind is None:
            raise errors.UnsupportedModel(
                f"'{located.name}' is a {config.model_type}, which does not predict masked words. Choose a masked "
                "language model such as 'distilbert-base-uncased'."
            )
        model = loading.opened(kind, folder, config, layout.adapter(located.folder))
        tokenizer = model_tokenizer.load(folder)
    check_vocabulary(tokenizer, encoder, located.name)
    loading.settle(model, "float32", "cpu")
    return MaskedModel(model).requires_grad_(False)


def _class(config: PreTrainedConfig) -> Any:
    """The masked language model of a type of encoders; None if transformers has none."""
    from transformers import MODEL_FOR_MASKED_LM_MAPPING

    return MODEL_FOR_MASKED_LM_MAPPING.get(type(config), None)


def _no_masked_model(encoder: Encoder) -> errors.UnsupportedModel:
    return errors.UnsupportedModel(
        f"'{encoder.name}' is a {encoder.model.config.model_type}, for which transformers has no masked language "
        f"model. Choose {families.SIMILAR}."
    )


def check_vocabulary(tokenizer: PreTrainedTokenizerBase, encoder: Encoder, name: str) -> None:
    """Refuse a model whose token ids differ from the encoder's."""
    own = encoder.tokenizer()
    if tokenizer.get_vocab() != own.get_vocab():
        raise errors.BadChoice(
            f"'{name}' has another vocabulary than '{encoder.name}' ({len(tokenizer)} and {len(own)} tokens). "
            "Choose a masked language model with the same vocabulary, or train one from the encoder: "
            f"python -m explorer generator --model {encoder.name} --data FILE --out FOLDER"
        )


@dataclass(frozen=True)
class Translator:
    """A deterministic translation model for one pair of languages."""

    name: str
    digest: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    reads: int  # most tokens of a sentence; longer ones are truncated
    writes: int  # most tokens of a translation
    beams: int
    batch: int

    def translate(self, sentences: Sequence[str]) -> list[str]:
        """The translations, in the order of the sentences."""
        if not sentences:
            return []
        ids = self.tokenizer(list(sentences), truncation=True, max_length=self.reads)["input_ids"]
        found = [""] * len(sentences)
        busy = limits_of(self.model.device).busy
        for places in batches([len(numbers) for numbers in ids], AT_ONCE, self.batch, busy):
            written = self.write([ids[place] for place in places], self.writes)
            texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
            for place, text in zip(places, texts, strict=True):
                found[place] = text.strip()
        return found

    def write(self, ids: Sequence[Sequence[int]], most: int) -> Any:
        """Output tokens (sentence, token) for the tokens of one batch of sentences."""
        blank, device = self.tokenizer.pad_token_id, self.model.device
        read = pad_sequence([torch.tensor(numbers) for numbers in ids], batch_first=True, padding_value=blank)
        mask = pad_sequence([torch.ones(len(numbers), dtype=torch.long) for numbers in ids], batch_first=True)
        # the settings of the model, with this beam size and without sampling
        search: GenerationConfig = copy.deepcopy(self.model.generation_config)
        search.update(num_beams=self.beams, num_return_sequences=1, max_length=most, max_new_tokens=None)
        search.update(do_sample=False, temperature=None, top_k=None, top_p=None)
        try:
            return self.model.generate(read.to(device), attention_mask=mask.to(device), generation_config=search)
        except (MemoryError, RuntimeError) as error:
            if not errors.ran_out_of_memory(error):
                raise
            raise errors.ModelTooLarge(
                f"'{self.name}' ran out of memory with a batch of {len(ids)} sentences and beam size {self.beams}. "
                "Choose a smaller batch or beam size."
            ) from error


def load_translator(
    located: Found, *, beams: int = BEAMS, batch: int = BATCH, longest: int = LONGEST, device: str = "auto"
) -> Translator:
    """Load the translator in a folder, in float32. For a multi-task model such as T5, the sentences name the task."""
    from transformers import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING, AutoModelForSeq2SeqLM

    for name, number in (("beams", beams), ("batch", batch), ("longest", longest)):
        if number < 1:
            raise errors.BadChoice(f"{name} is {number}; at least 1 is needed.")
    device = hardware.device(device)
    folder = checking.check(located.folder)
    with ONE_AT_A_TIME, in_words(located.name, folder):
        config = loading.read_config(folder)
        if type(config) not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING:
            raise errors.UnsupportedModel(
                f"'{located.name}' ({config.model_type}) is not a translation model: it generates no text. {_CHOOSE}"
            )
        if families.of(config.model_type).many_languages:
            raise errors.UnsupportedModel(
                f"'{located.name}' ({config.model_type}) is multilingual, which Strata does not support. {_CHOOSE}"
            )
        tokenizer = _tokenizer(folder, located.name)
        model = loading.opened(AutoModelForSeq2SeqLM, folder, config, layout.adapter(located.folder))
        model_tokenizer.check_vocabulary(tokenizer, model, located.name)
        if device == "cuda":
            checking.check_room(model.num_parameters(), "float32", hardware.free_memory(device))
        loading.settle(model, "float32", device)
    model_names.check_same(located)
    translator = Translator(
        name=located.name,
        digest=located.digest,
        model=model,
        tokenizer=tokenizer,
        reads=model_tokenizer.max_length(model, tokenizer),
        writes=min(longest, model_tokenizer.positions(model) or longest),
        beams=beams,
        batch=batch,
    )
    _try_out(translator)
    return translator


def _tokenizer(folder: Path, name: str) -> PreTrainedTokenizerBase:
    try:
        return model_tokenizer.load(folder)
    except errors.TokenizerMissing as error:
        if "sacremoses" not in str(error.__cause__):
            raise
        raise errors.TokenizerMissing(
            f"The tokenizer of '{name}' needs a package that is not installed. Install it with "
            "'pip install sacremoses', or choose a model with a tokenizer.json."
        ) from error


def _try_out(translator: Translator) -> None:
    """Translate a word, to refuse an unusable model before hours of work."""
    try:
        ids = translator.tokenizer("a")["input_ids"]
        written = translator.write([ids], most=3)
        translator.tokenizer.batch_decode(written)
    except (TypeError, ValueError, AttributeError, RuntimeError, LookupError) as error:
        raise errors.UnsupportedModel(
            f"'{translator.name}' ({type(translator.model).__name__}) cannot translate a word "
            f"({type(error).__name__}: {error}). {_CHOOSE}"
        ) from error
