"""``excalibr balance``: prices for everybody together from tables in files, streamed pass by pass, and resumed."""

from excalibr._cli.balance.command import balance

__all__ = ["balance"]
