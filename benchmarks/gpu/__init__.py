"""Check and measure everything on a GPU, in at most nine minutes: `make bench ARGS=gpu`.

Without a GPU it prints the parts and what they take. `make bench ARGS="gpu --dry"` runs every part in miniature on this
processor. The exit status is 1 if a check failed.
"""

from __future__ import annotations

from collections.abc import Callable
from tempfile import TemporaryDirectory

from benchmarks.gpu.parts import ALL_SECONDS, DRY_LIMIT, PARTS, Part, Row, Setting, rows_of

Rows = Callable[[Part, Setting, float], list[Row]]


def main(dry: bool = False) -> int:
    import torch

    if not dry and not torch.cuda.is_available():
        print(plan())
        return 0
    with TemporaryDirectory() as folder:
        setting = Setting("cpu" if dry else "cuda", dry, folder)
        found = measured(PARTS, setting)
    print(f"\n{of_machine(setting)}\n\n{table(found)}")
    wrong = failed(found)
    print(f"\n{wrong} of {len(found)} lines failed." if wrong else "\nNo check failed.")
    return 1 if wrong else 0


def plan() -> str:
    """What would be done with a GPU, and how long it takes."""
    lines = ["", "There is no GPU here (torch.cuda.is_available() is false). With one, this command would:"]
    lines += [f"  {part.seconds:3d} s  {part.name}: {part.does}" for part in PARTS]
    lines += [
        f"  {sum(part.seconds for part in PARTS):3d} s in all, at most {ALL_SECONDS} s: each part has a time limit.",
        'Run every part in miniature on this processor with: make bench ARGS="gpu --dry"',
    ]
    return "\n".join(lines)


def measured(parts: tuple[Part, ...], setting: Setting, of: Rows = rows_of) -> dict[Part, list[Row]]:
    """The rows of every part; what one part does is no matter to the others."""
    import time

    found: dict[Part, list[Row]] = {}
    ends = time.monotonic() + ALL_SECONDS
    for part in parts:
        print(f"{part.name}: {part.does}", flush=True)
        started = time.monotonic()
        found[part] = of(part, setting, DRY_LIMIT if setting.dry else min(part.limit, ends - started))
        for row in found[part]:
            print(f"  {row.verdict:6}  {row.what}: {row.found}", flush=True)
        print(f"  {time.monotonic() - started:.1f} s", flush=True)
    return found


def table(found: dict[Part, list[Row]]) -> str:
    """The rows as Markdown, for docs/results.md."""
    lines = ["| | | | |", "|---|---|---|---|"]
    for part, rows in found.items():
        for number, row in enumerate(rows):
            cells = ("" if number else part.name, row.what, row.found, row.verdict)
            lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(lines)


def failed(found: dict[Part, list[Row]]) -> int:
    """The number of checks that failed; a part without rows is one."""
    return sum(sum(row.good is False for row in rows) or not rows for rows in found.values())


def of_machine(setting: Setting) -> str:
    """The machine, in a line above the table."""
    import torch

    if setting.dry:
        return f"A dry run in miniature on the processor, torch {torch.__version__}: times mean nothing."
    gpu = torch.cuda.get_device_properties(0)
    return f"{gpu.name}, {gpu.total_memory / 2**30:.0f} GiB, torch {torch.__version__}, CUDA {torch.version.cuda}."
