"""The paper's experiment, from ratings to figures and tables, on MovieLens or on data of one's own.

``run_experiment`` does the work, ``write_files`` shows it; the command ``excalibr experiment`` adds options and a bar.
"""

from excalibr._experiments.own_tables import Columns
from excalibr._experiments.plan import Plan, Setting
from excalibr._experiments.report import write_files, write_page
from excalibr._experiments.run import ExperimentResults, run_experiment
from excalibr._experiments.sources import Source, movielens_source, table_source

__all__ = ["Columns", "ExperimentResults", "Plan", "Setting", "Source", "movielens_source", "run_experiment"]
__all__ += ["table_source", "write_files", "write_page"]
