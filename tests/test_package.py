"""The wheel, installed where nothing is but what it asks for.

The environment is a real one, made without network: what the wheel requires is linked from the
environment of the tests, and nothing else is there.
"""

import importlib.metadata
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import deepbroad

ROOT = Path(deepbroad.__file__).parent.parent
# Compiling kernels again would take most of a minute; as plain Python a tiny fit takes none.
PLAIN = os.environ | {"NUMBA_DISABLE_JIT": "1"}
# What `import deepbroad` leaves alone: it must start at once, and work where these are missing.
# (scikit-learn itself imports pandas where that is installed.)
HEAVY = {"matplotlib", "dask", "distributed", "onnx", "typer", "rich", "click", "polars", "jinja2"}

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="only a checkout has what a wheel is made of"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel with the build system of this environment."""
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    out = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(out), str(ROOT)],
        check=True,
    )
    (built,) = out.glob("deepbroad-*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Return the folder of programs of a new environment that has the wheel and its needs."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    for name in required_distributions("deepbroad"):
        link_distribution(name, packages)
    options = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    python = folder / "bin" / "python"
    subprocess.run(
        [sys.executable, "-m", "pip", f"--python={python}", "install", *options, str(wheel)],
        check=True,
    )
    return folder / "bin"


def required_distributions(name):
    """Return the names of all that a distribution needs without extras, itself not among them."""
    found, waiting = set(), [name]
    while waiting:
        for line in importlib.metadata.requires(waiting.pop()) or []:
            requirement = Requirement(line)
            wanted = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if wanted and requirement.name not in found:
                found.add(requirement.name)
                waiting.append(requirement.name)
    return found


def link_distribution(name, packages):
    """Link what a distribution installed into another folder of packages."""
    distribution = importlib.metadata.distribution(name)
    for top in {Path(file).parts[0] for file in distribution.files} - {"..", "__pycache__"}:
        target = Path(distribution.locate_file(top))
        if target.exists() and not (packages / top).exists():
            (packages / top).symlink_to(target)


def run(environment, *command, **options):
    program, *arguments = command
    return subprocess.run(
        [str(environment / program), *arguments],
        env=PLAIN,
        capture_output=True,
        text=True,
        **options,
    )


def test_the_wheel_has_types_and_nothing_but_the_package(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "deepbroad/py.typed" in names
    assert "deepbroad/__init__.py" in names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"deepbroad", f"deepbroad-{deepbroad.__version__}.dist-info"}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "deepbroad").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert sources == {name for name in names if name.startswith("deepbroad/")}


def test_an_environment_without_extras_fits_saves_loads_and_predicts(environment, tmp_path):
    code = """
import sys, importlib.util
import deepbroad
assert "site-packages" in deepbroad.__file__, deepbroad.__file__
for name in ("matplotlib", "dask", "onnx", "pandas", "pytest"):
    assert importlib.util.find_spec(name) is None, name
X = [["sunny", 3.0], ["sunny", 1.0], ["rain", None], ["rain", 4.0]]
model = deepbroad.AnJEClassifier(n=2, n_jobs=1).fit(X, ["no", "yes", "yes", "no"])
deepbroad.save(model, "m.dbl")
same = deepbroad.load("m.dbl")
assert (same.predict_proba(X) == model.predict_proba(X)).all()
print(*same.predict(X))
print(len(deepbroad.export(model, to="json")["classes"]))
"""
    done = run(environment, "python", "-c", code, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["no", "yes", "yes", "no", "2"]


def test_an_environment_without_extras_has_the_command_line(environment):
    done = run(environment, "deepbroad", "--version")
    assert (done.returncode, done.stdout) == (0, f"deepbroad {deepbroad.__version__}\n")


def test_a_missing_extra_is_named(environment):
    code = """
import deepbroad
X = [["a", "p"], ["b", "q"]]
model = deepbroad.AnJEClassifier(n_jobs=1).fit(X, [0, 1])
for call in (
    lambda: deepbroad.export(model, to="onnx"),
    lambda: model.explain().plot(),
    lambda: model.explain(X).plot(),
):
    try:
        call()
    except ImportError as error:
        print(error)
"""
    done = run(environment, "python", "-c", code)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    for line, extra in zip(lines, ["onnx", "report", "report"], strict=True):
        assert f'pip install "deepbroad[{extra}]"' in line


def test_a_missing_extra_is_named_on_the_command_line(environment, tmp_path):
    (tmp_path / "t.csv").write_text("sky,play\nsunny,no\nrain,yes\n")
    command = ["fit", "t.csv", "--target", "play", "--scheduler", "tcp://nowhere:1"]
    done = run(environment, "deepbroad", *command, cwd=tmp_path)
    assert done.returncode == 1
    assert 'pip install "deepbroad[dask]"' in " ".join(done.stderr.split())


def test_importing_the_library_leaves_the_command_line_plots_and_dask_alone():
    code = "import deepbroad, deepbroad.datasets, deepbroad.measures"
    command = [sys.executable, "-X", "importtime", "-c", code]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    imported = {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in lines}
    assert {"deepbroad", "numpy"} <= imported
    assert not imported & HEAVY


def test_the_citation_has_the_version_of_the_package():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    assert f"version: {deepbroad.__version__}" in citation
