"""Build a small folder of each encoder that people use today, as libraries write it, and find what Strata makes of it.

The weights are random, the files and the architecture those of the model that is named. As a script this prints
`docs/encoders.md`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from tokenizers import processors
from torch import nn
from transformers import AutoConfig, AutoModel

from explorer.encoding.export.exporting import export
from explorer.encoding.load import declared
from explorer.encoding.load.loading import load
from explorer.encoding.locate import families
from explorer.encoding.locate.model_names import of_folder
from explorer.encoding.read.encoder import Encoder
from explorer.encoding.read.pooling import Reading
from explorer.encoding.tune import editing
from explorer.errors import StrataError, UnsupportedModel
from explorer.measuring.sentences.sentence_vectors import of_reading
from explorer.progress import finish
from tests.exports import as_trained, by_sentence_transformers, tunable
from tests.spoiling import reweigh
from tests.tiny_models import FAMILIES, SENTENCES, WIDTH, save_tiny, tiny_tokenizer

Vectors = NDArray[np.float32]

END = "<|endoftext|>"
SIZES = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
GROUPED = {"num_key_value_heads": 1, "head_dim": 16}  # of decoders
NORMALIZE = modules.Normalize
E5 = {"query": "query: ", "document": "passage: "}
NOMIC = {"query": "search_query: ", "document": "search_document: "}
BGE = {"query": "Represent this sentence for searching relevant passages: ", "document": ""}
NATIVE = "in the files of transformers' own class; Python code that a folder brings is never run"
INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
INSTRUCTED = {"query": INSTRUCTION, "document": ""}


@dataclass(frozen=True)
class Kind:
    """Encoders of one architecture and one chain of modules: names on the hub, and how a folder of one is made."""

    names: tuple[str, ...]
    family: str  # the type of the transformer
    tokenizer: str = ""  # the family whose tokenizer it has; its own by default
    pooling: str = ""  # without one it is a folder of transformers alone
    more: tuple[Callable[[], nn.Module], ...] = ()  # modules after the pooling
    prompts: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, Any] = field(default_factory=dict)
    of_pooling: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""

    def save(self, folder: Path) -> Path:
        """A folder of it."""
        if not self.pooling:
            return self._transformer(folder)
        chain = modules.Transformer(str(self._transformer(folder / "made")))
        pooled = modules.Pooling(WIDTH, pooling_mode=self.pooling, **self.of_pooling)
        torch.manual_seed(1)
        every = [chain, pooled, *(make() for make in self.more)]
        prompts = {"prompts": dict(self.prompts)} if self.prompts else {}
        whole = SentenceTransformer(modules=every, device="cpu", **prompts)
        whole.save(str(folder / "saved"), create_model_card=False)
        return folder / "saved"

    def _transformer(self, folder: Path) -> Path:
        if self.family in FAMILIES and not self.tokenizer and not self.sizes:
            return save_tiny(self.family, folder)
        tokenizer = tiny_tokenizer(self.tokenizer or self.family)
        if tokenizer.pad_token is None:  # a decoder's, which ends each text with the token whose state is its vector
            tokenizer.pad_token = END
            ends = {"single": f"$A {END}", "pair": f"$A $B {END}", "special_tokens": [(END, 0)]}
            tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(**ends)
        tokens = {
            "pad_token_id": tokenizer.pad_token_id,
            "eos_token_id": tokenizer.eos_token_id or 0,
            "bos_token_id": 0,
        }
        sizes = {"vocab_size": len(tokenizer), "max_position_embeddings": 128, **SIZES, **tokens, **self.sizes}
        torch.manual_seed(0)
        AutoModel.from_config(AutoConfig.for_model(self.family, **sizes)).eval().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder


@dataclass(frozen=True)
class Static:
    """A table of token vectors with a tokenizer and no transformer."""

    names: tuple[str, ...]
    family: str = families.STATIC
    more: tuple[Callable[[], nn.Module], ...] = ()  # modules after it
    model2vec: bool = False  # as that library saves it, with a list of modules beside it
    remark: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)

    def save(self, folder: Path) -> Path:
        """A folder of it."""
        torch.manual_seed(0)
        table = modules.StaticEmbedding(tiny_tokenizer("bert").backend_tokenizer, embedding_dim=WIDTH)
        whole = SentenceTransformer(modules=[table, *(make() for make in self.more)], device="cpu")
        whole.save(str(folder), create_model_card=False)
        if self.model2vec:
            reweigh(folder, lambda saved: {"embeddings": saved["embedding.weight"]})
            stated = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True}
            (folder / "config.json").write_text(json.dumps(stated))
        return folder


@dataclass(frozen=True)
class Routed:
    """A Router with one encoder for queries and another one for documents."""

    names: tuple[str, ...]
    family: str = "bert"
    remark: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)

    def save(self, folder: Path) -> Path:
        """A folder of it."""
        query, document = (
            [modules.Transformer(str(save_tiny(self.family, folder / name))), modules.Pooling(WIDTH, "mean")]
            for name in ("query", "document")
        )
        routes = modules.Router.for_query_document(query, document)
        SentenceTransformer(modules=[routes], device="cpu").save(str(folder / "saved"), create_model_card=False)
        return folder / "saved"


def _dense(width: int, given: int = WIDTH, activation: type[nn.Module] = nn.Identity, bias: bool = False) -> Any:
    return lambda: modules.Dense(given, width, bias=bias, activation_function=activation())


KINDS: tuple[Kind | Static | Routed, ...] = (
    Kind(("sentence-transformers/all-MiniLM-L6-v2",), "bert", pooling="mean", more=(NORMALIZE,)),
    Kind(("sentence-transformers/all-mpnet-base-v2",), "mpnet", pooling="mean", more=(NORMALIZE,)),
    Kind(("sentence-transformers/msmarco-distilbert-base-tas-b",), "distilbert", pooling="cls"),
    Kind(("sentence-transformers/paraphrase-albert-small-v2",), "albert", pooling="mean"),
    Kind(("dangvantuan/sentence-camembert-base",), "camembert", "roberta", pooling="mean"),
    Kind(("google-bert/bert-base-uncased",), "bert"),
    Kind(("FacebookAI/roberta-base",), "roberta"),
    Kind(("FacebookAI/xlm-roberta-base",), "xlm-roberta"),
    Kind(("microsoft/deberta-v3-base",), "deberta-v2"),
    Kind(("google/electra-base-discriminator",), "electra"),
    Kind(("answerdotai/ModernBERT-base",), "modernbert"),
    Kind(("EuroBERT/EuroBERT-210m",), "eurobert", "bert", sizes={"num_key_value_heads": 1}, remark=NATIVE),
    Kind(("intfloat/e5-base-v2",), "bert", pooling="mean", more=(NORMALIZE,), prompts=E5),
    Kind(("intfloat/multilingual-e5-base",), "xlm-roberta", pooling="mean", more=(NORMALIZE,), prompts=E5),
    Kind(("BAAI/bge-base-en-v1.5",), "bert", pooling="cls", more=(NORMALIZE,), prompts=BGE),
    Kind(("BAAI/bge-m3",), "xlm-roberta", pooling="cls", more=(NORMALIZE,), remark="its dense vectors"),
    Kind(("Alibaba-NLP/gte-modernbert-base",), "modernbert", pooling="cls"),
    Kind(("Alibaba-NLP/gte-multilingual-base",), "gte", "xlm-roberta", pooling="cls", more=(NORMALIZE,), remark=NATIVE),
    Kind(
        ("nomic-ai/nomic-embed-text-v1.5",),
        "nomic_bert",
        "bert",
        pooling="mean",
        prompts=NOMIC,
        remark=NATIVE,
    ),
    Kind(("nomic-ai/modernbert-embed-base",), "modernbert", pooling="mean", more=(NORMALIZE,), prompts=NOMIC),
    Kind(
        ("jinaai/jina-embeddings-v3",),
        "jina_embeddings_v3",
        "xlm-roberta",
        pooling="mean",
        more=(NORMALIZE,),
        remark=NATIVE,
    ),
    Kind(("Snowflake/snowflake-arctic-embed-m-v1.5",), "bert", pooling="cls", more=(NORMALIZE,), prompts=BGE),
    Kind(("mixedbread-ai/mxbai-embed-large-v1",), "bert", pooling="cls", prompts=BGE),
    Kind(
        ("google/embeddinggemma-300m",),
        "gemma3_text",
        "gpt2",
        pooling="mean",
        more=(_dense(64), _dense(WIDTH, 64), NORMALIZE),
        prompts={"query": "task: search result | query: ", "document": "title: none | text: "},
        sizes=GROUPED | {"use_bidirectional_attention": True},
    ),
    Kind(
        ("Qwen/Qwen3-Embedding-0.6B",),
        "qwen3",
        "gpt2",
        pooling="lasttoken",
        more=(NORMALIZE,),
        prompts=INSTRUCTED,
        sizes=GROUPED,
    ),
    Kind(
        ("microsoft/harrier-oss-v1-270m",),
        "gemma3_text",
        "gpt2",
        pooling="lasttoken",
        more=(NORMALIZE,),
        prompts={"web_search_query": f"{INSTRUCTION} ", "sts_query": "Instruct: Retrieve similar text\nQuery: "},
        sizes=GROUPED,
    ),
    Kind(
        ("sentence-transformers/LaBSE",),
        "bert",
        pooling="cls",
        more=(_dense(WIDTH, activation=nn.Tanh, bias=True), NORMALIZE),
    ),
    Kind(
        ("sentence-transformers/sentence-t5-base", "sentence-transformers/gtr-t5-base"),
        "t5",
        pooling="mean",
        more=(_dense(16), NORMALIZE),
    ),
    Kind(
        ("intfloat/e5-mistral-7b-instruct",), "mistral", "gpt2", pooling="lasttoken", more=(NORMALIZE,), sizes=GROUPED
    ),
    Kind(
        ("Alibaba-NLP/gte-Qwen2-1.5B-instruct",),
        "qwen2",
        "gpt2",
        pooling="lasttoken",
        more=(NORMALIZE,),
        prompts=INSTRUCTED,
        sizes={"num_key_value_heads": 1},
    ),
    Kind(("BAAI/bge-multilingual-gemma2",), "gemma2", "gpt2", pooling="lasttoken", more=(NORMALIZE,), sizes=GROUPED),
    Kind(
        ("McGill-NLP/LLM2Vec-Meta-Llama-3-8B-Instruct-mntp",),
        "llama",
        "gpt2",
        pooling="mean",
        sizes=GROUPED | {"is_causal": False},
        remark="merged and saved whole, with `is_causal` false in its config.json",
    ),
    Kind(
        ("hkunlp/instructor-base",),
        "t5",
        pooling="mean",
        more=(_dense(16), NORMALIZE),
        prompts={"query": "Represent the question: "},
        of_pooling={"include_prompt": False},
        remark="the words of its prompts are no part of the pooling",
    ),
    Static(("sentence-transformers/static-retrieval-mrl-en-v1",)),
    Static(
        ("minishlab/potion-base-8M",),
        more=(NORMALIZE,),
        model2vec=True,
        remark="unknown words count, as in sentence-transformers; model2vec itself leaves them out",
    ),
    Routed(("MongoDB/mdbr-leaf-ir-asym",)),
)


@dataclass(frozen=True)
class Checked:
    """What Strata does with a folder: the largest difference of vectors to sentence-transformers, and the rest."""

    kind: Kind | Static | Routed
    refused: str = ""  # why it is not loaded
    vectors_are: str = ""  # the model default, in words
    differences: Mapping[str, float] = field(default_factory=dict)  # by what was encoded
    after_a_step: float = np.nan  # of the model that was trained and exported
    lowest_cut: int | None = None  # the least layers that it can be cut to; None if it cannot be cut


def check(kind: Kind | Static | Routed, folder: Path) -> Checked:
    """Load a folder in both libraries, compare their vectors, train a step, export it, open that, and cut it."""
    saved = kind.save(folder)
    try:
        encoder = load(of_folder(kind.names[0], saved), precision="float32", device="cpu")
    except StrataError as error:
        return Checked(kind, refused=str(error).replace(str(saved), "The folder"))
    theirs = SentenceTransformer(str(saved), device="cpu")
    texts = list(SENTENCES)
    default = declared.default(saved)
    pairs = {"sentences": (theirs.encode(texts), _ours(encoder, texts, default))}
    roles = encoder.role_prompts
    for role, prompt, prompted, encode in (
        ("queries", roles.query, roles.before_queries, theirs.encode_query),
        ("documents", roles.document, roles.before_documents, theirs.encode_document),
    ):
        if prompt:
            pairs[role] = encode(texts), _ours(encoder, prompted(texts), default)
    pairs["mean of the last layer"] = _mean(theirs, encoder, texts), _ours(encoder, texts, declared.mean_of_last(saved))
    differences = {what: float(np.abs(one - other).max()) for what, (one, other) in pairs.items()}
    tuned = tunable(encoder)
    _step(encoder, tuned)
    export(tuned, encoder.default_head, folder / "run", "", saved)
    after = (by_sentence_transformers(folder / "run") - as_trained(tuned, encoder.default_head)).abs().max()
    try:
        lowest = editing.stack(encoder).lowest
    except UnsupportedModel:
        lowest = None
    words = declared.declared(saved) or "mean of the last layer, since nothing is declared"
    return Checked(kind, "", words, differences, float(after), lowest)


def _ours(encoder: Encoder, texts: Sequence[str], reading: Reading) -> Vectors:
    found: Vectors = finish(of_reading(encoder, texts, reading, None))
    return found


def _mean(theirs: SentenceTransformer, encoder: Encoder, texts: list[str]) -> Vectors:
    """The mean of the last layer of one sentence after another, by the transformer or the table alone."""
    found, first = [], theirs[0]
    if isinstance(first, modules.StaticEmbedding):
        return np.stack([first.embedding.weight.detach()[ids].mean(0).numpy() for ids in encoder.tokens(texts).ids])
    model = first.auto_model.eval() if hasattr(first, "auto_model") else first.model.eval()
    with torch.no_grad():
        for numbers in encoder.tokens(texts).ids:
            states = model(input_ids=torch.tensor([numbers]), attention_mask=torch.ones(1, len(numbers)).long())
            found.append(states.last_hidden_state[0].mean(0).numpy())
    return np.stack(found)


def _step(encoder: Encoder, tuned: Any) -> None:
    """One step that draws two sentences together."""
    weights = list(tuned.own_weights().values())
    before = [weight.detach().clone() for weight in weights]
    states = tuned.train().states(SENTENCES[:2])
    one, other = encoder.default_head(states.hidden, states.mask)
    (1 - torch.cosine_similarity(one, other, dim=0)).backward()
    torch.optim.SGD(weights, lr=0.1).step()
    moved = sum(not torch.equal(was, weight) for was, weight in zip(before, weights, strict=True))
    assert moved > len(weights) // 2, "training moves what is trained"


TITLE = """# Encoders

Does Strata take the encoder that you work with? Each of these was built small, with random weights, in the files that
transformers and sentence-transformers write for it, and tried:

- its vectors are those of `SentenceTransformer(folder).encode`, and with the prompts of its folder those of
  `encode_query` and `encode_document`, to 0.00001; so is the mean of its last layer, as transformers computes it;
- after a step of training its exported folder opens in sentence-transformers and gives the vectors of the training;
- its last layers can be left out, down to the number of layers in the table.

Other names of the same architecture work alike, as does any text encoder that transformers builds without Python code
of the folder. A Router whose routes are the same modules is read as these. Static embeddings (a table of token vectors,
whose mean is the vector of a text) have one layer, the table, under one pooling; methods on pairs, triplets, scores and
labels train them.
Other prompts of the folder's table, or typed ones, are chosen for each evaluation ([how](using.md#models)).
`python -m tests.todays_encoders` prints this page, and a test compares it.

| On the hub | Architecture | Model default | Prompts tried | Layers, at least | |
|---|---|---|---|---|---|
"""
REFUSED = """
## Not read yet

| On the hub | Architecture | Why |
|---|---|---|
"""


def page(found: Sequence[Checked]) -> str:
    """`docs/encoders.md`."""
    read = "".join(_row(one) for one in found if not one.refused)
    refused = "".join(f"| {_names(one)} | {one.kind.family} | {one.refused} |\n" for one in found if one.refused)
    return TITLE + read + REFUSED + refused


def _row(one: Checked) -> str:
    prompts, least = ", ".join(one.kind.prompts), "all" if one.lowest_cut is None else one.lowest_cut
    return f"| {_names(one)} | {one.kind.family} | {one.vectors_are} | {prompts} | {least} | {one.kind.remark} |\n"


def _names(one: Checked) -> str:
    return ", ".join(f"`{name}`" for name in one.kind.names)


def check_all(folder: Path) -> list[Checked]:
    """Every kind, each in a folder of its own."""
    return [check(kind, folder / str(number)) for number, kind in enumerate(KINDS)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(page(check_all(Path(made))), end="")
