"""Why a score is what it is: pure functions of tensors, each with its paper, and how far to believe them.

A *score* takes named tensors of N rows and gives [N] numbers; one row is explained, against a baseline row that stands
for "nothing known". Shape letters: N rows, S points of a path, F elements of all inputs together.
"""

from stretto.learn.attribution.faithfulness import faithfulness, faithfulness_of
from stretto.learn.attribution.integrated import Attribution, gradient_times_input, integrated_gradients
from stretto.learn.attribution.occlusion import occlusion
from stretto.learn.attribution.rows import Row, Score, by_unit, units_of
from stretto.learn.faith import Faithfulness

__all__ = [
    "Attribution",
    "Faithfulness",
    "Row",
    "Score",
    "by_unit",
    "faithfulness",
    "faithfulness_of",
    "gradient_times_input",
    "integrated_gradients",
    "occlusion",
    "units_of",
]
