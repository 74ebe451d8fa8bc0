"""Imports of the modules of GPU plugins, with a check of their versions."""

import importlib
import re
import warnings

from .version import __version__ as jaxlib_version

_PLUGIN_MODULE_NAMES = {
    "cuda": ["jax_cuda13_plugin", "jax_cuda12_plugin"],
    "rocm": ["jax_rocm7_plugin", "jax_rocm60_plugin"],
}


def import_from_plugin(plugin_name, submodule_name, *, check_version=True):
    """Returns a plugin's module, or None where it is missing or of another version."""
    if plugin_name not in _PLUGIN_MODULE_NAMES:
        raise ValueError(f"Unknown plugin: {plugin_name}")
    return maybe_import_plugin_submodule(
        [f".{plugin_name}", *_PLUGIN_MODULE_NAMES[plugin_name]], submodule_name,
        check_version=check_version)


def _numbers(version):
    match = re.match(r"[0-9]+(?:\.[0-9]+)*", version)
    if match is None:
        raise ValueError(f"Unable to parse version string '{version}'")
    return tuple([int(x) for x in match.group(0).split(".")])


def check_plugin_version(plugin_name, jaxlib_version, plugin_version):
    """Returns whether the versions agree; warns if not. ROCm's plugins are not checked."""
    if any(name in plugin_name for name in _PLUGIN_MODULE_NAMES["rocm"]):
        return True
    if _numbers(jaxlib_version) == _numbers(plugin_version):
        return True
    warnings.warn(
        f"JAX plugin {plugin_name} version {plugin_version} is installed, but "
        "it is not compatible with the installed jaxlib version "
        f"{jaxlib_version}, so it will not be used.",
        RuntimeWarning,
    )
    return False


def _import(module):
    try:
        return importlib.import_module(module, package="jaxlib")
    except ImportError:
        return None


def maybe_import_plugin_submodule(plugin_module_names, submodule_name, *, check_version=True):
    """Returns the module of the first plugin that has it."""
    for name in plugin_module_names:
        module = _import(f"{name}.{submodule_name}")
        if module is None:
            continue
        version = getattr(_import(f"{name}.version"), "__version__", None)
        if not check_version or version is None:
            return module
        return module if check_plugin_version(name, jaxlib_version, version) else None
    return None
