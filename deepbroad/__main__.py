"""`python -m deepbroad` is the command `deepbroad`."""

from deepbroad.cli import app

# Tests of examples import every module.
if __name__ == "__main__":
    app(prog_name="python -m deepbroad")
