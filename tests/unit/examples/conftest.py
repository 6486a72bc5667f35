"""Makes the retail example importable as it is for its own files: by the names of its modules."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "retail"))
