"""Choose device and precision, name the processor, and measure the free memory of this machine."""

import platform
from pathlib import Path

from explorer.errors import BadChoice

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("auto", "bfloat16", "float32")  # of a training
# of a measurement: never chosen by the machine, since rounding to bfloat16 alone changes a score by up to 0.2
MEASURED = ("float32", "bfloat16")
_CGROUP, _PROCESSORS = Path("/sys/fs/cgroup"), Path("/proc/cpuinfo")


def device(requested: str = "auto") -> str:
    """The device to run on; the requested one must exist."""
    if requested not in DEVICES:
        raise BadChoice(f"'{requested}' is not a device. Choose one of {', '.join(DEVICES)}.")
    if requested == "auto":
        return best_device()
    import torch

    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there[requested]:
        has = ", ".join(name for name in there if there[name])
        raise BadChoice(f"This machine has no '{requested}'. Choose from {has}, or 'auto'.")
    return requested


def precision(requested: str, device: str) -> str:
    """The precision to run in on a device."""
    if requested not in PRECISIONS:
        raise BadChoice(f"'{requested}' is not a precision. Choose one of {', '.join(PRECISIONS)}.")
    return best_precision(device) if requested == "auto" else requested


def best_device() -> str:
    """The fastest device of this machine."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_precision(device: str) -> str:
    """Bfloat16 if the device supports it, else float32: emulated bfloat16 is slower."""
    import torch

    if device == "cpu":
        able = torch.cpu.get_capabilities()
        quick = bool(able.get("amx_bf16") or able.get("avx512_bf16"))
    else:
        quick = device == "cuda" and torch.cuda.is_bf16_supported()
    return "bfloat16" if quick else "float32"


def processor(device: str = "cpu") -> str:
    """The type of what computes on a device: its name, and of a processor the instructions that torch uses."""
    import torch

    if device == "cuda":
        return str(torch.cuda.get_device_name())
    try:
        fields = [line.partition(":") for line in _PROCESSORS.read_text(encoding="utf-8").splitlines()]
    except OSError:  # no Linux
        fields = []
    stated = {name.strip(): value.strip() for name, _, value in reversed(fields)}.get("model name")
    name = stated or platform.processor() or platform.machine()
    return name if device == "mps" else f"{name} ({torch.backends.cpu.get_cpu_capability()})"


def free_memory(device: str = "cpu") -> int:
    """Bytes that are free on a device."""
    if device == "cuda":
        import torch

        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()  # by torch, for its next tensors
        return int(torch.cuda.mem_get_info()[0]) + kept
    import psutil

    machine = int(psutil.virtual_memory().available)
    return min(machine, container_room(_CGROUP, otherwise=machine))


def container_room(cgroup: Path, otherwise: int) -> int:
    """Bytes left to a container, or `otherwise` without a container or a limit.

    Inside a container the system reports the memory of the whole machine, but exceeding the
    container's limit kills the process.
    """
    try:
        limit = (cgroup / "memory.max").read_text().strip()
        used = int((cgroup / "memory.current").read_text())
        lines = (cgroup / "memory.stat").read_text().splitlines()
        cached = dict(line.split() for line in lines)["inactive_file"]  # freed when needed
        return otherwise if limit == "max" else max(0, int(limit) - used + int(cached))
    except (OSError, ValueError, KeyError):
        return otherwise
