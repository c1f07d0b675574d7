"""A folder of Python files that the operator names: every plugin class in it, by its name.

The files are the operator's, named on the command line; nothing is ever read as code through the
API. Each is loaded under a module name of its own, so that two folders may have a file of the
same name and nothing shadows an installed package.
"""

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

from fairlead.framework.stages import points_of


class PluginLoadError(Exception):
    """A plugin that cannot be had: one line with the file, and the line in it if there is one."""


def load_folder(folder: Path) -> dict[str, type]:
    """The plugin classes of all `.py` files in the folder, by plugin name."""
    if not folder.is_dir():
        raise PluginLoadError(f"{folder}: no such folder of plugins")
    found: dict[str, tuple[Path, type]] = {}
    for file in sorted(folder.glob("*.py")):
        for name, plugin in plugins_of(load(file), file):
            if name in found:
                raise PluginLoadError(
                    f"{file}: plugin {name!r} is in {found[name][0].name} already;"
                    " give one of them another name"
                )
            found[name] = file, plugin
    return {name: plugin for name, (_, plugin) in found.items()}


def plugin_points(folder: Path) -> dict[str, frozenset[str]]:
    """The extension points of each plugin in the folder."""
    return {name: points_of(plugin) for name, plugin in load_folder(folder).items()}


def with_folders(built_in: Mapping[str, type], folders: tuple[Path, ...]) -> dict[str, type]:
    """The built-in plugins and those of the folders; no name may stand for two."""
    known = dict(built_in)
    for folder in folders:
        for name, plugin in load_folder(folder).items():
            if name in known:
                where = "built in" if name in built_in else "in another folder"
                raise PluginLoadError(
                    f"{folder}: plugin {name!r} is {where} already; give it another name"
                )
            known[name] = plugin
    return known


def load(file: Path) -> ModuleType:
    """Run the file as a module of its own."""
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:12]
    module_name = f"fairlead_plugin_{digest}_{file.stem}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise PluginLoadError(f"{file}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as problem:
        del sys.modules[module_name]
        if isinstance(problem, KeyboardInterrupt):
            raise
        words = " ".join(f"{type(problem).__name__}: {problem}".split())
        raise PluginLoadError(f"{file}:{line_of(problem, file)}: {words}") from problem
    return module


def line_of(problem: BaseException, file: Path) -> int:
    """The line of the file at which an import went wrong."""
    if isinstance(problem, SyntaxError):
        return problem.lineno or 1
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(problem.__traceback__)
        if frame.filename == str(file) and frame.lineno
    ]
    return lines[-1] if lines else 1


def plugins_of(module: ModuleType, file: Path) -> Iterator[tuple[str, type]]:
    """The classes of the module that call themselves plugins: those with a `name`."""
    for plugin in vars(module).values():
        if not inspect.isclass(plugin) or plugin.__module__ != module.__name__:
            continue
        name = getattr(plugin, "name", None)
        if not isinstance(name, str):
            continue
        if not points_of(plugin):
            raise PluginLoadError(
                f"{file}:{line_of_class(plugin)}: class {plugin.__name__} has a name but no"
                " extension point; give it a method such as filter(pod, node, state)"
                " or score(pod, node, state)"
            )
        yield name, plugin


def line_of_class(plugin: type) -> int:
    """The line at which a class begins; 1 for one that no `class` statement made."""
    try:
        return inspect.getsourcelines(plugin)[1]
    except OSError:
        return 1
