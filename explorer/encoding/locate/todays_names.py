"""Name the encoders of today that are suggested: their architecture and files were tried, as docs/encoders.md says.

Models that the hub has with Python code of their own are not among them, since that code is never run.
"""

TODAYS_NAMES = (
    "sentence-transformers/all-mpnet-base-v2",
    "sentence-transformers/msmarco-distilbert-base-tas-b",
    "sentence-transformers/paraphrase-albert-small-v2",
    "dangvantuan/sentence-camembert-base",
    "google-bert/bert-base-uncased",
    "FacebookAI/roberta-base",
    "FacebookAI/xlm-roberta-base",
    "microsoft/deberta-v3-base",
    "google/electra-base-discriminator",
    "answerdotai/ModernBERT-base",
    "intfloat/e5-base-v2",
    "intfloat/multilingual-e5-base",
    "BAAI/bge-base-en-v1.5",
    "BAAI/bge-m3",
    "Alibaba-NLP/gte-modernbert-base",
    "nomic-ai/modernbert-embed-base",
    "Snowflake/snowflake-arctic-embed-m-v1.5",
    "mixedbread-ai/mxbai-embed-large-v1",
    "google/embeddinggemma-300m",
    "Qwen/Qwen3-Embedding-0.6B",
    "microsoft/harrier-oss-v1-270m",
    "sentence-transformers/LaBSE",
    "sentence-transformers/sentence-t5-base",
    "sentence-transformers/gtr-t5-base",
    "intfloat/e5-mistral-7b-instruct",
    "Alibaba-NLP/gte-Qwen2-1.5B-instruct",
    "BAAI/bge-multilingual-gemma2",
    "hkunlp/instructor-base",
    "sentence-transformers/static-retrieval-mrl-en-v1",
    "minishlab/potion-base-8M",
)
