# SPDX-License-Identifier: Apache-2.0
"""What `pando train` writes: no mistake, full disk or closed stream costs a run."""
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import time

from program import PANDO, PATH_OF_PANDO, QUICK, ProgramTest, main

TRAIN = ["train", "mlp", *QUICK]


class OutputTest(ProgramTest):
    def names(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))

    def assert_model(self, folder):
        self.run_pando("summary", folder)
        self.assertEqual([name for name in self.names() if name.endswith(".part")], [])

    def start(self, *words, **options):
        return subprocess.Popen([PANDO, *words], cwd=self.folder, env=self.environment, text=True,
                                stdin=subprocess.DEVNULL, **options)


class Refusals(OutputTest):
    def refused(self, *words, **options):
        """What is said before anything is trained or made."""
        before = self.names()
        result = self.run_pando(*TRAIN, *words, expect=1, **options)
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.names(), before)
        return result.stderr

    def test_come_before_training_for_each_output(self):
        (self.folder / "file").touch()
        (self.folder / "page.html").mkdir()
        (self.folder / "mine/model").mkdir(parents=True)
        (self.folder / "mine/model/notes").touch()
        give, check = "give a folder that can be made and written", "check its folder and permissions"
        for words, text in [
                (["--save", "file"], f"file: cannot be written: Not a directory; {give}"),
                (["--save", "file/model"], f"file/model: cannot be written: Not a directory; {give}"),
                (["--save", "mine"], "mine/model: holds 'notes', which would be lost; give the name of another folder"),
                (["--save", "mine", "--overwrite"],
                 "mine/model: holds 'notes', which would be lost; give the name of another folder"),
                (["--checkpoint", "file"], f"file: cannot be written: Not a directory; {give}"),
                (["--report", "page.html"], f"page.html: cannot be written: Is a directory; {check}"),
                (["--report", "away/page.html"],
                 f"away/page.html: cannot be written: No such file or directory; {check}"),
                (["--profile", "page.html"], f"page.html: cannot be written: Is a directory; {check}"),
                (["--profile", "away/trace.json"],
                 f"away/trace.json: cannot be written: No such file or directory; {check}"),
                (["--log-csv", "mine"], f"mine: cannot be written: Is a directory; {check}"),
                (["--log-csv", "away/log.csv"],
                 f"away/log.csv: cannot be written: No such file or directory; {check}")]:
            self.assertEqual(self.refused(*words), f"pando: {text}\n")

    def test_name_folders_that_may_not_be_written(self):
        (self.folder / "others").mkdir()
        options = {}
        if os.geteuid() == 0:
            # Root may write everywhere. The other user may not reach the program if it lies in root's home.
            shutil.copy(PATH_OF_PANDO, self.folder / "pando")
            options = {"user": 65534, "group": 65534, "extra_groups": [], "environment": {"PATH": str(self.folder)}}
            self.folder.chmod(0o755)
        else:
            (self.folder / "others").chmod(0o555)
        for words, text in [(["--save", "others/model"], "others/model: cannot be written: Permission denied"),
                            (["--checkpoint", "others/run"], "others/run: cannot be written: Permission denied"),
                            (["--report", "others/a.html"], "others/a.html: cannot be written: Permission denied"),
                            (["--profile", "others/a.json"], "others/a.json: cannot be written: Permission denied"),
                            (["--log-csv", "others/a.csv"], "others/a.csv: cannot be written: Permission denied")]:
            self.assertIn(text, self.refused(*words, **options))
        self.folder.chmod(0o555)
        self.assertEqual(self.refused(**options),
                         "pando: pando-runs: cannot be written: Permission denied; give a folder that can be made and "
                         "written; --save DIR names one for the trained model\n")
        self.folder.chmod(0o755)

    def test_keep_an_old_log(self):
        (self.folder / "log.csv").write_text("old\n")
        self.refused("--log-csv", "log.csv", "--report", "away/page.html")
        self.assertEqual((self.folder / "log.csv").read_text(), "old\n")


class Models(OutputTest):
    def test_are_not_replaced_unless_told(self):
        self.run_pando(*TRAIN, "--seed", "1", "--save", "kept")
        weights = self.folder / "kept/model/weights.safetensors"
        before = weights.read_bytes()
        result = self.run_pando(*TRAIN, "--seed", "2", "--save", "kept", expect=1)
        self.assertEqual((result.stdout, result.stderr),
                         ("", "pando: kept holds a trained model already; --save DIR names another folder, --overwrite "
                              "replaces it\n"))
        self.assertEqual(weights.read_bytes(), before)
        self.run_pando(*TRAIN, "--seed", "2", "--save", "kept", "--overwrite")
        self.assertNotEqual(weights.read_bytes(), before)

    def test_are_replaced_by_the_run_that_wrote_them_when_it_goes_on(self):
        words = [*TRAIN, "--save", "kept", "--checkpoint", "run"]
        self.run_pando(*words)
        self.assertIn("--resume goes on with its run, --overwrite replaces it\n", self.run_pando(*words, expect=1).stderr)
        before = (self.folder / "kept/model/weights.safetensors").read_bytes()
        # However the folder is named.
        self.run_pando(*TRAIN, "--epochs", "3", "--save", "kept", "--checkpoint", f"{self.folder}/./run", "--resume")
        self.assertNotEqual((self.folder / "kept/model/weights.safetensors").read_bytes(), before)
        # Of another run.
        result = self.run_pando(*TRAIN, "--save", "kept", "--checkpoint", "other", "--resume", expect=1)
        self.assertEqual(result.stderr, "pando: kept holds a trained model already; --save DIR names another folder, "
                                        "--overwrite replaces it\n")
        self.run_pando(*TRAIN, "--checkpoint", "other")
        self.run_pando(*TRAIN, "--epochs", "3", "--checkpoint", "other", "--resume")

    def test_go_to_a_new_folder_that_is_told(self):
        result = self.run_pando(*TRAIN)
        lines = re.fullmatch(r"The model is in (pando-runs/mlp-synthetic_digits-\d{8}-\d{6})\.\n"
                             r"Try next:\n  pando evaluate --model \1\n  pando predict --model \1 0 1 2\n",
                             "".join(result.stderr.splitlines(True)[-4:]))
        self.assertTrue(lines, result.stderr)
        self.assertGreater(self.run_json("evaluate", "--model", lines[1], "--samples", "100")["accuracy"], 0)
        saved = self.run_json(*TRAIN, "--quiet")["paths"]["model"]
        self.assertNotEqual(saved, lines[1])
        self.assert_model(saved)

    def test_of_runs_that_end_at_once_are_all_kept(self):
        programs = [self.start(*TRAIN, "--quiet", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
        self.assertEqual([program.wait(timeout=120) for program in programs], [0] * 4)
        self.assertEqual(len(list((self.folder / "pando-runs").iterdir())), 4)

    def test_that_are_of_no_use_are_told(self):
        result = self.run_pando(*TRAIN, "--learning-rate", "1e30", "--save", "lost", expect=3)
        self.assertRegex(result.stdout, r"\ntest +nan ")
        self.assertTrue(result.stderr.endswith("The loss is nan: the model is useless; try a smaller --learning-rate.\n"),
                        result.stderr)
        self.assert_model("lost")


class Failures(OutputTest):
    LONG = ["train", "mlp", *QUICK[:4], "--epochs", "60", "--save", "kept"]

    def run_and(self, disturb, *words, **streams):
        """Calls `disturb` while the model trains; `words` write the log that shows when that is."""
        log = self.folder / "epochs.csv"
        program = self.start(*self.LONG, *words, "--log-csv", log, **streams)
        while not log.exists() or log.read_text().count("\n") < 3:
            self.assertIsNone(program.poll())
            time.sleep(0.005)
        disturb()
        return program

    def test_of_pages_keep_the_model_and_the_results(self):
        (self.folder / "pages").mkdir()
        program = self.run_and(lambda: shutil.rmtree(self.folder / "pages"), "--profile", "pages/a.html", "--report",
                               "pages/b.html", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        results, text = program.communicate(timeout=120)
        self.assertEqual(program.returncode, 1, text)
        self.assertRegex(results, r"\ntest +\d\.\d{4} +\d+\.\d %\n")
        for page in "ab":
            self.assertRegex(text, rf"(?m)^pando: .*pages/{page}\.html'?: .*No such file or directory; ")
        self.assertTrue(text.endswith("The model is in kept.\n"), text)
        self.assert_model("kept")

    def test_of_logs_keep_the_training(self):
        result = self.run_pando(*TRAIN, "--log-csv", "/dev/full", "--save", "kept", "--checkpoint", "run", expect=1)
        problem = "CSVLogger: cannot write /dev/full: No space left on device; make room for it, or write it to another place"
        self.assertEqual(result.stderr.count(problem), 2)
        self.assertIn(f"\nWarning: {problem}. Training goes on; missing lines are tried again with the next.\n",
                      result.stderr)
        self.assertTrue(result.stderr.endswith(f"\npando: {problem}\nThe model is in kept.\n"), result.stderr)
        self.assertRegex(result.stdout, r"\ntest +\d\.\d{4} +\d+\.\d %\n")
        self.assert_model("kept")
        self.assertTrue(list((self.folder / "run").glob("checkpoint-*.safetensors")))

    def test_of_checkpoints_keep_the_training_whatever_standard_error_is(self):
        def remove():
            # Until no checkpoint is written in between.
            while (self.folder / "run").exists():
                shutil.rmtree(self.folder / "run", ignore_errors=True)

        reader, writer = os.pipe()
        os.close(reader)
        with open("/dev/full", "w") as full:
            for stream, after in (full, None), (writer, None), (subprocess.DEVNULL, lambda: os.close(2)):
                program = self.run_and(remove, "--checkpoint", "run", "--overwrite", stdout=subprocess.DEVNULL,
                                       stderr=stream, preexec_fn=after)
                self.assertEqual(program.wait(timeout=120), 0)
                self.assert_model("kept")
                (self.folder / "epochs.csv").unlink()
                shutil.rmtree(self.folder / "run", ignore_errors=True)
        os.close(writer)


class Limits(OutputTest):
    # Profiles are as large as the device has tiles.
    WORDS = [*TRAIN, "--tiles", "2", "--log-csv", "log.csv", "--checkpoint", "run", "--save", "kept", "--report", "page.html",
             "--profile", "trace.json"]

    def limited(self, kind, size, *words):
        result = subprocess.run([PANDO, *words], cwd=self.folder, env=self.environment, text=True, timeout=120,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=lambda: resource.setrlimit(kind, (size, size)))
        self.assertEqual([name for name in self.names() if name.endswith(".part")], [], size)
        return result

    def empty(self):
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def test_of_file_sizes_are_told(self):
        if os.environ.get("PANDO_THREAD_SANITIZER"):
            self.skipTest("the thread sanitizer maps files that are larger than the limit, and ends with SIGBUS")
        for size in 0, 10, 1_000, 10_000, 100_000, 1_000_000:
            result = self.limited(resource.RLIMIT_FSIZE, size, *self.WORDS)
            # The last is enough for all but the checkpoints, whose loss is a warning.
            self.assertEqual(result.returncode, int(size < 1_000_000), (size, result.stderr))
            self.assertIn("File too large; ", result.stderr)
            # The results are there, whatever else is not.
            self.assertRegex(result.stdout, r"\ntest +\d\.\d{4} +\d+\.\d %\n")
            self.empty()
        self.assertEqual(self.limited(resource.RLIMIT_FSIZE, 100_000_000, *self.WORDS).returncode, 0)

    def test_of_descriptors_are_told(self):
        for count in range(3, 12):
            result = self.limited(resource.RLIMIT_NOFILE, count, *self.WORDS)
            self.assertIn(result.returncode, (0, 1, 127), (count, result.stderr))
            self.empty()

    def test_of_option_values_are_named(self):
        for option in "--gradient-accumulation-count", "--batch-size", "--steps-per-execution":
            result = self.run_pando(*TRAIN, option, "4611686018427387904", expect=2)
            self.assertEqual(result.stderr.splitlines()[0],
                             f"pando train: {option} is '4611686018427387904' but must be a whole number from 1 to 1000000")
            self.run_pando(*TRAIN, option, "1000000", "--quiet")


class ClosedStreams(OutputTest):
    def test_do_not_become_files(self):
        words = [*TRAIN, "--log-csv", "log.csv", "--checkpoint", "run", "--report", "page.html", "--profile", "trace.json"]
        whole = self.folder / "whole"
        whole.mkdir()
        wanted = subprocess.run([PANDO, *words], cwd=whole, env=self.environment, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, check=True)
        for number, closed in enumerate([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]):
            folder = self.folder / str(number)
            folder.mkdir()
            result = subprocess.run([PANDO, *words], cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                                    preexec_fn=lambda: [os.close(descriptor) for descriptor in closed])
            # Results that cannot be written are an error.
            self.assertEqual(result.returncode, int(1 in closed), (closed, result.stderr))
            self.assertEqual(result.stdout, b"" if 1 in closed else wanted.stdout)
            if closed == (1,):
                self.assertTrue(result.stderr.endswith(b"pando: the results cannot be written to the standard output: Bad "
                                                       b"file descriptor; write them to another place\n"), result.stderr)
            for name in "log.csv", "run/model/weights.safetensors", "run/model/model.json":
                self.assertEqual((folder / name).read_bytes(), (whole / name).read_bytes(), (closed, name))
            json.loads((folder / "trace.json").read_text())
            self.assertTrue((folder / "page.html").read_text().startswith("<!DOCTYPE html>"))


if __name__ == "__main__":
    main()
