# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: CMake compiles the extension, which holds the whole library, and the packages are put beside it.

pip calls the functions of PEP 517. There is a wheel for each version of Python, as pybind11 has no stable ABI.
"""
import importlib.util
import io
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/wheel"
METADATA = """Metadata-Version: 2.1
Name: pando
Version: {version}
Summary: Trains and runs neural networks on virtual IPUs made of CPU cores and GPUs
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy<{numpy_before}
Description-Content-Type: text/markdown

{readme}"""


def _version():
    text = (ROOT / "include/pando/version.h").read_text()
    return ".".join(re.search(rf"VERSION_{part} (\d+)", text)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def _tag():
    python = "cp{}{}".format(*sys.version_info)
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}-{platform}"


def _information():
    """What a wheel says about itself: its folder, and the texts of the files there. CMake has configured the build."""
    version = _version()
    cache = (BUILD / "CMakeCache.txt").read_text()
    # An extension that cannot read the arrays of a newer NumPy must not be installed beside it.
    numpy_before = re.search(r"^PANDO_NUMPY_BEFORE:\w+=(\d+)", cache, re.MULTILINE)[1]
    return f"pando-{version}.dist-info", {
        "METADATA": METADATA.format(version=version, numpy_before=numpy_before, readme=(ROOT / "README.md").read_text()),
        "entry_points.txt": (ROOT / "python/packaging/entry_points.txt").read_text(),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: pando {version}\nRoot-Is-Purelib: false\nTag: {_tag()}\n"}


def _options():
    """More options for CMake, from the user."""
    return shlex.split(os.environ.get("CMAKE_ARGS", ""))


def _has_cmake():
    try:
        text = subprocess.run(["cmake", "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return False
    return tuple(map(int, re.search(r"(\d+)\.(\d+)", text).groups())) >= (3, 25)


def _check_tools():
    """Ends with what is missing and where it comes from, instead of CMake's pages about it."""
    for found, what, package in ((_has_cmake(), "CMake 3.25 or newer", "cmake"),
                                 (shutil.which("ninja"), "Ninja", "ninja-build"),
                                 (importlib.util.find_spec("wheel"), "the Python package wheel", "python3-wheel")):
        if not found:
            raise SystemExit(f"pando: cannot find {what}; install it (Debian: apt install {package}), or leave it to pip by "
                             "calling it without --no-build-isolation")
    named = os.environ.get("CXX", "").split()[:1]
    if not any(option.startswith("-DCMAKE_CXX_COMPILER") for option in _options()) and \
            not any(map(shutil.which, named or ["c++", "g++", "clang++"])):
        raise SystemExit(f"pando: cannot find {' '.join(named) or 'a C++ compiler'}; install one (Debian: apt install g++), "
                         "or name one in the environment variable CXX")


def _pybind11():
    """The option that names the pybind11 that Python has, if it has one; CMake finds Debian's by itself.

    pip unpacks it into a folder of a new name each time. In a folder that stays, its headers are the same files to the
    compiler's cache and to Ninja.
    """
    try:
        import pybind11
    except ImportError:
        return []
    package = pathlib.Path(pybind11.__file__).parent
    if not (package / "share/cmake").is_dir():
        return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]
    copy = BUILD / f"pybind11-{pybind11.__version__}"
    if not copy.is_dir():
        unfinished = BUILD / "pybind11.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.copytree(package, unfinished)
        unfinished.rename(copy)
    return [f"-Dpybind11_DIR={copy / 'share/cmake/pybind11'}"]


def _run_cmake(what, *arguments):
    if subprocess.run(["cmake", *arguments]).returncode != 0:
        raise SystemExit(f"pando: CMake could not {what} Pando; what it says above is the cause")


def _configure():
    """Prepares the build anew, as the interpreter, its pybind11 and CMake may be others than the last time."""
    _check_tools()
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DPANDO_UNITY_BUILD=ON", "-DPANDO_PYTHON=ON", "-DPANDO_BUNDLE_FMT=ON",
               "-DPANDO_WITH_MPI=OFF", f"-DPANDO_PYTHON_EXECUTABLE={sys.executable}", *_pybind11(),
               # Without symbols, and with C++'s own libraries in it, it needs those of no machine.
               "-DCMAKE_MODULE_LINKER_FLAGS=-s -static-libstdc++ -static-libgcc"]
    options += [f"-DPANDO_BUILD_{part}=OFF" for part in ("TESTS", "CLI", "EXAMPLES", "BENCHMARKS")]
    _run_cmake("configure", "--fresh", "-S", ROOT, "-B", BUILD, "-G", "Ninja", *options, *_options())


def _compile():
    """Builds the extension and returns its path."""
    _run_cmake("build", "--build", BUILD, "--target", "pando_python")
    return BUILD / "python/pando" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"


def get_requires_for_build_wheel(config_settings=None):
    """What pip puts beside `requires` of pyproject.toml before it builds: what this machine lacks and the index has."""
    return ([] if _has_cmake() else ["cmake>=3.25"]) + ([] if shutil.which("ninja") else ["ninja"])


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes what the wheel will say about itself, which pip asks for first, and returns the folder."""
    _configure()
    folder, texts = _information()
    path = pathlib.Path(metadata_directory) / folder
    path.mkdir()
    for name, text in texts.items():
        (path / name).write_text(text)
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into the folder and returns its name."""
    if metadata_directory is None:
        _configure()
    # Not before the check that it is there.
    from wheel.wheelfile import WheelFile
    extension = _compile()
    name = f"pando-{_version()}-{_tag()}.whl"
    with WheelFile(os.path.join(wheel_directory, name), "w") as wheel:
        for path in sorted((ROOT / "python/pando").rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                wheel.write(str(path), str(path.relative_to(ROOT / "python")))
        wheel.write(str(extension), f"pando/{extension.name}")
        folder, texts = _information()
        for file, text in texts.items():
            wheel.writestr(f"{folder}/{file}", text)
        wheel.write(str(ROOT / "LICENSE"), f"{folder}/LICENSE")
    return name


def build_sdist(sdist_directory, config_settings=None):
    """Writes an archive of all files that git knows into the folder and returns its name."""
    base = f"pando-{_version()}"
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with tarfile.open(os.path.join(sdist_directory, f"{base}.tar.gz"), "w:gz") as archive:
        for file in files.split("\0")[:-1]:
            archive.add(ROOT / file, f"{base}/{file}")
        info = tarfile.TarInfo(f"{base}/PKG-INFO")
        text = METADATA.format(version=_version(), readme="").encode()
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
    return f"{base}.tar.gz"
