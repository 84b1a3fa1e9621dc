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

CONSERT = Paper(
    "ConSERT: A Contrastive Framework for Self-Supervised Sentence Representation Transfer",
    "Yan and others",
    2021,
    "https://aclanthology.org/2021.acl-long.393",
    """@inproceedings{yan-etal-2021-consert,
  title = {{ConSERT}: A Contrastive Framework for Self-Supervised Sentence Representation Transfer},
  author = {Yan, Yuanmeng and Li, Rumei and Wang, Sirui and Zhang, Fuzheng and Wu, Wei and Xu, Weiran},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  pages = {5065--5075},
  year = {2021},
  url = {https://aclanthology.org/2021.acl-long.393}
}""",
    "ConSERT",
)

DECLUTR = Paper(
    "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations",
    "Giorgi, Nitski, Wang and Bader",
    2021,
    "https://aclanthology.org/2021.acl-long.72",
    """@inproceedings{giorgi-etal-2021-declutr,
  title = {{D}e{CLUTR}: Deep Contrastive Learning for Unsupervised Textual Representations},
  author = {Giorgi, John and Nitski, Osvald and Wang, Bo and Bader, Gary},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  pages = {879--895},
  year = {2021},
  url = {https://aclanthology.org/2021.acl-long.72}
}""",
    "documents",
)
