"""The device of the tests that take one: `STRATA_TEST_DEVICE=cuda make test ARGS="-m device"` runs them on a GPU."""

import os

DEVICE = os.environ.get("STRATA_TEST_DEVICE", "cpu")
