# SPDX-License-Identifier: Apache-2.0
"""Your own images and tables: every size and format, and what cannot be read is named, never left out without a word."""
import os

from program import ProgramTest, jpeg, main, png


class OwnImages(ProgramTest):
    def setUp(self):
        super().setUp()
        if not os.environ.get("PANDO_READS_JPEG"):
            self.skipTest("pando was built without zlib or libjpeg")
        # PNG and JPEG images of many sizes: dark ones and bright ones.
        for name, value in ("bright", 220), ("dark", 30):
            (self.folder / "photos" / name).mkdir(parents=True)
            for number in range(10):
                size, file = 10 + number, self.folder / "photos" / name / f"{number:02}"
                if number % 2 == 0:
                    file.with_suffix(".jpg").write_bytes(jpeg(value + number, size))
                else:
                    file.with_suffix(".png").write_bytes(png([[value + number] * size] * size))

    def train(self, *words, **options):
        return self.run_pando("train", "mlp", "--dataset", "photos", "--epochs", "40", "--learning-rate", "0.01", "-o",
                              "sides", *words, **options)

    def test_of_any_size_and_format_are_used(self):
        text = self.train().stderr
        self.assertIn("photos: 18 of 20 images are resized to a height of 15 and a width of 15 pixels.\n"
                      "--image-size HxW chooses another size.\n", text)
        self.assertIn("mlp on photos: 16 images in ", text)
        self.assertEqual(self.run_json("evaluate", "--model", "sides")["accuracy"], 1)
        (self.folder / "big.jpg").write_bytes(jpeg(210, 300))
        rows = self.run_json("predict", "--model", "sides", "big.jpg", "photos/dark/03.png")["predictions"]
        self.assertEqual([row["prediction"] for row in rows], ["bright", "dark"])

    def test_get_the_size_that_is_asked_for(self):
        result = self.run_json("train", "mlp", "--dataset", "photos", "--image-size", "8x12", "-q", "-o", "sides")
        self.assertEqual(result["sample_shape"], [8, 12, 1])
        self.assertEqual(self.run_json("evaluate", "--model", "sides")["sample_shape"], [8, 12, 1])

    def test_that_cannot_be_read_are_named_and_refused_or_left_out(self):
        (self.folder / "photos/dark/03.png").write_bytes(b"nothing")
        (self.folder / "photos/bright/02.jpg").write_bytes(jpeg(220, 40)[:-4])
        (self.folder / "photos/bright/x.webp").write_bytes(b"RIFF0000WEBP")
        error = self.train(expect=1).stderr
        self.assertEqual(error, "pando: photos/dark/03.png: is not a PNG or JPEG image; convert it to one of them (and 2 more "
                                "such); --skip-bad leaves out what cannot be read\n")
        self.assertFalse((self.folder / "sides").exists())
        text = self.train("--skip-bad").stderr
        self.assertIn("3 images of photos cannot be read and are left out:\n"
                      "  photos/dark/03.png: is not a PNG or JPEG image; convert it to one of them\n"
                      "  photos/bright/x.webp: is a WebP image; convert it to PNG or JPEG\n"
                      "  photos/bright/02.jpg: is not a whole JPEG image", text)
        self.assertEqual(len(self.run_json("evaluate", "--model", "sides", "--skip-bad")["skipped"]), 3)

    def test_of_another_folder_test_and_validate(self):
        for name, value in ("bright", 200), ("dark", 10):
            (self.folder / "more" / name).mkdir(parents=True)
            (self.folder / "more" / name / "1.png").write_bytes(png([[value] * 30] * 20))
        text = self.train("--validation-data", "more").stderr
        self.assertIn("16 images in micro-batches of 64\n2 images for validation\n", text)
        result = self.run_json("evaluate", "--model", "sides", "--dataset", "more")
        self.assertEqual((result["samples"], result["accuracy"]), (2, 1))
        (self.folder / "more/dark").rename(self.folder / "more/drak")
        self.assertEqual(self.run_pando("evaluate", "--model", "sides", "--dataset", "more", expect=1).stderr.splitlines()[-1],
                         "pando: more: unknown class 'drak'; did you mean 'dark'?")

    def test_have_company_that_is_told(self):
        (self.folder / "photos/dark/notes.txt").touch()
        self.assertIn("photos: what is not an image of a class is left out: photos/dark/notes.txt.\n", self.train().stderr)


class OwnTables(ProgramTest):
    def write_table(self, name="flowers.csv", rows=50, extra=""):
        lines = [f"{row % 7},{1000 * kind + row},{'abc'[kind]}" for row in range(rows) for kind in range(3)]
        (self.folder / name).write_text("width,height,kind\n" + "\n".join(lines) + "\n" + extra)

    def test_are_trained_on_tested_and_predicted(self):
        self.write_table()
        result = self.run_pando("train", "mlp", "--dataset", "flowers.csv", "--epochs", "30", "--validation-split", "0.2",
                                "-o", "flowers")
        self.assertTrue(result.stderr.startswith(
            "flowers.csv has no test rows: every fifth row of each class, 30 in all, is used for the test.\n"
            "mlp on flowers.csv: 96 rows in micro-batches of 64\n24 rows for validation\n"), result.stderr)
        self.assertEqual(self.run_json("evaluate", "--model", "flowers")["accuracy"], 1)
        # With the label, which is shown, or without.
        (self.folder / "new.csv").write_text("width,height,kind\n3,1010,b\n4,2020,c\n")
        self.assertRegex(self.run_pando("predict", "--model", "flowers", "new.csv").stdout,
                         r"^row +label +prediction .*\nnew.csv:0 +b +b .*\nnew.csv:1 +c +c ")
        (self.folder / "new.csv").write_text("width,height\n3,10\n")
        rows = self.run_json("predict", "--model", "flowers", "new.csv", "0")["predictions"]
        self.assertEqual([row["prediction"] for row in rows], ["a", "a"])
        (self.folder / "new.csv").write_text("width,depth\n3,10\n")
        self.assertEqual(self.run_pando("predict", "--model", "flowers", "new.csv", expect=1).stderr,
                         "pando: new.csv: has the columns width, depth, but the model was trained on width, height; give "
                         "those; --skip-bad leaves out what cannot be read\n")

    def test_may_name_the_column_of_classes(self):
        self.write_table()
        text = (self.folder / "flowers.csv").read_text().splitlines()
        (self.folder / "flowers.csv").write_text("\n".join(",".join(line.split(",")[::-1]) for line in text))
        result = self.run_json("train", "mlp", "--dataset", "flowers.csv", "--label", "kind", "-q", "-o", "flowers")
        self.assertEqual(result["model"]["classes"], ["a", "b", "c"])
        self.assertEqual(self.run_pando("train", "mlp", "--dataset", "flowers.csv", "--label", "kin", expect=1).stderr,
                         "pando: flowers.csv: unknown column 'kin'; did you mean 'kind'?\n")

    def test_with_rows_that_cannot_be_read_are_refused_or_used_without_them(self):
        self.write_table(extra="?,3,a\n")
        words = ["train", "mlp", "--dataset", "flowers.csv", "-o", "flowers"]
        problem = "flowers.csv: line 152: '?' in the column 'width' is not a number"
        self.assertEqual(self.run_pando(*words, expect=1).stderr,
                         f"pando: {problem}; --skip-bad leaves out what cannot be read\n")
        self.assertIn(f"1 row of flowers.csv cannot be read and is left out:\n  {problem}\n",
                      self.run_pando(*words, "--skip-bad").stderr)

    def test_with_a_column_of_words_are_refused_by_its_name(self):
        (self.folder / "flowers.csv").write_text("width,colour,kind\n1,red,a\n2,blue,b\n3,red,a\n")
        for words in [], ["--skip-bad"]:
            self.assertEqual(self.run_pando("train", "mlp", "--dataset", "flowers.csv", *words, expect=1).stderr,
                             "pando: flowers.csv: the column 'colour' holds words, such as 'red', and not numbers; replace them "
                             "by numbers, take the column out, or name it as that of the labels\n")

    def test_need_a_model_for_rows(self):
        self.write_table()
        self.assertEqual(self.run_pando("train", "lenet", "--dataset", "flowers.csv", expect=1).stderr.splitlines()[-1],
                         "pando: lenet takes images, but flowers.csv has rows of 2 numbers; use mlp, or your own model")


if __name__ == "__main__":
    main()
