from typer.testing import CliRunner

from excalibr.cli.application import application


def test_warmup_says_how_long_the_kernel_took() -> None:
    result = CliRunner().invoke(application, ["warmup"])
    assert result.exit_code == 0
    assert result.stdout.startswith("The kernel is ready after ")
