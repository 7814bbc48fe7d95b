# SPDX-License-Identifier: Apache-2.0
"""A run of killed_run in a folder, and what it leaves there."""
import json
import os
import pathlib
import shutil
import subprocess

SAVED = ("model.json", "weights.safetensors")


def state(path):
    """A checkpoint without the random number of its run, and so without its sum."""
    content = path.read_bytes()
    length = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:length])
    for name in "run_id", "sha256":
        del header["__metadata__"][name]
    return json.dumps(header), content[length:]


class RunFolder:
    def __init__(self, program, library, path, epochs, samples):
        self.program, self.library, self.path = program, library, pathlib.Path(path)
        self.epochs, self.samples = epochs, samples
        # What another program left there is replaced, whole or not at all.
        (self.path / "saved").mkdir(parents=True)
        for name in SAVED:
            (self.path / "saved" / name).write_text("old")
        (self.path / "report.html").write_text("old")
        self.starts = 0

    def start(self, fault=None):
        """fault: "N KIND", see failing_io.cpp."""
        self.starts += 1
        self.log().unlink(missing_ok=True)
        environment = dict(os.environ)
        if fault:
            environment |= {"LD_PRELOAD": self.library, "PANDO_IO_FAULT": f"{fault} {self.log()}"}
        # Until there is a checkpoint, it must draw the same random numbers as the undisturbed run.
        seed = self.starts if self.checkpoints() else 1
        words = [self.program, str(self.path), str(seed), str(self.epochs), str(self.samples)]
        return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def log(self):
        return self.path / "fault.txt"

    def fault_hit(self):
        """The function that the fault hit, and the path; two times None if there were not that many calls."""
        return self.log().read_text().split(" ", 1) if self.log().exists() else (None, None)

    def checkpoints(self):
        return sorted((self.path / "checkpoints").glob("checkpoint-*.safetensors"))

    def leftovers(self):
        """What was not finished; the path of each within the folder."""
        return [str(path.relative_to(self.path)) for path in self.path.rglob("*.part*")]

    def saved(self):
        """The files of the model, and the report. A folder that is neither the old one nor the new one has other files."""
        names = sorted(path.name for path in (self.path / "saved").iterdir())
        return (names, [(self.path / "saved" / name).read_bytes() for name in names],
                (self.path / "report.html").read_bytes())

    def is_saved_whole(self, expected):
        """Whether the model and the report are each the old one or the new one."""
        names, contents, report = self.saved()
        return (names == list(SAVED) and contents in ([b"old"] * 2, expected[1]) and report in (b"old", expected[2]))

    def result(self):
        """Everything that must be the same in the end: weights, states and History, the lines of the callback."""
        return (state(self.checkpoints()[-1]), (self.path / "history.txt").read_bytes(),
                (self.path / "log.csv").read_bytes(), self.saved())

    def remove(self):
        shutil.rmtree(self.path)
