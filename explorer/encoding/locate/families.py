"""What Strata knows of families of models: a row for each, which everything that depends on an architecture asks.

A model of a family without a row is treated by what it shares with those that have one: the same names of modules and
settings. A row is needed where a family has names of its own, or does something that its names do not show.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SUCH_AS = "such as BERT, RoBERTa, MPNet or ModernBERT"  # in messages that advise another model
SIMILAR = "a BERT, a RoBERTa or a similar model"
# a table of token vectors, as a module of sentence-transformers and by the "model_type" of another library
STATIC, STATIC_MODULE, STATIC_TYPES = "static-embedding", "StaticEmbedding", ("model2vec",)
# sentence-transformers leaves the prompts of these out of the pooling, though their folders do not ask for it
LEAVE_PROMPTS_OUT = tuple(f"hkunlp/instructor-{size}" for size in ("base", "large", "xl"))
POOLER = "pooler"  # BERT's layer over the first token, which an encoder is loaded without; others have taken the name


@dataclass(frozen=True)
class Family:
    """What Strata knows of a family. What is not stated is found as in the other families.

    Modules outside the layers are named by their path, those inside by its end.
    """

    name: str = ""  # as papers write it
    types: tuple[str, ...] = ()  # each "model_type" of its config.json
    # files and settings
    vocabulary: tuple[str, ...] = ()  # files that are a vocabulary together
    layers: str = ""  # the setting that is the number of layers
    repeated: tuple[str, ...] = ()  # other settings that say how often a part is repeated
    sizes: tuple[str, ...] = ()  # settings that no encoder goes without
    other_sizes: tuple[str, ...] = ()  # settings that some encoders go without
    positions_if: str = ""  # the setting without which position ids change nothing
    # modules and classes
    embeddings: str = ""  # the block of words, positions and their norm, if it has them in one module
    entrances: tuple[str, ...] = ()  # whose output is layer 0, if not that of the word embeddings; tried in this order
    positions: str = ""  # the table of positions, in the module that holds it
    heads_joined: str = ""  # the projection after self-attention, whose input is the output of all heads side by side
    query_value: tuple[str, ...] = ()  # the projections of query and value, or of both, if no usual abbreviation
    # the class of the encoder alone, where AutoModel has a decoder too: AutoModel would initialise the decoder at
    # random, and require decoder_input_ids; sentence-transformers uses this class by itself
    encoders: tuple[str, ...] = ()
    # what it can do
    decoder: bool = False  # each token sees itself and the tokens before it
    cross_attention: bool = False  # transformers has a decoder of it with cross-attention, and its weights otherwise
    many_languages: bool = False  # it translates between many languages, which each family selects in another way
    sizes_in_papers: tuple[tuple[tuple[int, int], str], ...] = ()  # layers and width, and what papers call them


_BERT = Family(
    "BERT",
    ("bert",),
    vocabulary=("vocab.txt",),
    layers="num_hidden_layers",
    sizes=("vocab_size", "hidden_size", "intermediate_size", "num_attention_heads"),
    other_sizes=("max_position_embeddings", "type_vocab_size"),
    embeddings="embeddings",
    entrances=("embeddings",),
    positions="position_embeddings",
    heads_joined="attention.output.dense",
)
_PAIRS, _PIECES = ("vocab.json", "merges.txt"), ("sentencepiece.bpe.model",)
_SIZES = (((12, 768), "base"), ((24, 1024), "large"))
# The types that transformers lists for causal language models and not for masked ones, less those with an encoder of
# their own (`is_encoder_decoder`), those whose AutoModel sees both sides and those of the rows below. They are repeated
# here because importing transformers takes seconds; a test compares them with the installed release.
_OTHER_DECODERS = """
afmoe apertus arcee aria_text axk1 axk2 bailing_hybrid bamba beam biogpt bitnet blt codegen cohere cohere2 cohere2_moe
cohere_compass_text ctrl cwm dbrx deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 diffllama doge dots1 dots3_note
dots3_note_text emu3 ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon falcon_h1 falcon_mamba flex_olmo flint fuyu gemma
gemma2 gemma3 gemma3_text gemma3n gemma3n_text gemma4 gemma4_assistant gemma4_text gemma4_unified
gemma4_unified_assistant gemma4_unified_text git glm glm4 glm4_moe glm4_moe_lite glm_moe_dsa got_ocr2 gpt_bigcode
gpt_oss gptj granite granite_swa granitemoe granitemoe_swa granitemoehybrid granitemoeshared helium hrm_text
hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hyperclovax inkling2_text inkling_text internlm3 iquestcoder jais2 jamba
jetmoe kimi_linear kolibri1 laguna lfm2 lfm2_moe lfm3 llama4 llama4_text longcat_flash mamba mamba2 mellum mimo_v2_flash
minicpm3 minimax minimax_m2 minimax_m3_vl_text ministral ministral3 mixtral mllama modernbert-decoder moshi
moss_transcribe_diarize mpt nanochat nemotron nemotron_h olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt opt persimmon phi
phi3 phi4_multimodal phimoe qwen2_moe qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next qwen4_exp
qwen4_exp_text recurrent_gemma rwkv seed_oss smollm3 solar_open stablelm starcoder2 trocr vaultgemma xglm xlstm youtu
zamba zamba2 zaya
"""

# in the order in which the modules of a model without a row are tried: first the projections of narrow embeddings, then
# whole embedding blocks, then what follows the positions, then a second name of the word embeddings
FAMILIES = (
    replace(
        _BERT,
        name="ALBERT",
        types=("albert",),
        vocabulary=("spiece.model",),
        other_sizes=("embedding_size",),
        entrances=("encoder.embedding_hidden_mapping_in",),
        heads_joined="attention.dense",
    ),
    replace(
        _BERT,
        name="ELECTRA",
        types=("electra",),
        other_sizes=("embedding_size",),
        entrances=("embeddings_project", "embeddings"),
        cross_attention=True,
    ),
    replace(_BERT, cross_attention=True, sizes_in_papers=_SIZES),
    replace(_BERT, name="ERNIE", types=("ernie",), cross_attention=True),
    replace(_BERT, name="RoBERTa", types=("roberta",), vocabulary=_PAIRS, cross_attention=True, sizes_in_papers=_SIZES),
    replace(_BERT, name="CamemBERT", types=("camembert",), vocabulary=_PIECES, cross_attention=True),
    replace(_BERT, name="XLM-RoBERTa", types=("xlm-roberta",), vocabulary=_PIECES, cross_attention=True),
    replace(_BERT, name="MPNet", types=("mpnet",), heads_joined="attention.attn.o"),
    replace(
        _BERT,
        name="DeBERTa",
        types=("deberta",),
        vocabulary=_PAIRS,
        positions_if="position_biased_input",
        query_value=("in_proj",),
    ),
    replace(
        _BERT, name="DeBERTa-v2", types=("deberta-v2",), vocabulary=("spm.model",), positions_if="position_biased_input"
    ),
    replace(_BERT, name="ModernBERT", types=("modernbert",), heads_joined="attn.Wo"),
    Family("Funnel", ("funnel",), repeated=("block_sizes",)),
    Family(
        "GPT-2",
        ("gpt2", "gpt-sw3"),
        vocabulary=_PAIRS,
        layers="n_layer",
        sizes=("vocab_size", "n_embd", "n_head"),
        other_sizes=("n_positions", "n_ctx"),
        entrances=("drop",),
        heads_joined="attn.c_proj",
        query_value=("c_attn",),
        decoder=True,
    ),
    Family(
        "DistilBERT",
        ("distilbert",),
        vocabulary=("vocab.txt",),
        layers="n_layers",
        sizes=("vocab_size", "dim", "hidden_dim", "n_heads"),
        entrances=("embeddings",),
        heads_joined="attention.out_lin",
    ),
    Family(
        "T5",
        ("t5", "mt5"),
        vocabulary=("spiece.model",),
        layers="num_layers",
        sizes=("vocab_size", "d_model", "d_ff", "num_heads"),
        entrances=("encoder.embed_tokens",),
        heads_joined="SelfAttention.o",
        encoders=("T5EncoderModel", "MT5EncoderModel"),
    ),
    Family(
        "BART",
        ("bart",),
        vocabulary=_PAIRS,
        layers="encoder_layers",
        sizes=("vocab_size", "d_model", "encoder_ffn_dim", "encoder_attention_heads"),
        entrances=("layernorm_embedding",),
        heads_joined="self_attn.out_proj",
    ),
    Family("FSMT", ("fsmt",), vocabulary=("vocab-src.json", "vocab-tgt.json", "merges.txt")),
    Family("Marian", ("marian",), vocabulary=("source.spm", "vocab.json")),
    Family(types=("m2m_100", "mbart", "nllb-moe", "seamless_m4t", "seamless_m4t_v2"), many_languages=True),
    Family("Llama", ("llama", "qwen2", "qwen3"), ("tokenizer.model",), heads_joined="self_attn.o_proj", decoder=True),
    Family("Mistral", ("mistral",), ("tekken.json",), heads_joined="self_attn.o_proj", decoder=True),
    Family("BLOOM", ("bloom", "gpt_neox", "gpt_neox_japanese"), query_value=("query_key_value",), decoder=True),
    Family("GPT-Neo", ("gpt_neo",), repeated=("attention_types",), decoder=True),
    Family(types=tuple(_OTHER_DECODERS.split()), decoder=True),
)

# a vocabulary in any family, whatever else it has
_VOCABULARIES = (("tokenizer.json",), ("sentencepiece.model",), ("vocab.json",))


def of(kind: object) -> Family:
    """The row of a model type; an empty one if it has none."""
    return next((row for row in FAMILIES if kind in row.types), Family())


def vocabularies() -> tuple[tuple[str, ...], ...]:
    """Sets of files each of which is a vocabulary."""
    return (*_VOCABULARIES, *dict.fromkeys(row.vocabulary for row in FAMILIES if row.vocabulary))


def tried(kind: object) -> tuple[Family, ...]:
    """The rows in the order in which the names of modules are tried in a model of a type: its own first."""
    return (of(kind), *FAMILIES)


def padding_position(model: PreTrainedModel) -> int | None:
    """The position id of padding, where those of tokens start at the next number; None where they start at 0.

    RoBERTa and its relatives count so, and padding has the position of its token id.
    """
    own = of(model.config.model_type).positions
    tables = (own,) if own else tuple(row.positions for row in FAMILIES if row.positions)
    # only of a module that has the table, since some tables have a padding id and yet tokens start at 0
    owners = (part for part in model.modules() if any(getattr(part, table, None) is not None for table in tables))
    numbers = (getattr(part, "padding_idx", None) for part in owners)
    return next((number for number in numbers if isinstance(number, int)), None)


def without_pooler(kind: Any) -> dict[str, bool]:
    """What a class of models is given to be built without its pooler; nothing if it cannot have one."""
    return {"add_pooling_layer": False} if "add_pooling_layer" in inspect.signature(kind.__init__).parameters else {}


def is_decoder(stated: Mapping[str, Any]) -> bool:
    """Whether a config.json is of a decoder; not if its settings let tokens see both sides."""
    both_sides = stated.get("is_causal") is False or stated.get("use_bidirectional_attention") in (True, "all")
    return of(stated.get("model_type")).decoder and not both_sides


def is_static(stated: Mapping[str, Any]) -> bool:
    """Whether a config.json is of static embeddings, as another library saves them."""
    return stated.get("model_type") in STATIC_TYPES


def published(stated: Mapping[str, Any]) -> str:
    """The published family that a config.json is of, such as `RoBERTa-base`; "" for other architectures and sizes."""
    row, size = of(stated.get("model_type")), (stated.get("num_hidden_layers"), stated.get("hidden_size"))
    return next((f"{row.name}-{called}" for known, called in row.sizes_in_papers if known == size), "")
