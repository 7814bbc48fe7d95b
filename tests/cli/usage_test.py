# SPDX-License-Identifier: Apache-2.0
"""Help, errors, completions and the manual page of `pando`: what is read before anything runs."""
import json
import shutil
import subprocess

from program import COMMANDS, PANDO, ProgramTest, main

WRONG = [
    ([], "pando: a command is missing\nusage: pando COMMAND [options]\nTry 'pando --help'.\n"),
    (["tran"], "pando: unknown command 'tran'; did you mean 'train'?\nusage: pando COMMAND [options]\n"
               "Try 'pando --help'.\n"),
    (["--verson"], "pando: unknown option '--verson'; did you mean '--version'?\nusage: pando COMMAND [options]\n"
                   "Try 'pando --help'.\n"),
    (["--completions", "csh"], "pando: --completions is 'csh' but must be bash, zsh or fish; did you mean 'zsh'?\n"
                               "usage: pando COMMAND [options]\nTry 'pando --help'.\n"),
]
WRONG_TRAIN = [
    (["mlp", "--backend", "cdua"], "--backend is 'cdua' but must be cpu, cuda or auto; did you mean 'cuda'?"),
    ([], "MODEL is missing"),
    (["mlp", "lenet"], "unexpected argument 'lenet'"),
    (["mlp", "--epoch", "3"], "unknown option '--epoch'; did you mean '--epochs'?"),
    (["mlp", "-e", "3"], "unknown option '-e'; known are: --dataset, --samples, --image-size, --label, --skip-bad, "
                         "--validation-split, --validation-data, --batch-size, --epochs, --optimizer, --learning-rate, "
                         "--precision, --seed, --ipus, --stages, --replicas, --schedule, --gradient-accumulation-count, "
                         "--reduction, --steps-per-execution, --tiles, --backend, --workers, --save, --overwrite, --checkpoint, --resume, "
                         "--report, --profile, --log-csv, --json, --quiet, --verbose"),
    (["mlp", "--epochs"], "--epochs needs a value: --epochs E"),
    (["mlp", "--epochs", "0"], "--epochs is '0' but must be a whole number of at least 1"),
    (["mlp", "--epochs=3x"], "--epochs is '3x' but must be a whole number of at least 1"),
    (["mlp", "--epochs="], "--epochs is '' but must be a whole number of at least 1"),
    (["mlp", "--epochs", "9999999999999999999"],
     "--epochs is '9999999999999999999' but must be a whole number of at least 1"),
    (["mlp", "--learning-rate", "0"], "--learning-rate is '0' but must be a number above 0"),
    (["mlp", "--learning-rate", "nan"], "--learning-rate is 'nan' but must be a number above 0"),
    (["mlp", "--optimizer", "adma"],
     "--optimizer is 'adma' but must be sgd, adam, adamw, nadam, rmsprop or adagrad; did you mean 'adam'?"),
    (["mlp", "--schedule", "x"], "--schedule is 'x' but must be grouped, interleaved or sequential"),
    (["mlp", "--json=yes"], "--json takes no value, but has 'yes'"),
    (["mlp", "--ipus", "5", "--stages", "2"], "--ipus 5 is not divided by --stages 2; use --ipus 4 or 6"),
    (["mlp", "--ipus", "1", "--replicas", "2"], "--ipus 1 is not divided by --replicas 2; use --ipus 2"),
    (["mlp", "--ipus", "6", "--stages", "2", "--replicas", "2"],
     "--ipus 6 is not --stages 2 x --replicas 2 = 4; leave one of the three out"),
    (["mlp", "--ipus", "5000"], "--ipus is 5000 but must be 1024 at most"),
    (["mlp", "--resume"], "--resume needs --checkpoint DIR, the folder that the run wrote its checkpoints to"),
    (["mlp", "--report", "page.pdf"], "--report is 'page.pdf' but must end in .html"),
    (["mlp", "--validation-split", "1"],
     "--validation-split is '1' but must be a number above 0 and below 1"),
    (["mlp", "--validation-split", "0.1", "--validation-data", "mnist"],
     "--validation-split and --validation-data both say what to validate with; leave one out"),
    (["mlp", "--dataset", "synthetic_digits", "--samples", "1", "--validation-split", "0.5"],
     "--validation-split 0.5 leaves 0 of 1 image to train on and 1 to validate with; use another part"),
    (["mlp", "-q", "-v"], "--quiet and --verbose contradict each other; leave one out"),
    (["mpl", "--dataset", "synthetic_digits", "--samples", "10"],
     "unknown model 'mpl'; did you mean 'mlp'? (a .json file and the folder of a trained model are models too)"),
    (["cnn", "--dataset", "synthetic_digits", "--samples", "10"],
     "unknown model 'cnn'; did you mean 'keras-cnn', 'fashion-cnn' or 'poptorch-cnn'? (a .json file and the folder of a "
     "trained model are models too)"),
    (["mlp", "--dataset", "mnits"],
     "unknown data set 'mnits'; did you mean 'mnist'? (and no folder or file has this name)"),
    (["mlp", "--dataset", "synthetic_digits", "--image-size", "32x32"],
     "--image-size is for your own images; leave it out for synthetic_digits"),
    (["mlp", "--dataset", "synthetic_digits", "--label", "y"],
     "--label is for your own CSV file; leave it out for synthetic_digits"),
    *((["mlp", "--image-size", size],
       f"--image-size is '{size}' but must be a height and a width of 1 to 4096, such as 64x64")
      for size in ("64", "64x", "x64", "0x5", "64x64x3", "64 x 64", "5000x5", "-1x5")),
    (["mlp", "--dataset", "synthetic_digits", "--samples", "10", "--stages", "50"],
     "--stages is 50, but the model 'mlp' has 4 layers, and every stage needs one; use 4 at most"),
    (["mlp", "--profile", "p.txt"], "--profile is 'p.txt' but must end in .html or .json"),
]
FAILS = [
    (["evaluate", "--model", "nowhere"],
     "pando: nowhere: holds no trained model; name the folder that 'pando train --save' or --checkpoint had\n"),
    # Longer than a file's name may be.
    (["evaluate", "--model", 300 * "a"],
     f"pando: {300 * 'a'}: holds no trained model; name the folder that 'pando train --save' or --checkpoint had\n"),
    (["datasets", "verify", "mnist"],
     "pando: mnist is not on this machine; 'pando datasets fetch mnist' gets it\n"),
    (["summary", "absent.json"], "pando: absent.json: cannot be read; check its name and permissions\n"),
]


class Help(ProgramTest):
    def test_fits_a_terminal_and_is_as_expected(self):
        for command in [[], *([name] for name in COMMANDS)]:
            text = self.run_pando(*command, "--help").stdout
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertIn("Examples:\n  pando ", text)
            self.compare_with_golden("_".join(["help", *command]), text)

    def test_is_given_however_it_is_asked_for(self):
        wanted = self.run_pando("train", "--help").stdout
        for words in ["help", "train"], ["train", "-h"], ["train", "mlp", "--epochs", "--help"]:
            self.assertEqual(self.run_pando(*words).stdout, wanted)
        self.assertEqual(self.run_pando("-h").stdout, self.run_pando("help").stdout)
        self.assertEqual(self.run_pando("-V").stdout, self.run_pando("--version").stdout)

    def test_names_every_command(self):
        text = self.run_pando("--help").stdout
        for command in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {command} ")

    def test_tells_the_version(self):
        self.assertRegex(self.run_pando("--version").stdout, r"^pando \d+\.\d+\.\d+\n$")


class Mistakes(ProgramTest):
    def test_in_the_command_line_are_explained(self):
        for words, text in WRONG:
            self.assertEqual(self.run_pando(*words, expect=2).stderr, text)
        for words, text in WRONG_TRAIN:
            result = self.run_pando("train", *words, expect=2)
            self.assertEqual(result.stderr,
                             f"pando train: {text}\nusage: pando train MODEL [options]\nTry 'pando train --help'.\n")
            self.assertEqual(result.stdout, "")

    def test_of_other_commands_are_explained(self):
        for words, text in [(["datasets", "fecth", "mnist"], "unknown action 'fecth'; did you mean 'fetch'?"),
                            (["datasets", "show"], "show needs the name of a data set, or a folder"),
                            (["datasets", "list", "mnist"], "unexpected argument 'mnist'"),
                            (["evaluate"], "--model is missing: --model DIR names the trained model"),
                            (["explain", "mlp", "--latency", "5"],
                             "--latency and --bandwidth describe a network together; give both"),
                            (["explain", "mlp", "--workers", "2,,4"],
                             "--workers '2,,4' is not a list of numbers from 1 to 1000000, such as 1,2,1000"),
                            (["predict", "0"], "--model is missing: --model DIR names the trained model"),
                            (["predict", "--model", "m"], "IMAGE... is missing"),
                            (["predict", "--model", "m", ""],
                             "an argument is empty; a variable of the shell may have no value"),
                            (["predict", "--model", "", "0"], "--model is '' but must be something")]:
            self.assertEqual(self.run_pando(*words, expect=2).stderr.splitlines()[0], f"pando {words[0]}: {text}")

    def test_in_names_have_the_same_exit_status_everywhere(self):
        digits = ["--dataset", "synthetic_digits"]
        for words in (["explain", "mpl", *digits], ["summary", "mpl", *digits], ["bench", "mpl", *digits],
                      ["explain", "mlp", "--dataset", "mnits"], ["datasets", "verify", "mnits"],
                      ["datasets", "fecth", "mnist"]):
            result = self.run_pando(*words, expect=2)
            self.assertRegex(result.stderr, rf"^pando {words[0]}: unknown .*did you mean")
            self.assertEqual(result.stdout, "")

    def test_that_only_running_shows_are_explained(self):
        for words, text in FAILS:
            self.assertEqual(self.run_pando(*words, expect=1).stderr, text)

    def test_that_have_no_effect_are_told(self):
        result = self.run_pando("explain", "mlp", "--schedule", "grouped")
        self.assertEqual(result.stderr, "--schedule has no effect without a pipeline; --stages 2 would make one.\n")
        result = self.run_pando("datasets", "--count", "3")
        self.assertEqual(result.stderr, "--count has no effect on list; it belongs to show.\n")


class Completions(ProgramTest):
    def test_know_every_command_and_option(self):
        for shell, form in ("bash", "{}"), ("zsh", "'{}"), ("fish", "-l {}"):
            text = self.run_pando("--completions", shell).stdout
            for command in COMMANDS:
                self.assertIn(command, text)
                for option in self.options_of([command]):
                    self.assertIn(form.format(option[2:] if shell == "fish" else option), text)

    def test_are_understood_by_the_shells(self):
        for shell in "bash", "zsh", "fish":
            if shutil.which(shell):
                (self.folder / shell).write_text(self.run_pando("--completions", shell).stdout)
                subprocess.run([shell, "-n", self.folder / shell], check=True)

    def complete(self, *words):
        """What bash offers for the last of the words."""
        script = f'source <("{PANDO}" --completions bash); compopt() {{ :; }}; COMP_WORDS=("$@"); ' \
                 'COMP_CWORD=$(($# - 1)); _pando; printf "%s\\n" "${COMPREPLY[@]}"'
        result = subprocess.run(["bash", "-c", script, "bash", "pando", *words], cwd=self.folder, text=True, check=True,
                                env=self.environment, stdout=subprocess.PIPE)
        names = result.stdout.split()
        # The words in their order; compgen gives files in any.
        known = [name for name in names if not (self.folder / name).exists()]
        return known + sorted(name for name in names if (self.folder / name).exists())

    def test_offer_what_fits(self):
        (self.folder / "photos").mkdir()
        (self.folder / "model.json").touch()
        self.assertEqual(self.complete("tr"), ["train"])
        self.assertEqual(self.complete("train", "--sched"), ["--schedule"])
        self.assertEqual(self.complete("train", "--schedule", ""), ["grouped", "interleaved", "sequential"])
        self.assertEqual(self.complete("train", "m"), ["mlp", "model.json"])
        self.assertEqual(self.complete("train", "--dataset", ""),
                         ["mnist", "fashion_mnist", "synthetic_digits", "model.json", "photos"])
        self.assertEqual(self.complete("train", "-o", ""), ["photos"])
        self.assertEqual(self.complete("datasets", ""), ["list", "fetch", "verify", "show"])
        self.assertEqual(self.complete("datasets", "fetch", ""),
                         ["mnist", "fashion_mnist", "synthetic_digits", "model.json", "photos"])
        self.assertEqual(self.complete("devices", ""), [])
        self.assertEqual(self.complete("train", "--epochs", ""), [])
        self.assertEqual(self.complete("--completions", "z"), ["zsh"])


class ManPage(ProgramTest):
    def test_has_every_command_and_option(self):
        text = self.run_pando("--man").stdout.replace("\\-", "-")
        for command in COMMANDS:
            self.assertIn(f".SS pando {command}", text)
            for option in self.options_of([command]):
                self.assertIn(f"\\fB{option}\\fR", text)

    def test_is_typeset_without_a_warning(self):
        if not shutil.which("groff"):
            self.skipTest("there is no groff")
        result = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=self.run_pando("--man").stdout, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        self.assertEqual(result.stderr, "")
        self.assertIn("keras-cnn", result.stdout)


class Doctor(ProgramTest):
    def test_says_what_works_here(self):
        result = self.run_pando("doctor")
        self.assertTrue(result.stdout.endswith("\nTraining works here.\n"), result.stdout)
        for subject in "processor", "cores", "memory", "instructions", "GPU", "zlib", "libjpeg", "mnist", "terminal":
            self.assertRegex(result.stdout, rf"(?m)^{subject} +(yes|no) ")
        self.assertIn("not on this machine; 'pando datasets fetch mnist' gets it", result.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_fails_where_training_would(self):
        (self.folder / "pando-runs").touch()
        result = self.run_pando("doctor", "--json", expect=1)
        answer = json.loads(result.stdout)
        self.assertFalse(answer["works"])
        bad = [finding["subject"] for finding in answer["findings"] if finding["needed"] and not finding["good"]]
        self.assertEqual(bad, ["working folder"])


class Information(ProgramTest):
    def test_about_devices(self):
        devices = self.run_json("devices", "--ipus", "3", "--tiles", "1")["devices"]
        self.assertEqual([device["name"] for device in devices], ["/device:CPU:0", "/device:IPU:0"])
        self.assertEqual((devices[1]["ipus"], devices[1]["tiles_per_ipu"]), (3, 1))
        text = self.run_pando("devices").stdout
        self.assertRegex(text, r"(?m)^/device:IPU:0 +1 ")
        self.assertRegex(text, r"\n\n.+: \d+ of \d+ cores may be used, \d.* of memory; .*\.\n$")
        machine = self.run_json("devices")
        self.assertLessEqual(machine["usable_cores"], machine["cores"])
        self.assertGreater(machine["usable_memory_bytes"], 0)

    def test_about_data_sets(self):
        sets = {one["name"]: one for one in self.run_json("datasets")["datasets"]}
        self.assertEqual(list(sets), ["mnist", "fashion_mnist", "synthetic_digits"])
        self.assertTrue(sets["synthetic_digits"]["available"])
        self.assertEqual(sets["mnist"]["folder"], None)
        self.assertEqual(sets["fashion_mnist"]["class_names"][9], "Ankle boot")
        self.assertRegex(self.run_pando("datasets").stdout, r"(?m)^mnist +60,000 +10,000 +28 x 28  not on this machine$")

    def test_about_a_model(self):
        self.assertIn("Total params: 61,706", self.run_pando("summary", "lenet").stdout)
        summary = self.run_json("summary", "lenet")
        self.assertEqual((summary["parameters"], summary["input_shape"]), (61706, [28, 28, 1]))
        self.assertIn({"name": "conv2d/kernel", "shape": [5, 5, 1, 6]},
                      [weight for layer in summary["layers"] for weight in layer["weights"]])
        self.assertEqual([layer["output_shape"] for layer in summary["layers"]][-2:], [[None, 84], [None, 10]])
        self.assertIn([None, 28, 28, 6], [layer["output_shape"] for layer in summary["layers"]])

    def test_about_a_run(self):
        words = ["explain", "keras-cnn", "--stages", "2", "--ipus", "4", "--schedule", "interleaved"]
        self.assertIn("4 IPUs = 2 replicas x 2 stages", self.run_pando(*words).stdout)
        run = json.loads(self.run_pando(*words, "--json").stdout)
        self.assertEqual((run["ipus"], run["replicas"], run["gradient_accumulation"]), (4, 2, 8))
        self.assertEqual(run["schedule"]["name"].lower(), "interleaved")
        sgd = ["--optimizer", "sgd", "--json"]
        for reduction, factor in [([], 16), (["--reduction", "sum"], 16), (["--reduction", "mean"], 1)]:
            run = json.loads(self.run_pando(*words, *sgd, *reduction).stdout)
            self.assertEqual(run["reduction"], reduction[1] if reduction else "sum")
            self.assertAlmostEqual(run["effective_learning_rate"], factor * run["learning_rate"])

    def test_is_a_picture_of_images(self):
        self.run_pando("datasets", "show", "synthetic_digits", "--output", "digits.svg", "--count", "4")
        self.assertIn("<svg", (self.folder / "digits.svg").read_text())


if __name__ == "__main__":
    main()
