import subprocess
import sys
from pathlib import Path

import pytest
import torch

from explorer.encoding.load import hardware
from explorer.errors import BadChoice


def test_a_device_or_precision_that_does_not_exist_is_refused_with_those_that_do():
    with pytest.raises(BadChoice, match=r"'tpu' is not a device. Choose one of auto, cpu, cuda, mps"):
        hardware.device("tpu")
    with pytest.raises(BadChoice, match=r"'float8' is not a precision. Choose one of auto, bfloat16, float32"):
        hardware.precision("float8", "cpu")


def test_the_lists_of_devices_and_precisions_need_no_torch():
    script = "import sys; from explorer.encoding.load.hardware import DEVICES, PRECISIONS; print(*sys.modules)"
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=root)
    loaded = done.stdout.split()
    assert "explorer.encoding.load.hardware" in loaded, "the script ran"
    assert "torch" not in loaded


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_device_this_machine_lacks_is_refused_with_what_it_has():
    with pytest.raises(BadChoice, match=r"This machine has no 'cuda'. Choose from cpu"):
        hardware.device("cuda")


def test_what_is_asked_for_is_given():
    assert hardware.device("cpu") == "cpu"
    assert hardware.precision("float32", "cpu") == "float32"
    assert hardware.precision("bfloat16", "cpu") == "bfloat16"
    assert hardware.device("auto") == hardware.best_device()
    assert hardware.precision("auto", "cpu") == hardware.best_precision("cpu")


@pytest.mark.parametrize(
    ("able", "precision"),
    [
        ({}, "float32"),
        ({"avx2": True}, "float32"),
        ({"amx_bf16": False, "avx512_bf16": False}, "float32"),
        ({"amx_bf16": True}, "bfloat16"),
        ({"avx512_bf16": True}, "bfloat16"),
    ],
)
def test_a_processor_gets_bfloat16_only_where_it_computes_in_it(monkeypatch, able, precision):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: able)
    assert hardware.best_precision("cpu") == precision


def test_apple_chips_get_float32():
    assert hardware.best_precision("mps") == "float32"


def test_a_containers_limit_counts_where_there_is_one(tmp_path):
    def limited(limit: str) -> int:
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        (tmp_path / "memory.current").write_text("600\n")
        (tmp_path / "memory.stat").write_text("anon 450\ninactive_file 150\nactive_file 0\n")
        return hardware.container_room(tmp_path, otherwise=7)

    assert hardware.container_room(tmp_path, otherwise=7) == 7, "no container"
    assert limited("1000") == 550, "what is cached of files is given back when needed"
    assert limited("100") == 0
    assert limited("max") == 7
    assert hardware.free_memory("cpu") > 0


def test_memory_that_torch_keeps_of_a_gpu_counts_as_free(monkeypatch):
    for name, found in (("mem_get_info", (1000, 5000)), ("memory_reserved", 300), ("memory_allocated", 200)):
        monkeypatch.setattr(f"torch.cuda.{name}", lambda found=found: found)
    assert hardware.free_memory("cuda") == 1100
