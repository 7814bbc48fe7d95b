# SPDX-License-Identifier: Apache-2.0
"""Training, testing and predicting with `pando`: transcripts, files, interrupts."""
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import signal
import struct
import subprocess
import termios
import time

from program import PANDO, PATH_OF_PANDO, QUICK, ProgramTest, main, png

SEQUENTIAL = {
    "class_name": "Sequential",
    "config": {"name": "mine", "layers": [
        {"class_name": "Flatten", "config": {"name": "flatten", "batch_input_shape": [None, 28, 28]}},
        {"class_name": "Rescaling", "config": {"name": "rescaling", "scale": 1 / 255, "offset": 0.0}},
        {"class_name": "Dense", "config": {"name": "dense", "units": 10, "activation": "linear"}}]}}


def masked(text):
    """Times, and numbers that another instruction set rounds differently."""
    text = re.sub(r"\d+[mu]?s/step", "T/step", re.sub(r"━ \d+s ", "━ Ts ", text))
    return re.sub(r"\d+\.\d+( %)?|\d\.\d+e-\d+", lambda found: "N" + (found[1] or ""), text)


class Training(ProgramTest):
    def test_in_a_pipe_is_plain_lines(self):
        result = self.run_pando("train", "keras-cnn", *QUICK, "--seed", "1", "--save", "digits")
        self.assertNotIn("\r", result.stderr)
        self.compare_with_golden("train", masked(result.stdout))
        self.compare_with_golden("train_progress", masked(result.stderr))

    def test_gives_the_same_numbers_for_the_same_seed(self):
        first, same, other = (self.run_pando("train", "mlp", *QUICK, "--seed", seed, "--quiet").stdout
                              for seed in ("3", "3", "4"))
        self.assertEqual(first, same)
        self.assertNotEqual(first, other)

    def test_names_the_program_as_it_was_called(self):
        result = subprocess.run([PATH_OF_PANDO, "train", "mlp", *QUICK, "--save", "digits"], cwd=self.folder,
                                env=self.environment, text=True, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        self.assertTrue(result.stderr.endswith(f"Try next:\n  {PATH_OF_PANDO} evaluate --model digits\n"
                                               f"  {PATH_OF_PANDO} predict --model digits 0 1 2\n"), result.stderr)

    def test_with_rounded_factors_learns_about_as_well(self):
        words = ["train", "lenet", *QUICK[:2], "--samples", "2000", "--epochs", "3", "--quiet"]
        exact = self.run_json(*words)["test"]["accuracy"]
        self.assertAlmostEqual(self.run_json(*words, "--precision", "mixed_bfloat16")["test"]["accuracy"], exact, delta=0.05)

    def test_gives_its_results_even_if_the_model_cannot_be_written(self):
        if os.environ.get("PANDO_THREAD_SANITIZER"):
            self.skipTest("the thread sanitizer maps files that are larger than the limit, and ends with SIGBUS")
        # SIGXFSZ is as a shell leaves it: it would end the program.
        result = self.run_pando("train", "mlp", *QUICK, "--save", "digits", expect=1,
                                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
        self.assertRegex(result.stdout, r"\ntest +\d\.\d{4} +\d+\.\d %\n")
        self.assertRegex(result.stderr, r"pando: .*weights.safetensors: cannot be written: File too large; .*\n$")

    def test_saves_through_no_link_at_a_temporary_name(self):
        victim, saved = pathlib.Path(self.folder, "victim"), pathlib.Path(self.folder, "linked")
        victim.write_text("mine")
        saved.mkdir()
        for name in "training.json.part", "training.json.12345678.part", "model.12345678.part":
            (saved / name).symlink_to("../victim")
        self.run_pando("train", "mlp", *QUICK, "--quiet", "--save", "linked")
        self.assertEqual(victim.read_text(), "mine")
        self.assertFalse((saved / "training.json").is_symlink())
        self.assertEqual(len(list(saved.iterdir())), 5)

    def test_learns(self):
        result = self.run_json("train", "mlp", *QUICK[:2], "--samples", "2000", "--epochs", "4", "--quiet")
        self.assertEqual((result["train_samples"], result["test_samples"]), (2000, 2000))
        self.assertEqual(len(result["history"]["loss"]), 4)
        self.assertGreater(result["test"]["accuracy"], 0.75)
        self.assertFalse(result["interrupted"])

    def test_says_everything_about_itself_to_scripts(self):
        words = ["train", "mlp", *QUICK, "--seed", "3", "--replicas", "2", "--report", "page.html", "--log-csv", "log.csv",
                 "-o", "digits"]
        result = self.run_json(*words, "-q")
        self.assertEqual(result["command"], "pando " + " ".join(words) + " -q --json")
        self.assertEqual(result["model"]["name"], "mlp")
        self.assertEqual(result["model"]["parameters"], 101770)
        self.assertEqual(result["model"]["input_shape"], [28, 28, 1])
        self.assertEqual(result["seed"], 3)
        self.assertAlmostEqual(result["learning_rate"], 0.001)
        self.assertEqual(result["division"], {"ipus": 2, "stages": 1, "replicas": 2, "gradient_accumulation_count": 1})
        options = result["options"]
        self.assertEqual((options["batch_size"], options["optimizer"], options["quiet"], options["profile"]),
                         (64, "adam", True, None))
        self.assertEqual(result["paths"], {"model": "digits", "report": "page.html", "log_csv": "log.csv"})

    def test_is_quiet_or_says_more(self):
        self.assertEqual(self.run_pando("train", "mlp", *QUICK, "-q", "-o", "a").stderr, "")
        text = self.run_pando("train", "mlp", *QUICK, "-v", "-o", "b").stderr
        self.assertIn("Total params: 101,770", text)
        self.assertIn("micro-batches of 64", text)
        self.assertLess(text.index("Total params"), text.index("Epoch 1/2"))

    def test_may_be_divided(self):
        for words in ["--replicas", "2"], ["--stages", "2", "--schedule", "sequential"], ["--ipus", "4", "--stages", "2"]:
            result = self.run_pando("train", "lenet", *QUICK[:2], "--samples", "100", "--epochs", "1",
                                    "--gradient-accumulation-count", "2", *words)
            self.assertIn("test ", result.stdout)

    def test_writes_what_it_is_asked_for(self):
        result = self.run_pando("train", "mlp", *QUICK, "--log-csv", "log.csv", "--profile", "timeline.html", "--report",
                                "page.html", "--checkpoint", "run")
        self.assertTrue(result.stderr.endswith(
            "The model is in run.\nThe page about the run is page.html.\nThe timeline is in timeline.html.\n"
            "The numbers of each epoch are in log.csv.\nThe checkpoints are in run.\nTry next:\n"
            "  pando evaluate --model run\n  pando predict --model run 0 1 2\n"), result.stderr)
        self.assertEqual((self.folder / "log.csv").read_text().splitlines()[0], "epoch,accuracy,loss")
        self.assertEqual(len((self.folder / "log.csv").read_text().splitlines()), 3)
        self.assertIn("<html", (self.folder / "timeline.html").read_text())
        self.assertIn("mlp on synthetic_digits", (self.folder / "page.html").read_text())

    def test_validates_after_each_epoch(self):
        part = self.run_pando("train", "mlp", *QUICK, "--validation-split", "0.25", "--log-csv", "log.csv", "--report",
                              "page.html", "-o", "a")
        self.assertTrue(part.stderr.startswith("mlp on synthetic_digits: 450 images in micro-batches of 64\n150 images "
                                               "for validation\n1 virtual IPU"), part.stderr)
        self.assertRegex(part.stderr, r"- val_accuracy: \d\.\d{4} - val_loss: \d\.\d{4}\n")
        self.assertRegex(part.stdout, r"\ntraining +\d\.\d{4} .*\nvalidation +\d\.\d{4} .*\ntest +\d\.\d{4} ")
        self.assertEqual((self.folder / "log.csv").read_text().splitlines()[0], "epoch,accuracy,loss,val_accuracy,val_loss")
        self.assertIn("val_loss", (self.folder / "page.html").read_text())
        # The test images of the same data set, so the last validation is the test.
        other = self.run_json("train", "mlp", *QUICK, "--validation-data", "synthetic_digits", "-q", "-o", "b")
        self.assertEqual((other["train_samples"], other["validation_samples"]), (600, 600))
        self.assertAlmostEqual(other["history"]["val_loss"][-1], other["test"]["loss"], places=5)

    def test_takes_a_model_of_ones_own(self):
        (self.folder / "mine.json").write_text(json.dumps(SEQUENTIAL))
        result = self.run_json("train", "mine.json", *QUICK, "--learning-rate", "0.01", "--save", "mine")
        self.assertGreater(result["test"]["accuracy"], 0.5)
        # Its outputs are logits; what is shown are probabilities.
        likely = self.run_json("predict", "--model", "mine", "0")["predictions"][0]["probabilities"]
        self.assertAlmostEqual(sum(likely.values()), 1, places=4)

    def test_goes_on_from_a_trained_model(self):
        self.run_pando("train", "mlp", *QUICK, "--save", "first")
        before = self.run_json("evaluate", "--model", "first", "--samples", "600")
        after = self.run_json("train", "first", *QUICK, "--save", "second")
        self.assertLess(after["test"]["loss"], before["loss"])

    def test_says_which_images_are_too_small(self):
        self.write_classes("tiny", size=4)
        self.assertEqual(self.run_pando("train", "lenet", "--dataset", "tiny", expect=1).stderr.splitlines()[-1],
                         "pando: lenet needs images of at least 12 x 12 pixels, but those of tiny have 4 x 4; use mlp, "
                         "or larger images")


class Terminal(ProgramTest):
    def written(self, columns, *words):
        """Everything that training writes to a terminal of this width."""
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        program = subprocess.Popen([PANDO, "train", *words, *QUICK], cwd=self.folder, env=self.environment,
                                   stdin=follower, stdout=follower, stderr=follower)
        os.close(follower)
        text = b""
        try:
            while piece := os.read(leader, 65536):
                text += piece
        except OSError:
            pass
        os.close(leader)
        self.assertEqual(program.wait(timeout=60), 0)
        return text.decode()

    def test_shows_what_a_person_reads(self):
        lines = self.written(80, "keras-cnn", "--seed", "1", "--save", "digits").split("\r\n")
        # A line is what was written over it last.
        drawn = "\n".join(line.split("\r")[-1].rstrip() for line in lines)
        shown = re.sub(r"\x1b\[[0-9;]*m", "", drawn)
        self.assertNotEqual(drawn, shown)
        self.compare_with_golden("train_terminal", masked(shown))

    def test_shows_no_colors_if_none_are_wanted(self):
        self.environment["NO_COLOR"] = "1"
        self.assertNotIn("\x1b", self.written(80, "mlp"))

    def test_has_the_look_of_keras_2_if_that_is_wanted(self):
        self.environment["PANDO_LOOK"] = "keras2"
        self.assertRegex(self.written(80, "mlp"), r"\r10/10 \[=+\] - \d+s \d+[mu]s/step - loss: \S+ - accuracy: \S+\r\n")
        self.environment["PANDO_LOOK"] = "keras"
        result = self.run_pando("train", "mlp", *QUICK, expect=1)
        self.assertIn("pando: PANDO_LOOK: unknown look 'keras'; did you mean 'keras2'?\n", result.stderr)

    def test_shows_a_bar_that_is_drawn_in_place(self):
        for columns in 80, 40:
            text = self.written(columns, "mlp", "--steps-per-execution", "1")
            rows = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;]*[mAK]", "", text))
            drawn = [line for line in rows if "━" in line]
            self.assertTrue(drawn, text)
            self.assertLess(max(map(len, drawn)), columns)
            self.assertIn("Epoch 2/2", text)
            self.assertRegex(text, r"test +\d\.\d{4} +\d+\.\d %")


class Streams(ProgramTest):
    def test_may_be_closed_by_their_readers(self):
        for streams in ["stdout"], ["stderr"], ["stdout", "stderr"]:
            reader, writer = os.pipe()
            os.close(reader)
            options = {name: writer if name in streams else subprocess.DEVNULL for name in ("stdout", "stderr")}
            program = subprocess.Popen([PANDO, "train", "mlp", *QUICK, "--save", "kept", "--overwrite"],
                                       cwd=self.folder,
                                       env=self.environment, **options)
            os.close(writer)
            self.assertEqual(program.wait(timeout=60), 0)
            self.run_pando("summary", "kept")

    def test_that_are_full_are_an_error(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([PANDO, "devices"], env=self.environment, stdout=full, stderr=subprocess.PIPE,
                                    text=True, timeout=60)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr, "pando: the results cannot be written to the standard output: No space left on "
                                        "device; write them to another place\n")


class Interrupts(ProgramTest):
    # Some seconds, an execution being a few milliseconds.
    LONG = ["train", "keras-cnn", "--dataset", "synthetic_digits", "--samples", "320", "--batch-size", "32",
            "--steps-per-execution", "5"]

    def interrupted(self, words, number, moment):
        """Runs until `moment` is shown, and then sends the signal."""
        program = subprocess.Popen([PANDO, *words], cwd=self.folder, env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        shown = ""
        while moment not in shown:
            line = program.stderr.readline()
            self.assertNotEqual(line, "", shown)
            shown += line
        program.send_signal(number)
        begin = time.monotonic()
        results, rest = program.communicate(timeout=60)
        self.assertLess(time.monotonic() - begin, 30)
        return program.returncode, results, shown + rest

    def test_end_training_after_the_execution(self):
        for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP:
            status, results, text = self.interrupted([*self.LONG, "--epochs", "100000"], number, "Epoch 2/")
            self.assertEqual(status, 130, text)
            self.assertIn("training ", results)
            self.assertTrue(text.endswith("Interrupted: the run cannot be resumed, because no checkpoint was kept; "
                                          "--checkpoint DIR keeps one.\n"), text)
            self.run_pando("summary", re.search(r"The model so far is in (\S+)\.\n", text)[1])

    def test_before_the_first_epoch_is_over_print_no_table(self):
        words = ["train", "keras-cnn", "--dataset", "synthetic_digits", "--samples", "60000", "--steps-per-execution", "1"]
        status, results, text = self.interrupted(words, signal.SIGINT, "Epoch 1/")
        self.assertEqual((status, results), (130, ""), text)

    def test_without_an_end_are_resumed_as_the_command_says(self):
        words = [*self.LONG, "--epochs", "100000", "--checkpoint", "run"]
        status, _, text = self.interrupted(words, signal.SIGINT, "Epoch 2/")
        self.assertEqual(status, 130, text)
        # As if the run had been killed before it could save its model.
        for path in (self.folder / "run").rglob("*"):
            if path.is_file() and not path.name.startswith("checkpoint-"):
                path.unlink()
        (self.folder / "run/model").rmdir()
        self.assertRegex(self.run_pando(*words, expect=1).stderr,
                         r"^pando: run has the checkpoints of a run, such as run/checkpoint-\d+\.safetensors; --resume goes "
                         r"on with it, --checkpoint DIR names another folder\n$")

    def test_with_checkpoints_lose_nothing(self):
        words = [*self.LONG, "--epochs", "12"]
        undisturbed = self.run_pando(*words, "--quiet").stdout
        status, _, text = self.interrupted([*words, "--checkpoint", "a run"], signal.SIGINT, "Epoch 3/")
        self.assertEqual(status, 130, text)
        line = f"pando {' '.join(words)} --checkpoint 'a run' --resume"
        self.assertTrue(text.endswith(f"To go on:\n  {line}\n"), text)
        self.run_pando("summary", "a run")
        resumed = subprocess.run(["sh", "-c", line], cwd=self.folder, text=True,
                                 env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertIn("Resuming from a run/checkpoint-", resumed.stderr)
        self.assertEqual(resumed.stdout, undisturbed)
        self.assertIn("Try next:\n  pando evaluate --model 'a run'\n", resumed.stderr)

    def test_that_goes_on_says_what_it_keeps(self):
        words = ["train", "mlp", *QUICK[:2], "--samples", "100", "--checkpoint", "kept"]
        self.run_pando(*words, "--epochs", "1", "--seed", "3", "--learning-rate", "0.01")
        text = self.run_pando(*words, "--epochs", "2", "--seed", "77", "--learning-rate", "0.5", "--resume").stderr
        self.assertIn("\nIt keeps the learning rate 0.01 of the checkpoint (not 0.5) and the random seed 3 of the "
                      "checkpoint (not 77).\n", text)

    def test_does_not_go_on_with_other_data_of_the_same_shape(self):
        self.write_classes("images")
        words = ["train", "mlp", "--dataset", "images", "--checkpoint", "kept"]
        self.run_pando(*words, "--epochs", "1")
        for image in (self.folder / "images" / "left").iterdir():
            image.write_bytes((self.folder / "images" / "right" / image.name).read_bytes())
        text = self.run_pando(*words, "--epochs", "2", "--resume", expect=1).stderr
        self.assertRegex(text, r"kept/checkpoint-00000001.safetensors is of another run: the data have other values ")


class Trained(ProgramTest):
    def test_models_are_tested_as_they_were(self):
        trained = self.run_json("train", "mlp", *QUICK, "--save", "digits")
        tested = self.run_json("evaluate", "--model", "digits", "--samples", "600")
        self.assertEqual(tested["accuracy"], trained["test"]["accuracy"])
        self.assertEqual(sum(one["samples"] for one in tested["classes"]), 600)
        self.assertEqual(sum(one["right"] for one in tested["classes"]), round(600 * tested["accuracy"]))
        for one in tested["classes"]:
            self.assertEqual(sum(one["taken_for"]), one["samples"])
        text = self.run_pando("evaluate", "--model", "digits", "--samples", "600", "--ipus", "2").stdout
        self.assertRegex(text, r"^600 images of synthetic_digits: loss \d\.\d{4}, accuracy \d+\.\d %\n\nclass ")
        self.assertEqual(len(text.splitlines()), 13)

    def test_models_say_what_is_on_images(self):
        self.run_pando("train", "mlp", *QUICK, "--save", "digits")
        text = self.run_pando("predict", "--model", "digits", "0", "7").stdout
        heading, *rows = text.splitlines()
        self.assertEqual(heading.split(), ["image", "label", "prediction", "probability", "then"])
        for number, row in zip((0, 7), rows, strict=True):
            self.assertRegex(row, rf"^ *{number} +\d +\d +\d+\.\d %  \d \d+\.\d %, \d \d+\.\d %$")
        rows = self.run_json("predict", "--model", "digits", "0", "1")["predictions"]
        self.assertEqual([row["image"] for row in rows], ["0", "1"])
        for row in rows:
            self.assertAlmostEqual(sum(row["probabilities"].values()), 1, places=4)
            self.assertEqual(row["prediction"], max(row["probabilities"], key=row["probabilities"].get))
        self.assertEqual(self.run_pando("predict", "--model", "digits", "10000", expect=1).stderr,
                         "pando: synthetic_digits has 10,000 images to test with, so that there is no image 10000; use "
                         "0 to 9999\n")

    def test_models_know_the_classes_of_a_folder(self):
        self.write_classes("photos")
        result = self.run_pando("train", "mlp", "--dataset", "photos", "--epochs", "20", "--save", "sides")
        self.assertTrue(result.stderr.startswith("photos has no test images: every fifth image of each class, 4 in all, "
                                                 "is used for the test.\n"), result.stderr)
        self.assertEqual(self.run_json("evaluate", "--model", "sides")["accuracy"], 1)
        # A colour image becomes grey.
        (self.folder / "colour.png").write_bytes(png([[0, 0, 0] * 6 + [250, 200, 220] * 6] * 12, 3))
        rows = self.run_json("predict", "--model", "sides", "colour.png", "photos/left/03.png")["predictions"]
        self.assertEqual([row["prediction"] for row in rows], ["right", "left"])
        (self.folder / "large.png").write_bytes(png([[0] * 13] * 12))
        self.assertEqual(self.run_pando("predict", "--model", "sides", "large.png").stderr,
                         "Resized to a height of 12 and a width of 12 pixels, as the model takes them: large.png.\n")
        (self.folder / "digits.txt").write_text("no images")
        for image, problem in [
                ("absent.png", "absent.png: the file was not found; give a PNG, JPEG or IDX file, or the number of an image"),
                ("digits.txt", "digits.txt: is not a PNG or JPEG image; convert it to one of them")]:
            self.assertEqual(self.run_pando("predict", "--model", "sides", image, expect=1).stderr,
                             f"pando: {problem}; --skip-bad leaves out what cannot be read\n")
            kept = self.run_pando("predict", "--model", "sides", image, "photos/left/03.png", "--skip-bad")
            self.assertIn("left", kept.stdout)
            self.assertEqual(kept.stderr, f"Left out, because they cannot be read:\n  {problem}\n")

    def test_models_read_idx_files(self):
        self.write_classes("photos")
        self.run_pando("train", "mlp", "--dataset", "photos", "--epochs", "20", "--save", "sides")
        images = bytes([0] * 6 + [255] * 6) * 12 + bytes([255] * 6 + [0] * 6) * 12
        (self.folder / "images").write_bytes(struct.pack(">BBBBIII", 0, 0, 8, 3, 2, 12, 12) + images)
        rows = self.run_json("predict", "--model", "sides", "images")["predictions"]
        self.assertEqual([(row["image"], row["prediction"]) for row in rows],
                         [("images:0", "right"), ("images:1", "left")])


class Bench(ProgramTest):
    def test_measures(self):
        result = self.run_json("bench", "mlp", "--batch-size", "8")
        self.assertGreater(result["peak_gflops"], 0)
        self.assertGreater(result["models"][0]["images_per_second"], 0)

    def test_keeps_what_explain_predicts_from(self):
        self.run_pando("bench", "mlp", "--batch-size", "8", "--tiles", "1")
        explained = self.run_json("explain", "mlp", "--batch-size", "8", "--tiles", "1", "--latency", "10", "--bandwidth", "2",
                                  "--workers", "2,1000")["scaling"]
        self.assertRegex(explained["compute_source"], "^measured by 'pando bench mlp' on ....-..-..$")
        self.assertEqual(explained["network_source"], "10.0 us, 2.00 GB/s, given")
        self.assertEqual([update["workers"] for update in explained["updates"]], [1, 2, 1000])
        times = [update["seconds"] for update in explained["updates"]]
        self.assertEqual(times, sorted(times))
        # Another batch size is guessed from the speed of this one.
        other = self.run_json("explain", "mlp", "--batch-size", "16", "--tiles", "1")["scaling"]
        self.assertIn("a guess", other["compute_source"])
        self.assertEqual(len(other["updates"]), 1)

    def test_of_the_network_needs_workers(self):
        result = self.run_pando("bench", "network", expect=1)
        self.assertIn("this process was started alone; start it with mpirun -n 2 pando bench network", result.stderr)


if __name__ == "__main__":
    main()
