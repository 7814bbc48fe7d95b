"""A run of killed_run in a folder, and what it leaves there."""
import os
import pathlib
import subprocess


class RunFolder:
    def __init__(self, program, library, path, epochs, samples):
        self.program, self.library, self.path = program, library, pathlib.Path(path)
        self.epochs, self.samples = epochs, samples
        self.path.mkdir()
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
        """The function that the fault hit; None if there were not so many calls."""
        return self.log().read_text() if self.log().exists() else None

    def checkpoints(self):
        return sorted((self.path / "checkpoints").glob("checkpoint-*.safetensors"))

    def is_half_written(self):
        return any((self.path / "checkpoints").glob("*.part"))

    def result(self):
        """Everything that must be the same in the end: weights, states and History, the lines of the callback."""
        return (self.checkpoints()[-1].read_bytes(), (self.path / "history.txt").read_bytes(),
                (self.path / "log.csv").read_bytes())
