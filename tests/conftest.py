"""What holds for every test."""

import os
import signal

from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
"""One thread for torch and for numpy, in what the tests start too: what is computed here is tiny, and the machine is
shared. They read it as they are imported, which is after this."""

settings.register_profile(
    "stretto", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, print_blob=True
)
settings.register_profile("explore", settings.get_profile("stretto"), derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "stretto"))
"""No example is timed: machines are shared, and a slow one is no mistake. The same code draws the same examples, so
that a test which fails fails for a change; `make explore` draws new ones."""

signal.signal(signal.SIGINT, signal.default_int_handler)
"""As it is at a terminal, also where the tests run in the background of a script, which ignores Ctrl-C: what they start
would ignore it too."""
