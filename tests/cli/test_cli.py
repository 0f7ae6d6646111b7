import subprocess
import sys

import pytest
from typer.testing import CliRunner

import deepbroad
from deepbroad.cli import app


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flatten(text):
    """Undo the wrapping of lines and panels, which depends on the width of the terminal."""
    return " ".join(text.replace("│", " ").split())


def test_version_is_the_package_version():
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"deepbroad {deepbroad.__version__}\n"


def test_the_package_runs_as_the_command():
    command = [sys.executable, "-m", "deepbroad"]
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"deepbroad {deepbroad.__version__}\n"
    wrong = subprocess.run([*command, "fitt"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert "Usage: python -m deepbroad" in wrong.stderr


def test_help_lists_the_commands():
    result = run("--help")
    assert result.exit_code == 0
    assert "demo" in result.output


def test_importing_the_command_line_leaves_plots_and_dask_alone():
    code = (
        "import sys, deepbroad.cli;"
        "print({'matplotlib', 'dask', 'distributed', 'onnx'} & sys.modules.keys())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_demo_prints_its_table_and_draws_its_picture(tmp_path):
    result = run("demo", "--rows", 2000, "--out", tmp_path / "new" / "folder")
    assert result.exit_code == 0, result.output
    for text in ("A1JE", "A2JE", "LR²", "DBL²", "100 trees", "RMSE", "log loss", "predict (s)"):
        assert text in result.output
    picture = tmp_path / "new" / "folder" / "convergence.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "convergence.png" in result.output.replace("\n", "")


def test_demo_without_matplotlib_still_prints_its_table(tmp_path, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    result = run("demo", "--rows", 1000, "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert "log loss" in result.output
    assert 'pip install "deepbroad[report]"' in flatten(result.output)
    assert not (tmp_path / "convergence.png").exists()


@pytest.mark.parametrize("rows", ["0", "999", "many"])
def test_demo_refuses_too_few_rows_in_a_sentence(rows):
    result = run("demo", "--rows", rows)
    assert result.exit_code == 2
    assert "Invalid value for '--rows'" in flatten(result.output)
    assert "Traceback" not in result.output


def test_demo_refuses_a_file_as_its_folder(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("demo", "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert "is a file" in flatten(result.output)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc takes no new folders, even of root")
def test_demo_knows_before_its_fits_that_its_folder_cannot_be_made(monkeypatch):
    # The name of the module is that of its command in the package.
    module = sys.modules["deepbroad.cli.demo"]
    monkeypatch.setattr(module, "_split_hands", lambda rows: pytest.fail("it began"))
    result = run("demo", "--out", "/proc/demo")
    assert result.exit_code == 1
    assert "Error: " in result.output
    assert "/proc/demo" in result.output
