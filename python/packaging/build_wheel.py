# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel: CMake compiles the extension, which holds the whole library, and the packages are put beside it.

pip calls the functions of PEP 517. There is a wheel for each version of Python, as pybind11 has no stable ABI.
"""
import io
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile

from wheel.wheelfile import WheelFile

ROOT = pathlib.Path(__file__).resolve().parents[2]
METADATA = """Metadata-Version: 2.1
Name: pando
Version: {version}
Summary: Trains and runs neural networks on virtual IPUs made of CPU cores and GPUs
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
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
    """What a wheel says about itself: its folder, and the texts of the files there."""
    version = _version()
    return f"pando-{version}.dist-info", {
        "METADATA": METADATA.format(version=version, readme=(ROOT / "README.md").read_text()),
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: pando {version}\nRoot-Is-Purelib: false\nTag: {_tag()}\n"}


def _compile(folder):
    """Builds the extension in the folder and returns its path."""
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DPANDO_UNITY_BUILD=ON", "-DPANDO_PYTHON=ON", "-DPANDO_BUNDLE_FMT=ON",
               f"-DPANDO_PYTHON_EXECUTABLE={sys.executable}"]
    options += [f"-DPANDO_BUILD_{part}=OFF" for part in ("TESTS", "CLI", "EXAMPLES", "BENCHMARKS")]
    options += os.environ.get("CMAKE_ARGS", "").split()
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "pando_python"], check=True)
    return next((folder / "python/pando").glob("_core.*.so"))


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes what the wheel will say about itself, which pip asks for first, and returns the folder."""
    folder, texts = _information()
    path = pathlib.Path(metadata_directory) / folder
    path.mkdir()
    for name, text in texts.items():
        (path / name).write_text(text)
    return folder


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel into the folder and returns its name."""
    extension = _compile(ROOT / "build/wheel")
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
