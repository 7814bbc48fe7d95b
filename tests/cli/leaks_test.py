# SPDX-License-Identifier: Apache-2.0
"""Every command once, for the address sanitizer, which ends a process with an error if it leaks memory."""
from program import COMMANDS, QUICK, ProgramTest, main


class Commands(ProgramTest):
    def test_free_what_they_allocate(self):
        self.write_classes("images")
        runs = {"train": ["lenet", *QUICK, "--replicas", "2", "--save", "digits", "--report", "page.html", "--profile",
                          "timeline.html"],
                "evaluate": ["--model", "digits", "--samples", "600"],
                "predict": ["--model", "digits", "0", "images/left/03.png"],
                "explain": ["lenet"],
                "summary": ["digits"],
                "datasets": [],
                "devices": [],
                "bench": ["mlp", "--batch-size", "8"],
                "doctor": []}
        self.assertEqual(list(runs), COMMANDS)
        for command, words in runs.items():
            with self.subTest(command):
                self.run_pando(command, *words)

    def test_free_it_after_a_mistake(self):
        for words, status in (["train", "mlp", "--lerning-rate", "1"], 2), (["train", "mlp"], 1):
            # Without data sets. A leak has the status 1 too.
            self.assertNotIn("LeakSanitizer", self.run_pando(*words, expect=status).stderr)


if __name__ == "__main__":
    main()
