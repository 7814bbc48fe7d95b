# SPDX-License-Identifier: Apache-2.0
"""Running `pando` as a person or a script would, for the tests beside this file."""
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

# By its name, as a person who installed it does.
PATH_OF_PANDO = os.environ["PANDO"]
PANDO = "pando"
os.environ["PATH"] = os.path.dirname(PATH_OF_PANDO) + os.pathsep + os.environ["PATH"]
COMMANDS = ["train", "evaluate", "predict", "explain", "summary", "datasets", "devices", "bench", "doctor"]
GOLDEN = pathlib.Path(__file__).parent / "golden"
# What runs for seconds only: few images, and the smallest model.
QUICK = ["--dataset", "synthetic_digits", "--samples", "600", "--epochs", "2"]


def png(pixels, channels=1):
    """Rows of bytes as a PNG file."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", len(pixels[0]) // channels, len(pixels), 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + bytes(row) for row in pixels))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg(value, size=16):
    """A grey JPEG file, all of whose pixels have one value: blocks of 8 x 8, whose other coefficients are zero."""
    def segment(marker, data):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data
    blocks, bits, before = (-(-size // 8)) ** 2, "", 0
    for _ in range(blocks):
        difference, before = value - 128 - before, value - 128
        length = abs(difference).bit_length()
        coded = difference if difference > 0 else difference + (1 << length) - 1
        bits += f"{length:04b}" + (f"{coded:0{length}b}" if length else "") + "0"
    bits += "1" * (-len(bits) % 8)
    scan = b"".join(bytes([int(bits[i:i + 8], 2)]) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    return (b"\xff\xd8" + segment(0xdb, b"\0" + b"\x08" * 64) +
            segment(0xc0, struct.pack(">BHHBBBB", 8, size, size, 1, 1, 0x11, 0)) +
            segment(0xc4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) +
            segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + b"\0") + segment(0xda, b"\1\1\0\0\x3f\0") + scan + b"\xff\xd9")


class ProgramTest(unittest.TestCase):
    """Each test has a folder of its own, in which it runs, and a machine without data sets."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "LC_ALL": "C.UTF-8", "HOME": folder.name, "XDG_CACHE_HOME": folder.name + "/cache",
                            "PANDO_DATA": folder.name + "/data", "PANDO_MIRROR": "file:///nowhere", "TERM": "xterm"}

    def run_pando(self, *words, expect=0, environment=None, **options):
        """Its status must be `expect`, unless that is None; `environment` has variables for this run only."""
        result = subprocess.run([PANDO, *map(str, words)], cwd=self.folder,
                                env={**self.environment, **(environment or {})}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                                **options)
        if expect is not None:
            self.assertEqual(result.returncode, expect, result.stderr)
        return result

    def run_json(self, *words):
        return json.loads(self.run_pando(*words, "--json").stdout)

    def options_of(self, command):
        """As the help of the command lists them."""
        return re.findall(r"^  (?:-[a-zA-Z], )?(--[a-z-]+)", self.run_pando(*command, "--help").stdout, re.MULTILINE)

    def compare_with_golden(self, name, text):
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text)
        self.assertEqual(path.read_text(), text, f"{name}.txt: UPDATE_GOLDEN=1 writes it anew")

    def write_classes(self, folder, count=10, size=12, channels=1):
        """Images that are bright on the left, or on the right."""
        if not os.environ.get("PANDO_READS_PNG"):
            self.skipTest("pando was built without zlib")
        for name, bright in ("left", range(size // 2)), ("right", range(size // 2, size)):
            (self.folder / folder / name).mkdir(parents=True, exist_ok=True)
            for number in range(count):
                row = [200 + number if column in bright else number for column in range(size) for _ in range(channels)]
                (self.folder / folder / name / f"{number:02}.png").write_bytes(png([row] * size, channels))


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
