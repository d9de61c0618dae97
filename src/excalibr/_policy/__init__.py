"""What is answered, for any number of users; one user is a view, :class:`Policy`."""

from excalibr._policy.policies import Effort, Lotteries, Policies, SolveInfo, join, no_effort
from excalibr._policy.policy import Policy

__all__ = ["Effort", "Lotteries", "Policies", "Policy", "SolveInfo", "join", "no_effort"]
