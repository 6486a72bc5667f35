"""stable-baselines3's PPO on the same observations, decisions and reward: an episode is one card holder, one decision.

All but the learning rate is as the library has it. Published learning rates: its default, which is also what the paper
of PPO has for MuJoCo (Schulman et al. 2017, table 3); and two of the tuned hyperparameters in RL Baselines3 Zoo
(`hyperparams/ppo.yml`): that of CartPole-v1 and Pendulum-v1, and that of MountainCarContinuous-v0. Shape letters: E
environments side by side, N card holders, A decisions.
"""

from typing import Any, Final

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from benchmarks.gradients.risk.cards import Cards, Floats, Places
from benchmarks.gradients.risk.measures import measured
from benchmarks.gradients.risk.points import Point, told

RATES: Final = (3e-4, 1e-3, 7.77e-5)

RUNS: Final = 150_000

TOGETHER: Final = 32
STEPS: Final = 64
"""Together 2,048 runs between updates, the library's default for one environment."""

UPDATES: Final = 320
"""Steps of the optimiser that follow: 10 passes in batches of 64, as the library has it."""


def learner(rate: float) -> str:
    """How its curve is called."""
    return f"PPO, {rate:g}"


class OneDecision(VecEnv):  # type: ignore[misc]  # only the benchmarks install it, so mypy takes it for Any
    """Card holders of the train part, drawn at random; each asks for one decision, which ends its episode."""

    def __init__(self, cards: Cards, seed: int) -> None:
        seen = gymnasium.spaces.Box(-np.inf, np.inf, cards.seen_ND.shape[1:], np.float32)
        super().__init__(TOGETHER, seen, gymnasium.spaces.Discrete(cards.worth_NA.shape[1]))
        self._cards = cards
        self._draw = np.random.default_rng(seed)
        self._at_E: Places = cards.train[:TOGETHER]
        self._decided_E: Places = np.zeros(TOGETHER, dtype=np.intp)

    def reset(self) -> Floats:
        self._at_E = self._draw.choice(self._cards.train, TOGETHER)
        return self._cards.seen_ND[self._at_E]

    def step_async(self, actions: Places) -> None:
        self._decided_E = actions

    def step_wait(self) -> tuple[Floats, Floats, Any, list[dict[str, Any]]]:
        worth_E = self._cards.worth_NA[self._at_E, self._decided_E]
        last = [{"terminal_observation": seen} for seen in self._cards.seen_ND[self._at_E]]
        return self.reset(), worth_E, np.ones(TOGETHER, dtype=np.bool_), last

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:  # noqa: ARG002  # the library's own
        return [None] * TOGETHER

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise NotImplementedError

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        raise NotImplementedError

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:  # noqa: ARG002  # as above
        return [False] * TOGETHER


class _Watch(BaseCallback):  # type: ignore[misc]  # as above
    """Measures before each update, which is every 2,048 runs."""

    def __init__(self, cards: Cards, name: str, seed: int) -> None:
        super().__init__()
        self.points: list[Point] = []
        self._cards, self._name, self._seed = cards, name, seed

    def _on_rollout_start(self) -> None:
        self.measure()

    def _on_step(self) -> bool:
        return True

    def measure(self) -> None:
        """Note how good the policy is; its likeliest decision counts."""
        test, validation = (
            measured(self._cards, part, _log_p(self.model.policy, self._cards.seen_ND[part]))
            for part in (self._cards.test, self._cards.validation)
        )
        found = Point(
            learner=self._name,
            seed=self._seed,
            runs=self.num_timesteps,
            updates=self.num_timesteps // (TOGETHER * STEPS) * UPDATES,
            test=test,
            validation=validation,
        )
        self.points.append(found)


def ppo_curve(cards: Cards, rate: float, seed: int, runs: int = RUNS) -> list[Point]:
    """Train once; the curve has a point every 2,048 runs, the last at the end."""
    torch.set_num_threads(1)
    model = PPO("MlpPolicy", OneDecision(cards, seed), n_steps=STEPS, learning_rate=rate, seed=seed, device="cpu")
    watch = _Watch(cards, learner(rate), seed)
    model.learn(runs, callback=watch)
    watch.measure()
    told(watch.points[-1])
    return watch.points


def _log_p(policy: Any, seen_ND: Floats) -> Floats:
    with torch.no_grad():
        found: Floats = policy.get_distribution(torch.from_numpy(seen_ND)).distribution.logits.numpy()
    return found
