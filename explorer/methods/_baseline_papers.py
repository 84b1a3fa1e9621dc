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

TENSION = Paper(
    "Semantic Re-tuning with Contrastive Tension",
    "Carlsson, Gyllensten, Gogoulou, Hellqvist and Sahlgren",
    2021,
    "https://openreview.net/forum?id=Ov_sMNau-PF",
    """@inproceedings{carlsson-etal-2021-semantic,
  title = {Semantic Re-tuning with Contrastive Tension},
  author = {Carlsson, Fredrik and Gyllensten, Amaru Cuba and Gogoulou, Evangelia and Ylip{\\"a}{\\"a} Hellqvist, Erik
            and Sahlgren, Magnus},
  booktitle = {Proceedings of ICLR 2021},
  year = {2021},
  url = {https://openreview.net/forum?id=Ov_sMNau-PF}
}""",
    "contrastive tension",
)

BSL = Paper(
    "Bootstrapped Unsupervised Sentence Representation Learning",
    "Zhang, He, Liu, Bing and Li",
    2021,
    "https://aclanthology.org/2021.acl-long.402",
    """@inproceedings{zhang-etal-2021-bootstrapped,
  title = {Bootstrapped Unsupervised Sentence Representation Learning},
  author = {Zhang, Yan and He, Ruidan and Liu, Zuozhu and Bing, Lidong and Li, Haizhou},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  year = {2021},
  url = {https://aclanthology.org/2021.acl-long.402}
}""",
    "momentum copies",
)

CERT = Paper(
    "CERT: Contrastive Self-supervised Learning for Language Understanding",
    "Fang, Wang, Zhou, Ding and Xie",
    2020,
    "https://arxiv.org/abs/2005.12766",
    """@article{fang-etal-2020-cert,
  title = {{CERT}: Contrastive Self-supervised Learning for Language Understanding},
  author = {Fang, Hongchao and Wang, Sicheng and Zhou, Meng and Ding, Jiayuan and Xie, Pengtao},
  journal = {arXiv:2005.12766},
  year = {2020},
  url = {https://arxiv.org/abs/2005.12766}
}""",
    "momentum copies",
)

IS_BERT = Paper(
    "An Unsupervised Sentence Embedding Method by Mutual Information Maximization",
    "Zhang, He, Liu, Lim and Bing",
    2020,
    "https://aclanthology.org/2020.emnlp-main.124",
    """@inproceedings{zhang-etal-2020-unsupervised,
  title = {An Unsupervised Sentence Embedding Method by Mutual Information Maximization},
  author = {Zhang, Yan and He, Ruidan and Liu, Zuozhu and Lim, Kwan Hui and Bing, Lidong},
  booktitle = {Proceedings of EMNLP 2020},
  pages = {1601--1610},
  year = {2020},
  url = {https://aclanthology.org/2020.emnlp-main.124}
}""",
    "mutual information",
)

TSDAE = Paper(
    "TSDAE: Using Transformer-based Sequential Denoising Auto-Encoder for Unsupervised Sentence Embedding Learning",
    "Wang, Reimers and Gurevych",
    2021,
    "https://aclanthology.org/2021.findings-emnlp.59",
    """@inproceedings{wang-etal-2021-tsdae-using,
  title = {{TSDAE}: Using Transformer-based Sequential Denoising Auto-Encoder
           for Unsupervised Sentence Embedding Learning},
  author = {Wang, Kexin and Reimers, Nils and Gurevych, Iryna},
  booktitle = {Findings of EMNLP 2021},
  pages = {671--688},
  year = {2021},
  url = {https://aclanthology.org/2021.findings-emnlp.59}
}""",
    "denoising",
)
