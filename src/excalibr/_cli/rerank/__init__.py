"""``excalibr rerank``: tables in files to slates in a file, streamed, and resumed after any interruption."""

from excalibr._cli.rerank.command import rerank

__all__ = ["rerank"]
