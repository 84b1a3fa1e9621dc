"""Every table and figure of the papers, by name."""

from __future__ import annotations

import difflib

from explorer.errors import BadChoice
from explorer.studies.reproduce import conisi, layer_attention, sg_bert
from explorer.studies.reproduce.paper_table import PaperTable

TABLES = (*sg_bert.TABLES, *conisi.TABLES, *layer_attention.TABLES)


def find(name: str) -> PaperTable:
    """The table with this name."""
    by_name = {table.name: table for table in TABLES}
    if name in by_name:
        return by_name[name]
    near = difflib.get_close_matches(name.lower(), by_name, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise BadChoice(f"There is no table '{name}'.{meant} 'reproduce list' shows them all.")
