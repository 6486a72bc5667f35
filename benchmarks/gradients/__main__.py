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
  hand; 0.1 is a tenth. `differentiable_overhead_checked`: beside a hand that looks whether its gradient is a number, as
  every `backward` of a run does. `by_hand_ms`: of the CPU, what those take.
- `utility`, `utility_hgb`, `utility_ppo_final`, `utility_ppo_best`: mean of five seeds on unseen card holders, of
  `examples/risk` after all of the train part, of boosted trees, and of PPO after 150,000 runs and at its best
  checkpoint on validation, with the best of three learning rates on validation; `..._with_person` of `examples/risk`
  when it is told sex, age and marriage. `auc...`: of the risk. `..._seeds`: each seed's. `accuracy..._at_50` to
  `_at_100`: share of right calls at that coverage (`risk/measures.py` says what is one).
- `runs_to_ppo_final`, `updates_to_ppo_final`, `runs_ratio_at_ppo_final`: the smallest training of `examples/risk` from
  which on its mean utility is no less than PPO's final one, and how many times as many runs PPO took, beside its own
  `runs_of_...` and `updates_of_...`; the same `_best`, where PPO's are means over the seeds. `..._seeds`: each seed's
  own curve held to its own PPO.

What needs the table of card holders, `../shared/data/credit_taiwan` or `--table`, is in `missing` without it. Learning
curves are kept in `build/gradients`: `risk.jsonl` and `risk.png`.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch

from benchmarks.gradients.estimators import bias_figures, variance_figures
from benchmarks.gradients.overhead import overhead_figures
from benchmarks.gradients.risk import KEYS
from benchmarks.gradients.triggers import trigger_figures

ITEMS: Final = 1_000_000

ROOT: Final = Path(__file__).parents[2]
TABLE: Final = ROOT.parent / "shared" / "data" / "credit_taiwan" / "default_credit_card.csv.gz"
CURVES: Final = ROOT / "build" / "gradients"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=ITEMS, help="of each estimator in each world")
    parser.add_argument("--table", type=Path, default=TABLE, help="UCI's table of card holders, as CSV or CSV.GZ")
    parser.add_argument("--curves", type=Path, default=CURVES, help="the folder for learning curves")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    found = {**overhead_figures(), **bias_figures(asked.items), **variance_figures(), **trigger_figures()}
    print(json.dumps(_rounded({**found, **_risk(asked.table, asked.curves)})))
    return 0


def _risk(table: Path, curves: Path) -> dict[str, Any]:
    if not table.exists():
        return _missing(f"the table of card holders is not at {table}")
    try:  # with PPO, which only `make bench-gradients` installs
        from benchmarks.gradients.risk.figures import risk_figures
    except ModuleNotFoundError as error:
        return _missing(f"{error.name} is not installed; `make bench-gradients` does it")
    return risk_figures(table, curves)


def _missing(why: str) -> dict[str, Any]:
    print(f"  learning through rules: {why}", file=sys.stderr, flush=True)
    return {**dict.fromkeys(KEYS), "missing": dict.fromkeys(KEYS, why)}


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
