"""Training against collusion: a component that answers worse than it can in some runs, and how vague its partner is.

Two components that are trained together come to understand each other where nobody else does. Holding one of them to
others now and then is adversarial training (Pinto et al. 2017, "Robust Adversarial Reinforcement Learning",
arXiv:1703.02702); holding what came of it to others is cross-play (Hu et al. 2020, "Other-Play", arXiv:2003.02979).
"""
