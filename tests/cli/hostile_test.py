# SPDX-License-Identifier: Apache-2.0
"""Names and files that somebody chose to do harm: terminals stay as they are, JSON stays JSON, errors name the field."""
import json
import os
import shutil
import subprocess
import unicodedata

from program import PANDO, QUICK, ProgramTest, main, png

# Sets the title and rings; clears the screen; begins a line; reverses the text; a C1 control; and no UTF-8 at all.
HOSTILE = [b"a\x1b]0;title\x07", b"b\x1b[2J\x1b[31m", b"c\nall good", "d\u202egnp".encode(), "e\u009b31m".encode(), b"f\xff"]
SHOWN = ["a\\x1b]0;title\\x07", "b\\x1b[2J\\x1b[31m", "c\\nall good", "d\\u202egnp", "e\\x9b31m", "f\\xff"]


def refuse_constant(word):
    raise ValueError(f"{word} is not JSON")


class Hostile(ProgramTest):
    def run_raw(self, *words):
        """Standard output and error as bytes, whatever the status."""
        result = subprocess.run([PANDO, *words], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=120)
        return result.stdout, result.stderr

    def assert_harmless(self, output):
        text = output.decode("utf-8")
        for character in text:
            harmless = character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp")
            self.assertTrue(harmless, f"{character!r} in {text!r}")
        return text

    def assert_json(self, output):
        """It is JSON in UTF-8 for Python, and for node where that is installed."""
        parsed = json.loads(output.decode("utf-8"), parse_constant=refuse_constant)
        if shutil.which("node"):
            script = "JSON.parse(require('fs').readFileSync(0, {encoding: 'utf8'}))"
            subprocess.run(["node", "-e", script], input=output, check=True, timeout=60)
        return parsed

    def write_hostile_classes(self):
        if not os.environ.get("PANDO_READS_PNG"):
            self.skipTest("pando was built without zlib")
        for number, name in enumerate(HOSTILE):
            folder = os.path.join(os.fsencode(self.folder), b"images", name)
            os.makedirs(folder)
            for image in range(10):
                row = [200 + image if column // 2 == number else image for column in range(12)]
                with open(os.path.join(folder, b"%d.png" % image), "wb") as file:
                    file.write(png([row] * 12))

    def test_class_names_do_nothing_to_a_terminal(self):
        self.write_hostile_classes()
        for words in (["train", "mlp", "--dataset", "images", "--epochs", "1", "--save", "trained"],
                      ["evaluate", "--model", "trained"], ["predict", "--model", "trained", "0", "1", "--top", "6"]):
            output, progress = self.run_raw(*words)
            text = self.assert_harmless(output)
            self.assert_harmless(progress.replace(b"\r", b""))
            if words[0] == "evaluate":
                lines = text.splitlines()
                for name in SHOWN[:-1]:
                    row = next(line for line in lines if line.startswith(name))
                    # All columns are where the heading has them.
                    heading = next(line for line in lines if line.startswith("class"))
                    self.assertEqual(row[:heading.index("images")].rstrip(), name)

    def test_json_is_json_whatever_the_names(self):
        self.write_hostile_classes()
        self.run_raw("train", "mlp", "--dataset", "images", "--epochs", "1", "--save", "trained")
        self.assert_json((self.folder / "trained" / "training.json").read_bytes())
        names = {name.decode("utf-8", "replace") for name in HOSTILE}
        evaluated = self.assert_json(self.run_raw("evaluate", "--model", "trained", "--json")[0])
        self.assertEqual({one["class"] for one in evaluated["classes"]}, names)
        predicted = self.assert_json(self.run_raw("predict", "--model", "trained", "0", "--json")[0])
        self.assertEqual(set(predicted["predictions"][0]["probabilities"]), names)

    def test_json_of_a_run_that_ends_in_nan_is_json(self):
        output, _ = self.run_raw("train", "mlp", *QUICK, "--learning-rate", "1e30", "--save", "trained", "--json")
        self.assertIn("null", output.decode())
        self.assert_json(output)

    def test_errors_do_nothing_to_a_terminal(self):
        for name, shown in zip(HOSTILE, SHOWN):
            for words in (["predict", "--model", name, "x"], ["train", name, *QUICK, "--save", "trained"],
                          ["train", "mlp", "--dataset", name, "--save", "trained"], [name], ["train", b"--" + name]):
                _, error = self.run_raw(*words)
                self.assertIn(shown, self.assert_harmless(error))

    def test_a_forged_training_file_is_refused_by_its_field(self):
        self.run_pando("train", "mlp", *QUICK, "--save", "trained")
        path = self.folder / "trained" / "training.json"
        right = json.loads(path.read_text())
        again = "; train the model again"
        sizes = "holds the size {}, but an image has sizes from 1 to 65536" + again
        for field, value, problem in (
                ("dataset", 7, "'dataset' is an integer but should be a string"),
                ("image", "28", "'image' is a string but should be a list"),
                ("image", [28], "'image' has 1 sizes, but an image has 2 or 3" + again),
                ("image", [1] * 9, "'image' has 9 sizes, but an image has 2 or 3" + again),
                ("image", [28, "28"], "'image' is a string but should be an integer"),
                ("image", [-28, -28], "'image' " + sizes.format(-28)),
                ("image", [28, 0], "'image' " + sizes.format(0)),
                ("image", [2**40, 2**40], "'image' " + sizes.format(2**40)),
                ("class_names", {}, "'class_names' is an object but should be a list"),
                ("class_names", [None], "'class_names' is null but should be a string")):
            path.write_text(json.dumps({**right, field: value}))
            for words in ("evaluate", "--model", "trained"), ("predict", "--model", "trained", "0"):
                error = self.run_pando(*words, expect=1).stderr
                self.assertEqual(error, f"pando: trained/training.json: {problem}\n")
        del right["image"]
        path.write_text(json.dumps(right))
        self.assertEqual(self.run_pando("evaluate", "--model", "trained", expect=1).stderr,
                         "pando: trained/training.json has no 'image'; train the model again\n")

    def test_a_command_line_to_copy_gives_the_same_bytes_again(self):
        name = b"out\x1b[31m'\\ \xff"
        _, told = self.run_raw("train", "mlp", *QUICK, "--save", name)
        line = next(line for line in self.assert_harmless(told).splitlines() if "evaluate --model" in line)
        word = line.split("--model ", 1)[1]
        self.assertEqual(subprocess.run(["bash", "-c", "printf %s " + word], capture_output=True).stdout, name)


if __name__ == "__main__":
    main()
