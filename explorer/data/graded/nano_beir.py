"""Load the sets of NanoBEIR: about 50 queries of each of 13 sets of BEIR, and a few thousand of its documents.

A set is a folder of its own, as on the hub (zeta-alpha-ai/NanoNQ), or files in a folder of all sets
(sentence-transformers/NanoBEIR-en). Both have the tables corpus, queries and qrels; each judgement has the grade 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from explorer.data.graded import sts
from explorer.data.retrieval_sets import RetrievalSet
from explorer.data.tables import retrieval_folders
from explorer.data.tables.hub_files import ADDRESS, hub_table
from explorer.data.tables.retrieval_folders import CORPUS, JUDGEMENTS, QUERIES
from explorer.data.tables.table import Table
from explorer.errors import DataError, SetNotFound

TOGETHER = "sentence-transformers/NanoBEIR-en"  # the folder of all sets on the hub
SPLIT = "train"  # of every set on the hub, and in MTEB
_TABLES = (CORPUS, QUERIES, JUDGEMENTS)


@dataclass(frozen=True)
class NanoSet:
    """A set with its numbers of documents and queries, those without text included, and its name in MTEB."""

    name: str
    documents: int
    in_mteb: str
    queries: int = 50

    @property
    def hub_id(self) -> str:
        """Its own folder on the hub."""
        return f"zeta-alpha-ai/{self.name}"


# Sizes: MTEB's descriptive statistics. The order is that of sentence-transformers.
SETS = (
    NanoSet("NanoClimateFEVER", 3408, "NanoClimateFeverRetrieval"),
    NanoSet("NanoDBPedia", 6045, "NanoDBPediaRetrieval"),
    NanoSet("NanoFEVER", 4996, "NanoFEVERRetrieval"),
    NanoSet("NanoFiQA2018", 4598, "NanoFiQA2018Retrieval"),
    NanoSet("NanoHotpotQA", 5090, "NanoHotpotQARetrieval"),
    NanoSet("NanoMSMARCO", 5043, "NanoMSMARCORetrieval"),
    NanoSet("NanoNFCorpus", 2953, "NanoNFCorpusRetrieval"),
    NanoSet("NanoNQ", 5035, "NanoNQRetrieval"),
    NanoSet("NanoQuoraRetrieval", 5046, "NanoQuoraRetrieval"),
    NanoSet("NanoSCIDOCS", 2210, "NanoSCIDOCSRetrieval"),
    NanoSet("NanoArguAna", 3635, "NanoArguAnaRetrieval"),
    NanoSet("NanoSciFact", 2919, "NanoSciFactRetrieval"),
    NanoSet("NanoTouche2020", 5745, "NanoTouche2020Retrieval", queries=49),
)


def names() -> tuple[str, ...]:
    """The names of all sets."""
    return tuple(one.name for one in SETS)


def load(name: str, folder: Path | None = None, *, online: bool = False) -> RetrievalSet:
    """Load a set by its name, and check its counts against the published ones."""
    chosen = next(one for one in SETS if one.name == name)
    root = sts.data_folder(folder)
    found = (_in_folder(chosen, root) if root else None) or _of_hub(chosen, online=online)
    if found is None:
        where = f"there is no {root / name}" if root else f"{sts.VARIABLE} names no folder"
        hub = "could be downloaded from the hub" if online else "is in the hub's cache, and the download is not allowed"
        raise SetNotFound(
            f"{name} is not available: {where}, and neither {chosen.hub_id} nor {TOGETHER} {hub} (online). Set "
            f"{sts.VARIABLE} to a folder with a copy of {ADDRESS}/{chosen.hub_id}, which has {', '.join(_TABLES)}, or "
            f"of {ADDRESS}/{TOGETHER}."
        )
    documents, queries = len(found.documents) + found.counted[2], len(found) + found.counted[0]
    if (documents, queries) != (chosen.documents, chosen.queries):
        raise DataError(
            f"{name} has {documents:,} documents and {queries} queries here, but {chosen.documents:,} and "
            f"{chosen.queries} as published. The files may be truncated or another version: replace them by those of "
            f"{ADDRESS}/{chosen.hub_id}."
        )
    return replace(found, name=name, split=SPLIT)


def _in_folder(chosen: NanoSet, root: Path) -> RetrievalSet | None:
    """The set in a folder of its own, or in a folder of all sets."""
    if (root / chosen.name).is_dir():
        return retrieval_folders.read(root / chosen.name)
    together = root / Path(TOGETHER).name
    return retrieval_folders.read(together, chosen.name) if together.is_dir() else None


def _of_hub(chosen: NanoSet, *, online: bool) -> RetrievalSet | None:
    """The set in the hub's cache, or on the hub if allowed."""
    for hub_id, table in ((chosen.hub_id, SPLIT), (TOGETHER, chosen.name)):
        found: Mapping[str, Table | None] = {
            one: hub_table(hub_id, (f"{one}/{table}", f"{one}/{table}-*"), online=online) for one in _TABLES
        }
        there = {one: each for one, each in found.items() if each is not None}
        if len(there) == len(_TABLES):
            return retrieval_folders.of_tables(chosen.name, SPLIT, *(there[one] for one in _TABLES))
    return None
