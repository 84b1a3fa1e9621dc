"""The papers of the methods, with citations."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Paper:
    """A publication as a line and as BibTeX, and the name of its family of methods."""

    title: str
    authors: str
    year: int
    link: str
    bibtex: str
    family: str

    @property
    def line(self) -> str:
        """`Kim, Yoo and Lee 2021, Self-Guided Contrastive Learning for BERT Sentence Representations`."""
        return f"{self.authors} {self.year}, {self.title}"


SELF_GUIDED = Paper(
    "Self-Guided Contrastive Learning for BERT Sentence Representations",
    "Kim, Yoo and Lee",
    2021,
    "https://aclanthology.org/2021.acl-long.197",
    """@inproceedings{kim-etal-2021-self,
  title = {Self-Guided Contrastive Learning for {BERT} Sentence Representations},
  author = {Kim, Taeuk and Yoo, Kang Min and Lee, Sang-goo},
  booktitle = {Proceedings of ACL-IJCNLP 2021},
  pages = {2528--2540},
  year = {2021},
  url = {https://aclanthology.org/2021.acl-long.197}
}""",
    "self-guided",
)

SIMCSE = Paper(
    "SimCSE: Simple Contrastive Learning of Sentence Embeddings",
    "Gao, Yao and Chen",
    2021,
    "https://aclanthology.org/2021.emnlp-main.552",
    """@inproceedings{gao-etal-2021-simcse,
  title = {{SimCSE}: Simple Contrastive Learning of Sentence Embeddings},
  author = {Gao, Tianyu and Yao, Xingcheng and Chen, Danqi},
  booktitle = {Proceedings of EMNLP 2021},
  pages = {6894--6910},
  year = {2021},
  url = {https://aclanthology.org/2021.emnlp-main.552}
}""",
    "SimCSE",
)

CONISI = Paper(
    "ConIsI: A Contrastive Framework with Inter-sentence Interaction for Self-supervised Sentence Representation",
    "Sun and Huang",
    2022,
    "https://aclanthology.org/2022.ccl-1.67",
    """@inproceedings{sun-huang-2022-conisi,
  title = {{ConIsI}: A Contrastive Framework with Inter-sentence Interaction
           for Self-supervised Sentence Representation},
  author = {Sun, Meng and Huang, Degen},
  booktitle = {Proceedings of the 21st Chinese National Conference on Computational Linguistics},
  pages = {748--760},
  year = {2022},
  url = {https://aclanthology.org/2022.ccl-1.67}
}""",
    "ConIsI",
)

LAYER_ATTENTION = Paper(
    "Don't Judge a Language Model by Its Last Layer: Contrastive Learning with Layer-Wise Attention Pooling",
    "Oh, Kim, Lee, Huang and Lim",
    2022,
    "https://aclanthology.org/2022.coling-1.405",
    """@inproceedings{oh-etal-2022-dont,
  title = {Don't Judge a Language Model by Its Last Layer: Contrastive Learning with Layer-Wise Attention Pooling},
  author = {Oh, Dongsuk and Kim, Yejin and Lee, Hodong and Huang, H. Howie and Lim, Heuiseok},
  booktitle = {Proceedings of COLING 2022},
  pages = {4585--4592},
  year = {2022},
  url = {https://aclanthology.org/2022.coling-1.405}
}""",
    "layer attention",
)

DIFFCSE = Paper(
    "DiffCSE: Difference-based Contrastive Learning for Sentence Embeddings",
    "Chuang and others",
    2022,
    "https://aclanthology.org/2022.naacl-main.311",
    """@inproceedings{chuang-etal-2022-diffcse,
  title = {{DiffCSE}: Difference-based Contrastive Learning for Sentence Embeddings},
  author = {Chuang, Yung-Sung and Dangovski, Rumen and Luo, Hongyin and Zhang, Yang and Chang, Shiyu and
            Solja{\\v{c}}i{\\'c}, Marin and Li, Shang-Wen and Yih, Wen-tau and Kim, Yoon and Glass, James},
  booktitle = {Proceedings of NAACL-HLT 2022},
  pages = {4207--4218},
  year = {2022},
  url = {https://aclanthology.org/2022.naacl-main.311}
}""",
    "DiffCSE",
)

WHITENING = Paper(
    "Whitening Sentence Representations for Better Semantics and Faster Retrieval",
    "Su, Cao, Liu and Ou",
    2021,
    "https://arxiv.org/abs/2103.15316",
    """@article{su-etal-2021-whitening,
  title = {Whitening Sentence Representations for Better Semantics and Faster Retrieval},
  author = {Su, Jianlin and Cao, Jiarun and Liu, Weijie and Ou, Yangyiwen},
  journal = {arXiv:2103.15316},
  year = {2021},
  url = {https://arxiv.org/abs/2103.15316}
}""",
    "post-processing",
)

FLOW = Paper(
    "On the Sentence Embeddings from Pre-trained Language Models",
    "Li and others",
    2020,
    "https://aclanthology.org/2020.emnlp-main.733",
    """@inproceedings{li-etal-2020-sentence,
  title = {On the Sentence Embeddings from Pre-trained Language Models},
  author = {Li, Bohan and Zhou, Hao and He, Junxian and Wang, Mingxuan and Yang, Yiming and Li, Lei},
  booktitle = {Proceedings of EMNLP 2020},
  pages = {9119--9130},
  year = {2020},
  url = {https://aclanthology.org/2020.emnlp-main.733}
}""",
    "post-processing",
)

SBERT_WK = Paper(
    "SBERT-WK: A Sentence Embedding Method by Dissecting BERT-based Word Models",
    "Wang and Kuo",
    2020,
    "https://arxiv.org/abs/2002.06652",
    """@article{wang-kuo-2020-sbert,
  title = {{SBERT-WK}: A Sentence Embedding Method by Dissecting {BERT}-based Word Models},
  author = {Wang, Bin and Kuo, C.-C. Jay},
  journal = {IEEE/ACM Transactions on Audio, Speech, and Language Processing},
  volume = {28},
  pages = {2146--2157},
  year = {2020},
  url = {https://arxiv.org/abs/2002.06652}
}""",
    "post-processing",
)

SMART_REPLY = Paper(
    "Efficient Natural Language Response Suggestion for Smart Reply",
    "Henderson and others",
    2017,
    "https://arxiv.org/abs/1705.00652",
    """@article{henderson-etal-2017-efficient,
  title = {Efficient Natural Language Response Suggestion for Smart Reply},
  author = {Henderson, Matthew and Al-Rfou, Rami and Strope, Brian and Sung, Yun-hsuan and Lukacs, Laszlo and
            Guo, Ruiqi and Kumar, Sanjiv and Miklos, Balint and Kurzweil, Ray},
  journal = {arXiv:1705.00652},
  year = {2017},
  url = {https://arxiv.org/abs/1705.00652}
}""",
    "contrastive",
)

COSENT = Paper(
    "CoSENT: A more efficient sentence vector scheme than Sentence-BERT",
    "Su",
    2022,
    "https://kexue.fm/archives/8847",
    """@online{kexuefm-8847,
  title = {{CoSENT}: A more efficient sentence vector scheme than {Sentence-BERT}},
  author = {Su, Jianlin},
  year = {2022},
  month = {Jan},
  url = {https://kexue.fm/archives/8847}
}""",
    "scored pairs",
)

SENTENCE_BERT = Paper(
    "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks",
    "Reimers and Gurevych",
    2019,
    "https://aclanthology.org/D19-1410",
    """@inproceedings{reimers-gurevych-2019-sentence,
  title = {Sentence-{BERT}: Sentence Embeddings using {S}iamese {BERT}-Networks},
  author = {Reimers, Nils and Gurevych, Iryna},
  booktitle = {Proceedings of EMNLP-IJCNLP 2019},
  pages = {3982--3992},
  year = {2019},
  url = {https://aclanthology.org/D19-1410}
}""",
    "scored pairs",
)

SENTENCE_BERT_ON_LABELS = replace(SENTENCE_BERT, family="labelled pairs")

BERT = Paper(
    "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
    "Devlin and others",
    2019,
    "https://aclanthology.org/N19-1423",
    """@inproceedings{devlin-etal-2019-bert,
  title = {{BERT}: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Devlin, Jacob and Chang, Ming-Wei and Lee, Kenton and Toutanova, Kristina},
  booktitle = {Proceedings of NAACL-HLT 2019},
  pages = {4171--4186},
  year = {2019},
  url = {https://aclanthology.org/N19-1423}
}""",
    "classification",
)
