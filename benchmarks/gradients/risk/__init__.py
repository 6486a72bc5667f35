"""Learning through the rules of `examples/risk`, beside PPO and boosted trees."""

from typing import Final

KEYS: Final = (
    "updates_to_ppo_final",
    "runs_ratio_at_ppo_final",
    "runs_ratio_at_ppo_best",
    "utility",
    "utility_hgb",
    "utility_ppo_final",
    "utility_ppo_best",
    "auc",
    "auc_hgb",
)
"""What is asked of it; `null` with a reason where it could not be measured."""
