"""Evaluate encoders on published tasks and on a user's own files, under every layer & pooling."""

import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import TypeVar

Base = TypeVar("Base")


@cache
def classes_in(package: str, folders: tuple[str, ...], base: type[Base]) -> tuple[type[Base], ...]:
    """The subclasses of a class that the files in the folders of a package define, file by file."""
    files = sorted(file.stem for folder in folders for file in Path(folder).glob("[!_]*.py"))
    modules = [importlib.import_module(f"{package}.{file}") for file in files]
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, base) and value.__module__ == module.__name__
    )
