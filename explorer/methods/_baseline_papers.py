"""The papers of the baselines: methods that the other papers compare theirs with."""

from __future__ import annotations

from explorer.methods._papers import Paper

MIRROR_BERT = Paper(
    "Fast, Effective, and Self-Supervised: Transforming Masked Language Models into Universal Lexical and Sentence "
    "Encoders",
    "Liu, Vulić, Korhonen and Collier",
    2021,
    "https://aclanthology.org/2021.emnlp-main.109",
    """@inproceedings{liu-etal-2021-fast,
  title = {Fast, Effective, and Self-Supervised: Transforming Masked Language Models into Universal Lexical
           and Sentence Encoders},
  author = {Liu, Fangyu and Vuli{\\'c}, Ivan and Korhonen, Anna and Collier, Nigel},
  booktitle = {Proceedings of EMNLP 2021},
  pages = {1442--1459},
  year = {2021},
  url = {https://aclanthology.org/2021.emnlp-main.109}
}""",
    "Mirror-BERT",
)
