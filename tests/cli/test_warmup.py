from typer.testing import CliRunner

from excalibr._cli.application import application


def test_warmup_is_hidden_and_does_nothing() -> None:
    result = CliRunner().invoke(application, ["warmup"])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "warmup" not in CliRunner().invoke(application, ["--help"]).stdout
