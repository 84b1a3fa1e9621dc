"""Restore the queue when the server starts: runs that waited and plans under way go on after a crash."""

from __future__ import annotations

import logging

from explorer import run_folder, typed_json
from explorer.errors import RunBusy, StrataError
from explorer.places import runs_folder
from explorer.run_folder import QUEUED, STATUS
from explorer.training.record import folder_lock
from explorer.ui.runs import plan_queue, training_queue

logger = logging.getLogger(__name__)


def restore() -> None:
    """Queue again what another server left; nothing is loaded if there is nothing."""
    try:
        home = run_folder.home()
        waited, planned = any(home.glob(f"[!.]*/{QUEUED}")), _plans_were_under_way()
        if not waited and not planned:
            return
        # of two servers that start at once, the second finds everything queued
        with folder_lock.holding(home, "Another server restores the queue.", "The queue is not restored."):
            if waited:
                training_queue.queue_again()
            if planned:
                plan_queue.go_on()
    except RunBusy:
        return
    except StrataError as error:
        logger.warning("The queue is not restored: %s", error)


def _plans_were_under_way() -> bool:
    """Whether a plan of the app is written as waiting or running, by this server or one that ended."""
    for path in runs_folder().glob(f"plans/[!.]*/{STATUS}"):
        try:
            stated = typed_json.parsed(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(stated, dict) and stated.get("of_app") and stated.get("state") in ("waiting", "running"):
            return True
    return False
