"""Import and load once what every process that is forked from this one would import and load again."""

import tempfile
from pathlib import Path

import nltk.corpus.reader.wordnet  # noqa: F401  # it imports for a second, in each process that looks up opposites
import pandas  # noqa: F401  # for the processes that are forked, as all of these
import plotly.graph_objects
import plotly.io  # noqa: F401
import streamlit.testing.v1  # noqa: F401  # for the processes that open pages of a copy of the app
import torch

import explorer.__main__
import explorer.commands.train
import explorer.methods.simcse
import explorer.training.recipe_file
import explorer.training.saved_model  # noqa: F401  # imported for the processes that are forked
from explorer.encoding.load.loading import load
from explorer.encoding.locate.model_names import of_folder
from tests.tiny_models import save_tiny
from tests.trainings import few_probes

_threads = torch.get_num_threads()
torch.set_num_threads(1)  # a process that has threads is not to be forked
with tempfile.TemporaryDirectory() as _folder:  # the first load compiles a thousand patterns of names
    load(of_folder("tiny", save_tiny("bert", Path(_folder) / "tiny")), precision="float32", device="cpu")
with few_probes():  # which pairs they are is found out once
    pass
torch.set_num_threads(_threads)
