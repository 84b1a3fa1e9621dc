"""Make the folder of a run once, for processes that train together."""

from __future__ import annotations

from pathlib import Path

from explorer.training.loop.processes import World
from explorer.training.recipe import Recipe
from explorer.training.record import runs
from explorer.training.record.runs import Run


def new_run(recipe: Recipe, name: str, folder: Path | None) -> Run:
    """The run, made by the first process and broadcast to all."""
    import torch.distributed as dist

    world = World(recipe.precision, recipe.device)  # from here on the processes are connected
    made = [str(runs.new(recipe, name, folder).folder) if world.main else ""]
    dist.broadcast_object_list(made, src=0)
    return Run(Path(made[0]))
