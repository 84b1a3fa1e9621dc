"""Read the configuration files of a model folder, each as a dataclass whose fields have been checked.

A dataclass has the fields that Strata uses, under the names of the file. transformers reads config.json and
tokenizer_config.json too; other fields of these are checked there.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from explorer import in_words, typed_json
from explorer.errors import NotAModelFolder, UnsupportedModel

T = TypeVar("T")

LARGEST = 100_000_000  # bytes; the list of shards of a large model has less than one million
ENDS = ("module_input_name", "module_output_name")  # fields of every module that works on the sentence's vector
# the parts of a Sequence in tokenizer.json
_PARTS = ("normalizers", "pretokenizers", "processors", "decoders")
_COPY = "Copy or download the file again."


@dataclass(frozen=True)
class TokenizerConfig:
    """tokenizer_config.json."""

    auto_map: Any = None
    fast_tokenizer_files: tuple[str, ...] = ()  # a tokenizer.json for each of some releases of transformers
    model_max_length: float | None = field(default=None, metadata={"least": 0})  # 1e30 means no limit
    extra_ids: int | None = None  # tokens that the tokenizer of T5 makes up
    offset: int | None = None  # and that of Pegasus


@dataclass(frozen=True)
class Modality:
    """How a Transformer module of sentence-transformers encodes one kind of input."""

    method_output_name: Any = None


@dataclass(frozen=True)
class TransformerModule:
    """sentence_bert_config.json: the Transformer module of sentence-transformers."""

    transformer_task: str = "feature-extraction"
    modality_config: Mapping[str, Modality | None] | None = None
    max_seq_length: int | None = field(default=None, metadata={"least": 0})  # 0 means no limit
    do_lower_case: bool | None = False


@dataclass(frozen=True)
class SentenceTransformer:
    """config_sentence_transformers.json."""

    prompts: Mapping[str, str | None] | None = None
    default_prompt_name: str | None = None


@dataclass(frozen=True)
class ModuleConfig:
    """config.json of a module; each kind of module has some of these fields."""

    # of a transformer
    model_type: str | None = None
    architectures: tuple[str, ...] | None = None
    # of a module that works on the sentence's vector
    module_input_name: str | None = None
    module_output_name: str | None = None
    # of a Pooling
    pooling_mode: str | tuple[str, ...] | None = None
    pooling_mode_cls_token: bool | None = None  # the switches of releases before 5.4
    pooling_mode_max_tokens: bool | None = None
    pooling_mode_mean_tokens: bool | None = None
    pooling_mode_mean_sqrt_len_tokens: bool | None = None
    pooling_mode_weightedmean_tokens: bool | None = None
    pooling_mode_lasttoken: bool | None = None
    include_prompt: bool | None = True
    poolings: tuple[str, ...] = ()  # of a LayerReading; its other fields are poolings of states, as `parts` finds them
    # of a Dense, and of a WeightedLayerPooling
    activation_function: str = "torch.nn.Tanh"
    use_residual: bool | None = None
    layer_start: int = field(default=4, metadata={"least": 0})
    num_hidden_layers: int = field(default=12, metadata={"least": 0})


@dataclass(frozen=True)
class Router:
    """The file of a Router: the type of each module, and the modules of each route."""

    types: Mapping[str, str] = field(default_factory=dict)
    structure: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Adapter:
    """adapter_config.json of peft."""

    peft_type: str | None = None
    base_model_name_or_path: str | None = None
    revision: str | None = None  # of the base on the hub
    r: int = field(default=8, metadata={"least": 1})
    lora_alpha: float = field(default=8.0, metadata={"least": 0})
    use_rslora: bool | None = None
    rank_pattern: Mapping[str, int] | None = None
    modules_to_save: tuple[str, ...] | None = None
    init_lora_weights: bool | str | None = True
    auto_mapping: Any = None


def read(path: Path, kind: type[T]) -> T:
    """A configuration file; without the file, every field has its default."""
    return checked(path, kind, settings(path))


def checked(path: Path, kind: type[T], stated: Mapping[str, Any]) -> T:
    """An object of a configuration file as a dataclass; an error names the field that does not fit."""
    wrong, found = typed_json.misfit(kind, stated), typed_json.read(kind, stated)
    if wrong is not None or found is None:
        raise NotAModelFolder(f"{path} cannot be used: {wrong}. {_COPY}")
    return found


def module(place: Path, *names: str) -> ModuleConfig:
    """These fields of a module's config.json; one that its kind of module does not have may hold anything."""
    stated = settings(place / "config.json")
    return checked(place / "config.json", ModuleConfig, {name: stated[name] for name in names if name in stated})


def require(place: Path) -> None:
    """Refuse a module without its config.json: its defaults could be those of another model."""
    if not (place / "config.json").exists():
        raise NotAModelFolder(
            f"{place / 'config.json'} is missing, which states what the module does. Copy or download the folder again."
        )


def of_vectors(place: Path, *names: str) -> ModuleConfig:
    """These fields of the config.json of a module that makes the sentence's vector or works on it.

    A module that needs none of them may be saved without the file.
    """
    if names:
        require(place)
    stated = module(place, *ENDS, *names)
    for end in ENDS:
        if getattr(stated, end) not in (None, "sentence_embedding"):
            raise UnsupportedModel(
                f"{place / 'config.json'} works on '{getattr(stated, end)}' ({end}). Strata supports modules that work "
                "on the 'sentence_embedding'. Choose another model."
            )
    return stated


def of_strata(path: Path, kind: type[T], title: str, *names: str) -> T:
    """The config.json of a module that only Strata exports; if fields are named, these alone."""
    found = {name: value for name, value in settings(path).items() if not names or name in names}
    wrong, fitting = typed_json.misfit(kind, found), typed_json.read(kind, found)
    if wrong is not None or fitting is None:
        raise UnsupportedModel(f"{path} is not a {title} of Strata: {wrong}. Export the model again.")
    return fitting


def settings(path: Path) -> dict[str, Any]:
    """A configuration file as it is; empty if there is no such file."""
    found = parsed(path, otherwise={})
    if not isinstance(found, dict):
        raise NotAModelFolder(f"{path} should hold a JSON object {{…}}. {_COPY}")
    return found


def steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The steps of a stage in tokenizer.json, in order: those of a Sequence in its place."""
    if step["type"] != "Sequence":
        yield step
        return
    for name in _PARTS:
        for inner in step.get(name, ()):
            yield from steps(inner)


def parsed(path: Path, otherwise: Any) -> Any:
    """The content of a JSON file; `otherwise` if there is no such file."""
    try:
        found = path.stat()  # once: a page reads these files a hundred times
        _check_regular(path, found)
        if found.st_size > LARGEST:
            raise NotAModelFolder(
                f"{path} has {in_words.size(found.st_size)}; a configuration file has at most "
                f"{in_words.size(LARGEST)}. {_COPY}"
            )
        return typed_json.parsed(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return otherwise
    except OSError as error:
        raise NotAModelFolder(f"{path} cannot be read: {error.strerror}. Check its permissions.") from error
    except ValueError as error:  # broken JSON, or not UTF-8
        raise NotAModelFolder(f"{path} is not valid JSON ({error}). {_COPY}") from error


def check_regular(path: Path) -> None:
    """Refuse a named pipe, a socket or a device, which may never end."""
    if path.exists():
        _check_regular(path, path.stat())


def _check_regular(path: Path, status: os.stat_result) -> None:
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise NotAModelFolder(f"{path} is not a regular file. Copy or download the folder again.")
