"""How much of a control variate to take off."""

from torch import Tensor

from stretto.learn.estimators.shapes import hold_to_matrix, hold_to_shape


def best_coefficient(gradient_NP: Tensor, control_NP: Tensor) -> float:
    """The η for which `gradient - η·control`, of N items by P parameters, has the least variance, summed over P.

    Regression, Cov(g, c) / Var(c): Glasserman 2003, "Monte Carlo methods in financial engineering", eq. 4.3, summed
    over parameters. 0 where the control does not vary. Fit it on other draws than those it is then used for.
    """
    hold_to_matrix("best_coefficient", "gradient_NP", gradient_NP)
    hold_to_shape("best_coefficient", gradient_NP.shape, {"control_NP": control_NP})
    control_NP = control_NP - control_NP.mean(0)
    varies = float((control_NP * control_NP).sum())
    return float((gradient_NP * control_NP).sum()) / varies if varies > 0.0 else 0.0
