"""`make bench-gradients`: gradients and explanations held against what is known.

Stdout ends with one line of JSON; progress goes to stderr.

- `max_abs_bias_z`: of every unbiased estimator on five workflows of two choices that can be enumerated, the largest
  distance from the exact gradient in standard errors, at a million items each, those of `relax` also through
  `as_module`, its surrogates learning as they go or hostile; `bias_z_bound`: what it stays below with
  99 % when no mean is wrong (Bonferroni).
- `relax_variance_good`, `relax_variance_hostile`: variance of a choice's gradient with the product's surrogate as
  control variate, its coefficient fitted, as part of the plain score function's: one that learnt of 2,000 runs, and a
  misled one.
- `explain_top1`: share of 500 texts of which `explain` names a word of the phrase that decides, of five routers
  that learnt it; `explain_completeness`: the largest residual among them.
- `differentiable_overhead`: of a differentiable run, forward and backward of 64 runs, over the same modules called by
  hand; 0.1 is a tenth. `by_hand_ms`: of the CPU, what those take.
"""

import argparse
import json
import sys
from typing import Final

import torch

from benchmarks.gradients.estimators import bias_figures, variance_figures
from benchmarks.gradients.overhead import overhead_figures
from benchmarks.gradients.triggers import trigger_figures

ITEMS: Final = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=ITEMS, help="of each estimator in each world")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = {**overhead_figures(), **bias_figures(asked.items), **variance_figures(), **trigger_figures()}
    print(json.dumps({key: float(f"{value:.4g}") for key, value in found.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
