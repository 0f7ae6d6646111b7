"""How kernels are compiled."""

import ast
from pathlib import Path

import deepbroad.kernels

KERNELS = Path(deepbroad.kernels.__file__).parent
PREFIX = "deepbroad.kernels."


def list_functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions of a module that are compiled, by name."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {node.name: node for node in functions if decorators_of(node) & {"jit", "inlined"}}


def decorators_of(function: ast.FunctionDef) -> set[str]:
    return {name.id for name in function.decorator_list if isinstance(name, ast.Name)}


def list_origins(module: str, tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return the module and name of each compiled function that a module can call by a name."""
    found = {name: (module, name) for name in list_functions(tree)}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PREFIX):
            theirs = str(node.module).removeprefix(PREFIX)
            found |= {alias.asname or alias.name: (theirs, alias.name) for alias in node.names}
    return found


def test_what_kernels_call_is_compiled_into_them():
    trees = {path.stem: ast.parse(path.read_text()) for path in sorted(KERNELS.glob("*.py"))}
    kernels = {
        (module, name): node
        for module, tree in trees.items()
        for name, node in list_functions(tree).items()
    }
    called = set()
    for (module, _), kernel in kernels.items():
        origins = list_origins(module, trees[module])
        for node in ast.walk(kernel):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                called.add(origins.get(node.func.id))
    assert called & set(kernels)
    for key, kernel in kernels.items():
        assert ("inlined" in decorators_of(kernel)) == (key in called), key
