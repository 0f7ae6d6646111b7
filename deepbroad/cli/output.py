"""Files that commands write: checked before any work is done for them."""

from pathlib import Path


def check_output(out: Path | None, *inputs: Path) -> None:
    """Raise ValueError for a file that cannot be written, or that a command is to read.

    Parameters
    ----------
    out : Path or None
        None is the screen.
    *inputs : Path
        Files and folders that the command reads; "-" is a pipe.
    """
    if out is None:
        return
    if not out.parent.is_dir():
        raise ValueError(f"There is no folder {out.parent} to write {out.name} to; make it first.")
    if out.is_dir():
        raise ValueError(f"{out} is a folder; give --out the name of a file.")
    place = out.resolve()
    for given in inputs:
        source = given.resolve()
        if place == source or (source.is_dir() and source in place.parents):
            raise ValueError(
                f"--out {out} would write over what is read from {given}; give another file."
            )
