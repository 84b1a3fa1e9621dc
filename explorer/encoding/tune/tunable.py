"""A trainable copy of an encoder, with gradients, that encodes as the original does; whole, or by adapters."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn

from explorer.encoding.read import attention
from explorer.encoding.read.batching import COLUMNS, batches, limits_of, passes
from explorer.encoding.read.encoder import Encoder, States, every_layer, to_pool
from explorer.encoding.tune import editing
from explorer.encoding.tune.adapters import Lora, adapt, merged, sharing_copy, targets_of
from explorer.encoding.tune.editing import Edit, use_fast_dropout
from explorer.errors import BadChoice, UnsupportedModel

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# tokens of a pass without gradients that every device can hold
LEAST = 4096
# overhead of a training pass, in tokens: small on a processor, large on a GPU
PASS_ON_CPU = 256
PASS_ON_GPU = 16384
OF_CAPTURED = 8  # the width of passes that may be captured is a multiple of it, so that there are few shapes
CHANGED = "the method changes embeddings, positions or heads inside the encoder"


class Captured(Protocol):
    """What computes passes again that were captured: `captured_passes.CapturedPasses`."""

    def states(self, of: Tunable, given: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
        """The states of token ids, their mask and perhaps types; None if the pass is not captured."""

    def leave_out(self, reason: str) -> None:
        """Say why a pass is not captured."""


class Tunable(nn.Module):
    """A transformer in training, in float32, with the tokenizer and the limits of the encoder it was copied from.

    With `adapters` these alone are trained; it shares all other weights with the encoder, and changes none of them.
    With `checkpointing` a backward pass computes each layer again, whose activations are not kept for it.
    """

    def __init__(
        self, encoder: Encoder, max_length: int, adapters: Lora | None = None, *, checkpointing: bool = False
    ) -> None:
        super().__init__()
        self.adapters, self.checkpointing = adapters, checkpointing
        self.model: PreTrainedModel = (sharing_copy if adapters else copy.deepcopy)(encoder.model).float()
        self.model.requires_grad_(adapters is None)
        use_fast_dropout(self.model)
        attention.to_train(self.model)
        if adapters:
            adapt(self.model, targets_of(self.model, encoder.name, adapters.targets), adapters)
        if checkpointing:
            checkpoint(self.model, encoder.name)
        attention.take_masks_as_given()
        self.max_length = min(max_length, encoder.max_length)
        self.width = encoder.width
        self.layers: int = self.model.config.num_hidden_layers
        self._encoder = (encoder,)  # in a tuple, so that it is not registered as a submodule
        self.captured: Captured | None = None  # of the batch under way
        self._heads_change = False

    @property
    def encoder(self) -> Encoder:
        """The encoder it was copied from, unchanged."""
        return self._encoder[0]

    def frozen(self) -> Tunable:
        """A frozen copy, without adapters: they are added to its weights."""
        other = Tunable(self.encoder, self.max_length)
        if self.adapters:
            other.model = self.plain().eval()
        else:
            other.model.load_state_dict(self.model.state_dict())
        other.requires_grad_(False)
        return other

    def another(self) -> Tunable:
        """Another trained copy with the same weights, and adapters of its own if this one has them."""
        other = Tunable(self.encoder, self.max_length, self.adapters, checkpointing=self.checkpointing)
        other.model.load_state_dict(self.model.state_dict())
        return other

    def cut(self, layers: int, where: editing.Stack) -> Tunable:
        """A trained copy of the first `layers` layers, with the same weights, and adapters if this one has them.

        Its `encoder` is the cut one.
        """
        cut = editing.cut(self.encoder, layers, where)
        other = Tunable(cut, self.max_length, self.adapters, checkpointing=self.checkpointing)
        weights = self.model.state_dict()
        other.model.load_state_dict({name: weights[name] for name in other.model.state_dict()})
        return other

    def set_share(self, alpha: float, tuned: Mapping[str, Tensor], base: Encoder | None = None) -> None:
        """Give every trained weight (1 - alpha) of what it was in the base and alpha of what it is in `tuned`.

        The base is the encoder that was copied, unless another one is given. Of adapters that is B times alpha: beside
        them, nothing changes.
        """
        before = dict((base or self.encoder).model.named_parameters())
        with torch.no_grad():
            for name, weight in self.own_weights().items():
                if not self.adapters:
                    weight.copy_(torch.lerp(before[name].to(weight), tuned[name], alpha))
                elif "lora_B" in name:
                    weight.copy_(alpha * tuned[name])

    def own_weights(self) -> dict[str, nn.Parameter]:
        """The weights that are trained, by name: those of the adapters, if it has any."""
        return {name: weight for name, weight in self.model.named_parameters() if weight.requires_grad}

    def plain(self) -> PreTrainedModel:
        """The model without adapters: they are added to its weights, which have their usual names."""
        return merged(self.model) if self.adapters else self.model

    @property
    def trained(self) -> int:
        """The number of weights that are trained: those of the adapters, if it has any."""
        return sum(weight.numel() for weight in self.own_weights().values())

    @property
    def size(self) -> int:
        """The number of weights of the model, without those of adapters."""
        return sum(weight.numel() for weight in self.encoder.model.parameters())

    def states(self, sentences: Sequence[str], edit: Edit | None = None, position_ids: Edit | None = None) -> States:
        """Every layer of one batch of sentences, with gradients if they are enabled.

        `edit` is given the embedding output (sentence, token, width) and the mask of real tokens, `position_ids` the
        position ids (sentence, token) and the mask; what they return is used instead.
        """
        return self._states(self.encoder.tokens(sentences, self.max_length).ids, edit=edit, position_ids=position_ids)

    def grouped(
        self, sentences: Sequence[str], edit: Edit | None = None, position_ids: Edit | None = None
    ) -> Iterator[tuple[list[int], States]]:
        """Every layer of sentences in passes of similar length, which saves padding, with their places."""
        ids = self.encoder.tokens(sentences, self.max_length).ids
        return self.grouped_tokens(ids, edit=edit, position_ids=position_ids)

    def grouped_tokens(
        self,
        ids: list[list[int]],
        types: list[list[int]] | None = None,
        edit: Edit | None = None,
        position_ids: Edit | None = None,
    ) -> Iterator[tuple[list[int], States]]:
        """Every layer of token ids, with the special tokens, in passes of similar length, with their places."""
        for places, width in self._passes(ids):
            kinds = None if types is None else [types[place] for place in places]
            yield places, self._states([ids[place] for place in places], width, kinds, edit, position_ids)

    def padded_groups(self, sentences: Sequence[str]) -> Iterator[tuple[list[int], Tensor, Tensor, int]]:
        """Sentences in passes of similar length: places, token ids, mask (sentence, token), and how many are real."""
        ids = self.encoder.tokens(sentences, self.max_length).ids
        return self.padded_tokens(ids, self.model.device)

    def padded_tokens(
        self, ids: list[list[int]], device: str | torch.device
    ) -> Iterator[tuple[list[int], Tensor, Tensor, int]]:
        """Lists of token ids, special tokens included, in passes as `padded_groups` gives them."""
        for places, width in self._passes(ids):
            own = [ids[place] for place in places]
            yield places, *self.encoder.padded(own, device, width), sum(map(len, own))

    def forward(
        self,
        ids: Tensor,
        mask: Tensor,
        types: Tensor | None = None,
        edit: Edit | None = None,
        position_ids: Edit | None = None,
        whole: bool = False,
    ) -> States:
        """Every layer of token ids (sentence, token) and their mask; `whole` states that none of them is padding."""
        if self.captured is not None:
            whole = False  # as in a captured pass, whose mask may be another one each time
            if edit is not None or position_ids is not None or self._heads_change:
                self.captured.leave_out(CHANGED)
            elif found := self.captured.states(self, (ids, mask) if types is None else (ids, mask, types)):
                return States(found, mask)
        # without padding no mask is passed: attention is faster without one. With position ids one is needed: a decoder
        # takes ids that do not rise one by one for several texts in one row
        more: dict[str, Any] = {"attention_mask": None if whole and position_ids is None else mask.long()}
        if self.checkpointing and getattr(self.model.config, "use_cache", False):
            more["use_cache"] = False  # else transformers does so itself, with a warning
        if types is not None:
            more["token_type_ids"] = types
        if position_ids is not None:
            own = editing.position_ids(self.model, self.encoder.name, ids)
            more["position_ids"] = position_ids(own, mask)
        with ExitStack() as hooks:
            if edit is not None:
                entrance = editing.entrance(self.model)
                hooks.callback(entrance.register_forward_hook(lambda _, __, embedded: edit(embedded, mask)).remove)
            return States(hidden=every_layer(self.model, input_ids=ids, **more), mask=mask)

    @contextmanager
    def heads_dropped(self, chance: float) -> Iterator[None]:
        """Drop attention heads with this probability for each sentence and layer (DropHead, Zhou and others 2020).

        Kept heads are scaled by heads / kept, and if no head would be kept, all are. Unlike dropout this does not
        depend on whether the encoder is in training.
        """
        heads: int = self.model.config.num_attention_heads
        if chance and self.checkpointing:  # a layer that is computed again would have all of its heads
            raise BadChoice(
                "gradient_checkpointing cannot be on where attention heads are dropped. Turn it off, or choose another "
                "noise."
            )

        def drop(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            # drawn on the host, so that every device drops the same; a GPU need not wait for it
            factors = editing.head_factors(torch.rand(len(given[0]), heads), chance)
            return (editing.scaled_heads(given[0], factors.to(given[0].device, non_blocking=True)), *given[1:])

        with ExitStack() as hooks:
            self._heads_change = bool(chance)
            hooks.callback(setattr, self, "_heads_change", False)
            for part in editing.heads_joined(self.model, self.encoder.name) if chance else []:
                hooks.callback(part.register_forward_pre_hook(drop).remove)
            yield

    def _passes(self, ids: list[list[int]]) -> list[tuple[list[int], int]]:
        price = PASS_ON_CPU if self.model.device.type == "cpu" else PASS_ON_GPU
        return passes([len(numbers) for numbers in ids], price, COLUMNS if self.captured is None else OF_CAPTURED)

    def _states(
        self,
        ids: list[list[int]],
        width: int = 0,
        types: list[list[int]] | None = None,
        edit: Edit | None = None,
        position_ids: Edit | None = None,
    ) -> States:
        padded, mask = self.encoder.padded(ids, self.model.device, width)
        whole = set(map(len, ids)) == {padded.shape[1]}
        kinds = None
        if types is not None:
            filled = torch.tensor([row + [0] * (padded.shape[1] - len(row)) for row in types])
            kinds = filled.to(padded.device, non_blocking=True)
        states: States = self(padded, mask, kinds, edit, position_ids, whole)
        return replace(states, mask=to_pool(ids, mask))

    def read(
        self, sentences: Sequence[str], autocast: Callable[[], AbstractContextManager[object]] = nullcontext
    ) -> Iterator[tuple[list[int], States]]:
        """Sentences in batches of one length, longest first, with their places in the caller's order; no gradients.

        They are truncated at the encoder's limit, not at that of the training.
        """
        ids = self.encoder.tokens(sentences).ids
        limits = limits_of(self.model.device)
        # no more states than in encoding, but as many tokens as anywhere
        budget = min(limits.tokens, max(LEAST, limits.states // (4 * self.width * (self.layers + 1))))
        for places in batches([len(numbers) for numbers in ids], budget, budget, limits.busy):
            with torch.no_grad(), autocast():  # left before the yield, since both are state of the whole thread
                states = self._states([ids[place] for place in places])
            yield places, states


def checkpoint(model: PreTrainedModel, name: str) -> None:
    """Have a model keep the input of each layer alone for the backward pass, which computes the layer again."""
    if not getattr(model, "supports_gradient_checkpointing", False) or not checkpointed(model):
        raise UnsupportedModel(
            f"'{name}' is a {model.config.model_type}, whose layers transformers cannot compute again in the backward "
            "pass. Turn gradient_checkpointing off."
        )
    model.activation_checkpointing_enable(activation_checkpointing_kwargs={"use_reentrant": False})


def checkpointed(model: nn.Module) -> list[nn.Module]:
    """The layers of a model that can be computed again: their class has the switch."""
    return [part for part in model.modules() if hasattr(type(part), "gradient_checkpointing")]


@contextmanager
def all_kept(model: PreTrainedModel) -> Iterator[int]:
    """Keep every activation of a model that computes its layers again, in this block; gives their number."""
    layers = checkpointed(model)
    model.activation_checkpointing_disable()
    yield len(layers)
    checkpoint(model, "")


def attending(encoder: Encoder) -> Encoder:
    """A float32 encoder that returns attention weights; it shares all weights with the one that is given."""
    found = copy.copy(encoder)
    found.model = sharing_copy(encoder.model)
    found.model.set_attn_implementation(attention.EAGER)
    return found
