"""Find the packages that write and run ONNX files: an optional install."""

from importlib.util import find_spec

from explorer.errors import BadChoice

PACKAGES = ("onnx", "onnxruntime")
INSTALL = "python -m pip install '.[onnx]'"


def why_missing() -> str:
    """Which of them are not there, and the line that installs them; "" if all are."""
    lacking = [name for name in PACKAGES if find_spec(name) is None]
    if not lacking:
        return ""
    return f"ONNX files need {', '.join(lacking)}, not installed here. Type in Strata's folder: {INSTALL}"


def require() -> None:
    """Refuse what needs them if they are not there."""
    if why := why_missing():
        raise BadChoice(why)
