"""Where kernels are kept if neither the package nor the user's home can be written to."""

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

import deepbroad
from deepbroad.kernels import cache_folder
from deepbroad.kernels.cache_folder import find_cache_folder, is_private
from deepbroad.kernels.jit import jit

PACKAGE = Path(deepbroad.__file__).parent
FIRST_USE = """
import numpy as np
from deepbroad import AnJEClassifier
AnJEClassifier(n=1).fit(np.array([["a"], ["b"]]), [0, 1])
"""


@pytest.fixture
def parent(tmp_path, monkeypatch):
    """Have a temporary folder of our own, and forget what was found in another."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    find_cache_folder.cache_clear()
    yield tmp_path
    find_cache_folder.cache_clear()


def own_name():
    return f"deepbroad-kernels-{os.getuid()}"


def mode_of(folder):
    return stat.S_IMODE(folder.stat().st_mode)


def test_the_folder_is_private_the_same_again_and_warned_of_once(parent):
    with pytest.warns(RuntimeWarning, match=rf"kept in .*{own_name()}\. Set NUMBA_CACHE_DIR"):
        folder = find_cache_folder()
    assert folder == parent / own_name()
    assert mode_of(folder) == 0o700
    assert find_cache_folder() == folder  # a second warning would be an error
    find_cache_folder.cache_clear()
    with pytest.warns(RuntimeWarning):
        assert find_cache_folder() == folder


def plant(kind, place, elsewhere):
    """Put something of that name where the folder is to be."""
    match kind:
        case "open folder":
            place.mkdir()
            place.chmod(0o777)
        case "link":
            elsewhere.mkdir(mode=0o700)
            place.symlink_to(elsewhere)
        case "broken link":
            place.symlink_to(elsewhere)
        case "file":
            place.write_text("")


@pytest.mark.parametrize("kind", ["open folder", "link", "broken link", "file"])
def test_what_others_may_have_planted_is_not_used(parent, kind):
    planted = parent / own_name()
    plant(kind, planted, parent / "elsewhere")
    with pytest.warns(RuntimeWarning):
        folder = find_cache_folder()
    assert folder.parent == parent
    assert folder.name not in (own_name(), "elsewhere")
    assert mode_of(folder) == 0o700


def test_a_folder_of_another_user_is_not_private(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    assert is_private(tmp_path)
    user = os.getuid()
    monkeypatch.setattr(cache_folder.os, "getuid", lambda: user + 1)
    assert not is_private(tmp_path)


@pytest.fixture
def uncacheable(monkeypatch):
    """Have Numba find a folder only where one is set."""
    njit = numba.njit

    def compile_there(*functions, cache=False, **options):
        if cache and not numba.config.CACHE_DIR:
            raise RuntimeError("cannot cache function 'f': no locator available for file 'f.py'")
        return njit(*functions, cache=cache, **options)

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(numba, "njit", compile_there)


def count_up(x):
    return x + 1


def test_without_any_folder_kernels_are_compiled_and_not_kept(parent, uncacheable, monkeypatch):
    def refuse():
        raise FileNotFoundError("no usable temporary directory")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with pytest.warns(RuntimeWarning, match="compiled in every process anew"):
        kernel = jit(count_up)
    assert kernel(1) == 2
    assert not list(parent.iterdir())


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_kernels_of_other_packages_stay_where_numba_keeps_them(parent, uncacheable):
    with pytest.warns(RuntimeWarning):
        kernel = jit(count_up)
    assert kernel(1) == 2
    assert list((parent / own_name()).rglob("*count_up*.nbc"))
    assert numba.config.CACHE_DIR == ""


def test_other_errors_of_numba_are_not_taken_for_a_missing_folder(monkeypatch):
    def fail(**_):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", fail)
    with pytest.raises(RuntimeError, match="something else"):
        jit(count_up)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_the_package_works_where_neither_it_nor_the_home_can_be_written_to(tmp_path):
    packages, temporary = tmp_path / "packages", tmp_path / "temporary"
    temporary.mkdir()
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, packages / "deepbroad", ignore=ignore)
    # Not even root can write below a file.
    (packages / "deepbroad" / "kernels" / "__pycache__").write_text("")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "XDG_"))}
    environment |= {"HOME": "/dev/null", "TMPDIR": str(temporary), "PYTHONPATH": str(packages)}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE],
        env=environment, cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert list((temporary / own_name()).rglob("*.nbc"))
