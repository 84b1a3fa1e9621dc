"""Load a translation model and translate sentences."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explorer.encoding.load import checking, hardware, loading, model_tokenizer
from explorer.encoding.load.loading import ONE_AT_A_TIME, in_words
from explorer.encoding.locate import families, layout, model_names
from explorer.encoding.read.batches import batches
from explorer.errors import BadChoice, ModelTooLarge, TokenizerMissing, UnsupportedModel, ran_out_of_memory

if TYPE_CHECKING:
    from transformers import GenerationConfig, PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

    from explorer.encoding.locate.model_names import Found

BEAMS = 5  # as in the WMT19 models; Kim, Yoo and Lee 2021 use 100
BATCH = 32  # sentences
LONGEST = 200  # most tokens of a translation, as in the WMT19 models
AT_ONCE = 8192  # most tokens of a batch
_CHOOSE = "Choose a model for one pair of languages, such as 'facebook/wmt19-en-de' or 'Helsinki-NLP/opus-mt-en-de'."


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
        for places in batches([len(numbers) for numbers in ids], AT_ONCE, self.batch):
            written = self.write([ids[place] for place in places], self.writes)
            texts = self.tokenizer.batch_decode(written, skip_special_tokens=True)
            for place, text in zip(places, texts, strict=True):
                found[place] = text.strip()
        return found

    def write(self, ids: Sequence[Sequence[int]], most: int) -> Any:
        """Output tokens (sentence, token) for the tokens of one batch of sentences."""
        import torch

        read = torch.full((len(ids), max(map(len, ids))), self.tokenizer.pad_token_id)  # (sentence, token)
        mask = torch.zeros_like(read)
        for row, numbers in enumerate(ids):
            read[row, : len(numbers)] = torch.tensor(numbers)
            mask[row, : len(numbers)] = 1
        device = self.model.device
        try:
            return self.model.generate(
                read.to(device), attention_mask=mask.to(device), generation_config=self._search(most)
            )
        except (MemoryError, RuntimeError) as error:
            if not ran_out_of_memory(error):
                raise
            raise ModelTooLarge(
                f"'{self.name}' ran out of memory with a batch of {len(ids)} sentences and beam size {self.beams}. "
                "Choose a smaller batch or beam size."
            ) from error

    def _search(self, most: int) -> GenerationConfig:
        """The generation settings of the model, with this beam size and without sampling."""
        search = copy.deepcopy(self.model.generation_config)
        search.update(num_beams=self.beams, num_return_sequences=1, max_length=most, max_new_tokens=None)
        search.update(do_sample=False, temperature=None, top_k=None, top_p=None)
        return search


def load(
    found: Found, *, beams: int = BEAMS, batch: int = BATCH, longest: int = LONGEST, device: str = "auto"
) -> Translator:
    """Load the translator in a folder, in float32. For a multi-task model such as T5, the sentences name the task."""
    from transformers import AutoModelForSeq2SeqLM

    for name, number in (("beams", beams), ("batch", batch), ("longest", longest)):
        if number < 1:
            raise BadChoice(f"{name} is {number}; at least 1 is needed.")
    device = hardware.device(device)
    folder = checking.check(found.folder)
    with ONE_AT_A_TIME, in_words(found.name, folder):
        config = loading.read_config(folder)
        _check_kind(config, found.name)
        tokenizer = _tokenizer(folder, found.name)
        model = loading.opened(AutoModelForSeq2SeqLM, folder, config, layout.adapter(found.folder))
        model_tokenizer.check_vocabulary(tokenizer, model, found.name)
        if device == "cuda":
            checking.check_room(model.num_parameters(), "float32", hardware.free_memory(device))
        loading.settle(model, "float32", device)
    model_names.check_same(found)
    translator = Translator(
        name=found.name,
        digest=found.digest,
        model=model,
        tokenizer=tokenizer,
        reads=model_tokenizer.max_length(model, tokenizer),
        writes=min(longest, model_tokenizer.positions(model) or longest),
        beams=beams,
        batch=batch,
    )
    _try_out(translator)
    return translator


def _check_kind(config: PreTrainedConfig, name: str) -> None:
    from transformers import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

    if type(config) not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING:
        raise UnsupportedModel(
            f"'{name}' ({config.model_type}) is not a translation model: it generates no text. {_CHOOSE}"
        )
    if families.of(config.model_type).many_languages:
        raise UnsupportedModel(
            f"'{name}' ({config.model_type}) is multilingual, which Strata does not support. {_CHOOSE}"
        )


def _tokenizer(folder: Path, name: str) -> PreTrainedTokenizerBase:
    try:
        return model_tokenizer.load(folder)
    except TokenizerMissing as error:
        if "sacremoses" not in str(error.__cause__):
            raise
        raise TokenizerMissing(
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
        raise UnsupportedModel(
            f"'{translator.name}' ({type(translator.model).__name__}) cannot translate a word "
            f"({type(error).__name__}: {error}). {_CHOOSE}"
        ) from error
