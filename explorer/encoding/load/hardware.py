"""Choose device and precision, name the device, and measure its memory and how busy it is."""

import os
import platform
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from explorer import in_words
from explorer.errors import BadChoice

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("auto", "bfloat16", "float32")  # of a training
# of a measurement: never chosen by the machine, since rounding to bfloat16 alone changes a score by up to 0.2
MEASURED = ("float32", "bfloat16")
KINDS = {"cpu": "a processor", "cuda": "a GPU", "mps": "a GPU"}  # of devices whose name is not known
COUNTED = ("cuda",)  # devices whose memory and work torch counts
_CGROUP, _PROCESSORS = Path("/sys/fs/cgroup"), Path("/proc/cpuinfo")
# what makers add to a name and nobody says: "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"
_ADDED = re.compile(r"\((?:R|TM)\)| (?:CPU|Processor|\d+-Core)\b| *@.*", re.IGNORECASE)


@dataclass(frozen=True)
class DeviceMemory:
    """The memory of a device: the bytes that all programs use of it, and all."""

    in_use: int
    total: int

    @property
    def words(self) -> str:
        """`12.3 GB of 84.9 GB in use`."""
        return f"{in_words.size(self.in_use)} of {in_words.size(self.total)} in use"


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


def gpu_in_use() -> str:
    """The GPU that this process has computed on; "" if none: to start one takes longer than what is asked of it."""
    torch = sys.modules.get("torch")
    return "cuda" if torch is not None and torch.cuda.is_initialized() else ""


def device_name(device: str = "cpu") -> str:
    """What computes on a device, as people call it: `NVIDIA H100 80GB HBM3`, `AMD EPYC 9R14`."""
    if device == "cuda":
        import torch

        return str(torch.cuda.get_device_name())
    return _ADDED.sub("", _processor_name(_PROCESSORS))


def processor(device: str = "cpu") -> str:
    """The type of what computes on a device, by which repeats are recognised: with the instructions that torch uses."""
    if device == "cuda":
        return device_name(device)
    import torch

    name = _processor_name(_PROCESSORS)
    return name if device == "mps" else f"{name} ({torch.backends.cpu.get_cpu_capability()})"


@cache  # a machine with many processors takes milliseconds to list them
def _processor_name(listed: Path) -> str:
    """The processor as its maker calls it."""
    try:
        fields = [line.partition(":") for line in listed.read_text(encoding="utf-8").splitlines()]
    except OSError:  # no Linux
        fields = []
    stated = {name.strip(): value.strip() for name, _, value in reversed(fields)}.get("model name")
    return stated or platform.processor() or platform.machine()


def free_memory(device: str = "cpu") -> int:
    """Bytes that are free on a device."""
    if device == "cuda":
        import torch

        kept = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()  # by torch, for its next tensors
        return int(torch.cuda.mem_get_info()[0]) + kept
    import psutil

    machine = int(psutil.virtual_memory().available)
    return min(machine, container_room(_CGROUP, otherwise=machine))


def has_room(device: str, share: float) -> bool:
    """Whether this share of a GPU's memory is free, and twice what this process has needed above what it holds now.

    Memory that torch keeps for captured work is not free: nothing else can have it.
    """
    if device in COUNTED:
        import torch

        torch.cuda.empty_cache()  # of what it keeps for later, the driver says that it is in use
    memory = memory_in_use(device)
    if memory is None:
        return True
    needed = max(share * memory.total, 2 * (peak_memory(device) - held_memory(device)))
    return memory.total - memory.in_use >= needed


def memory_in_use(device: str) -> DeviceMemory | None:
    """The memory of a GPU that all programs use now; None of other devices."""
    if device not in COUNTED:
        return None
    import torch

    free, total = torch.cuda.mem_get_info()
    return DeviceMemory(int(total) - int(free), int(total))


def held_memory(device: str) -> int:
    """Bytes that tensors of this process hold on a device that counts them; 0 on others."""
    if device not in COUNTED:
        return 0
    import torch

    return int(torch.cuda.memory_allocated())


def reset_peak(device: str) -> None:
    """Count the most that the tensors of this process hold on a device anew, from what they hold now."""
    if device in COUNTED:
        import torch

        torch.cuda.reset_peak_memory_stats()


def peak_memory(device: str) -> int:
    """The most bytes that the tensors of this process held on a device since that; 0 on devices that do not count."""
    if device not in COUNTED:
        return 0
    import torch

    return int(torch.cuda.max_memory_allocated())


def busy_share(device: str) -> float | None:
    """The share of about the last second in which a GPU computed, for any program; None if its driver does not say.

    Of a processor it is not known: threads that wait for one another count as computing, and so do those of pages.
    """
    if device not in COUNTED:
        return None
    import torch

    try:
        return float(torch.cuda.utilization()) / 100
    except Exception:  # noqa: BLE001 (each driver has errors of its own, and nothing depends on the number)
        return None


def gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    number = torch.cuda.device_count()
    stated = [one.strip() for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    return stated[:number] if len(stated) >= number and all(stated) else list(map(str, range(number)))


def free_on_each_gpu() -> list[int]:
    """Bytes that are free on each GPU, most of them for other processes than this one."""
    import torch

    return [int(torch.cuda.mem_get_info(place)[0]) for place in range(torch.cuda.device_count())]


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
