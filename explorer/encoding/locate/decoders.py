"""Tell from its config.json whether a model is a decoder: each token sees itself and the tokens before it.

The model types are those that transformers lists for causal language models and not for masked ones, less those with an
encoder of their own (`is_encoder_decoder`) and those whose AutoModel sees both sides. They are repeated here because
importing transformers takes seconds; a test compares them with the installed release.
"""

from __future__ import annotations

from pathlib import Path

from explorer.encoding.locate import configuration

_TYPES = """
afmoe apertus arcee aria_text axk1 axk2 bailing_hybrid bamba beam biogpt bitnet bloom blt codegen cohere cohere2
cohere2_moe cohere_compass_text ctrl cwm dbrx deepseek_v2 deepseek_v3 deepseek_v32 deepseek_v4 diffllama doge dots1
dots3_note dots3_note_text emu3 ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon falcon_h1 falcon_mamba flex_olmo flint
fuyu gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text gemma4 gemma4_assistant gemma4_text gemma4_unified
gemma4_unified_assistant gemma4_unified_text git glm glm4 glm4_moe glm4_moe_lite glm_moe_dsa got_ocr2 gpt-sw3 gpt2
gpt_bigcode gpt_neo gpt_neox gpt_neox_japanese gpt_oss gptj granite granite_swa granitemoe granitemoe_swa
granitemoehybrid granitemoeshared helium hrm_text hunyuan_v1_dense hunyuan_v1_moe hy_v3 hy_v4 hyperclovax
inkling2_text inkling_text internlm3 iquestcoder jais2 jamba jetmoe kimi_linear kolibri1 laguna lfm2 lfm2_moe lfm3
llama llama4 llama4_text longcat_flash mamba mamba2 mellum mimo_v2_flash minicpm3 minimax minimax_m2
minimax_m3_vl_text ministral ministral3 mistral mixtral mllama modernbert-decoder moshi moss_transcribe_diarize mpt
nanochat nemotron nemotron_h olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt opt persimmon phi phi3 phi4_multimodal
phimoe qwen2 qwen2_moe qwen3 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen3_5_text qwen3_moe qwen3_next qwen4_exp
qwen4_exp_text recurrent_gemma rwkv seed_oss smollm3 solar_open stablelm starcoder2 trocr vaultgemma xglm xlstm youtu
zamba zamba2 zaya
"""
TYPES = frozenset(_TYPES.split())


def is_decoder(transformer: Path) -> bool:
    """Whether the transformer in a folder is a decoder; not if its settings let tokens see both sides."""
    stated = configuration.settings(transformer / "config.json")
    both_sides = stated.get("is_causal") is False or stated.get("use_bidirectional_attention") in (True, "all")
    return stated.get("model_type") in TYPES and not both_sides
