from pathlib import Path

import pytest

from excalibr._experiments import ExperimentResults, Source, movielens_source, run_experiment
from excalibr._experiments.study import Study, prepare
from tests.experiments.invented import movielens_folder, small_plan


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return movielens_folder(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def source(folder: Path) -> Source:
    return movielens_source(folder)


@pytest.fixture(scope="session")
def study(source: Source) -> Study:
    return prepare(source, small_plan())


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the experiment that ``results`` is of."""
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="session")
def results(source: Source, out: Path) -> ExperimentResults:
    return run_experiment(source, small_plan(), out)
