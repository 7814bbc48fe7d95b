# SPDX-License-Identifier: Apache-2.0
"""What differs from Keras 3 on purpose. The table in docs/python.md is made from ROWS: `differences.py --write` writes it.

A row names its cases, and what lines of the comparison it explains; a case that agrees, or differs otherwise, fails the suite.
"""
import fnmatch
import pathlib
import sys
import typing

_PAGE = pathlib.Path(__file__).parents[3] / "docs/python.md"
_BEGIN, _END = "<!-- peers: begin -->", "<!-- peers: end -->"


class Row(typing.NamedTuple):
    what: str
    keras: str
    pando: str
    cases: typing.List[str]
    # Words of which each line has some.
    lines: typing.List[str]


def _refused(what, cases, words, pando="refused", keras="has it"):
    """Pando raises an error with these words."""
    return Row(what, keras, pando, cases, words)


ROWS: typing.List[Row] = [
    # What Pando does not have, and says so.
    _refused("`data_format=\"channels_first\"` of layers", ["layers.*data_format=*"], ["data_format is 'channels_first'"],
             "refused: channels are last"),
    _refused("constraints of weights", ["layers.*_constraint=*"], ["_constraint"]),
    _refused("`activity_regularizer`", ["layers.*activity_regularizer=*"], ["activity_regularizer"],
             "refused: add the term in a loss function, or by `add_loss` in a layer"),
    _refused("`beta_regularizer` and `gamma_regularizer` of LayerNormalization",
             ["layers.LayerNormalization(beta_reg*", "layers.LayerNormalization(gamma_reg*"], ["_regularizer"]),
    _refused("the `axis` of BatchNormalization, LayerNormalization and losses",
             ["layers.BatchNormalization(axis=1)*", "layers.LayerNormalization(axis=[1, 2]) on [7, 4]",
              "losses.BinaryCrossentropy(axis=*", "losses.CategoricalCrossentropy(axis=*", "losses.CosineSimilarity(axis=*",
              "losses.binary_crossentropy(axis=*", "losses.categorical_crossentropy(axis=*", "losses.cosine_similarity(axis=*",
              "metrics.CategoricalCrossentropy(axis=*"], ["axis is"], "the last one; others are refused", "any"),
    _refused("`renorm` of BatchNormalization", ["layers.BatchNormalization(renorm=*"], ["renorm"]),
    _refused("`lora_rank`, `lora_alpha`", ["layers.*lora_*"], ["has no argument 'lora_"]),
    _refused("`mask_zero` of Embedding", ["layers.Embedding(mask_zero=*"], ["mask_zero"]),
    _refused("`noise_shape` of Dropout", ["layers.Dropout(noise_shape=*"], ["noise_shape"]),
    _refused("`output_padding` of Conv2DTranspose", ["layers.Conv2DTranspose(output_padding=*"], ["output_padding"]),
    _refused("`threshold` of ReLU and relu", ["layers.ReLU(threshold=*", "activations.relu(threshold=*"], ["threshold"]),
    _refused("joining tensors of different ranks", ["layers.Add() on [3, 4] and [4]"], ["do not broadcast"],
             "refused: reshape them first", "adds axes of size 1 in front"),
    _refused("random layers: a range that is not the same to both sides", ["layers.Random*factor=[-*"], ["the range is"]),
    _refused("random layers: `fill_mode=\"wrap\"`", ["layers.Random*fill_mode='wrap'*"], ["unknown fill_mode 'wrap'"]),
    _refused("random layers: `interpolation=\"nearest\"`", ["layers.Random*interpolation='nearest'*"], ["interpolation="]),
    _refused("`reduction=\"sum\"` of the losses that C++ computes",
             [f"losses.{name}(reduction='sum')" for name in (
                 "BinaryCrossentropy", "CategoricalCrossentropy", "Hinge", "Huber", "KLDivergence", "LogCosh",
                 "MeanAbsoluteError", "MeanSquaredError", "Poisson", "SparseCategoricalCrossentropy")],
             ["reduction='sum' is not in Pando"], "refused: multiply the learning rate instead"),
    _refused("`reduction=\"mean_with_sample_weight\"` of losses", ["losses.*(reduction='mean_with_sample_weight')"],
             ["reduction='mean_with_sample_weight' is not in Pando"]),
    _refused("`ignore_class`", ["losses.*ignore_class=*", "metrics.*ignore_class=*"], ["ignore_class"],
             "refused: give such samples a weight of 0"),
    _refused("`dtype` of losses and metrics other than float32", ["losses.*dtype=*", "metrics.*dtype=*"], ["dtype"]),
    _refused("`from_sorted_ids` of SparseTopKCategoricalAccuracy", ["metrics.*from_sorted_ids=*"], ["from_sorted_ids"]),
    _refused("`amsgrad`", ["optimizers.*amsgrad=*"], ["amsgrad is not in Pando"]),
    _refused("`use_ema` of optimizers", ["optimizers.*use_ema=*"], ["use_ema is not in Pando"]),
    _refused("`weight_decay` of optimizers other than AdamW",
             [f"optimizers.{name}(weight_decay=*" for name in ("Adagrad", "Adam", "Nadam", "RMSprop", "SGD")],
             ["weight_decay is not in Pando"], "refused: use AdamW or a regularizer"),
    _refused("`loss_scale_factor` of optimizers", ["optimizers.*loss_scale_factor=*"], ["loss_scale_factor"]),
    _refused("`gradient_accumulation_steps` of optimizers", ["optimizers.*gradient_accumulation_steps=*"],
             ["gradient_accumulation_steps"], "refused: `model.set_gradient_accumulation_options` has it"),
    _refused("`input_axes`, `output_axes` of initializers", ["initializers.*put_axes=*"], ["put_axes"]),
    _refused("`warmup_target` of CosineDecay", ["schedules.CosineDecay(warmup_target=*"], ["warmup_target"]),
    _refused("`cycle` of PolynomialDecay", ["schedules.PolynomialDecay(cycle=*"], ["cycle=True"]),
    _refused("`start_from_epoch` of EarlyStopping", ["callbacks.EarlyStopping(start_from_epoch=*"], ["start_from_epoch"]),
    _refused("`save_freq` of ModelCheckpoint", ["callbacks.ModelCheckpoint(save_freq=*"], ["saves once an epoch"],
             "refused: `fit(checkpoint_directory=..., checkpoint_every=...)` has it"),
    _refused("`weighted_metrics`", ["fit: weighted metrics"], ["weighted_metrics are not in Pando"]),
    _refused("`validation_freq`, `validation_batch_size`", ["fit: validation freq", "fit: validation batch size"],
             ["validation_freq=2 is not", "validation_batch_size is not"]),
    _refused("metrics with state of their own (`add_weight`)", ["fit: own metric classes"], ["have no state of their own"],
             "refused: a metric is the mean of one number for each sample"),
    _refused("a function as regularizer", ["fit: own initializers and regularizers"], ["is not a regularizer"]),
    # What Pando has and Keras does not.
    Row("`class_weight` and `sample_weight` at once", "refused", "multiplied, as in Keras 2",
        ["fit: class weights and sample weights"], ["only Keras has 'error'"]),
    # What computes something else.
    Row("hard_sigmoid", "relu6(x + 3) / 6", "0.2 x + 0.5, between 0 and 1, as in Keras 2",
        ["activations.hard_sigmoid()", "layers.Activation(activation='hard_sigmoid')*"], ["'"]),
    Row("AveragePooling2D with `padding=\"same\"`", "on PyTorch, counts pixels of the border twice",
        "counts only what is in the image, as in TensorFlow",
        ["layers.AveragePooling2D(padding='same', pool_size=[3, 2], strides=[1, 2])*"], ["'"]),
    Row("the kernel's name in DepthwiseConv2D", "`kernel`", "`depthwise_kernel`, as in Keras 2", ["layers.DepthwiseConv2D(*"],
        ["'weight names'"]),
    Row("RandomFlip with both directions", "both, or none", "each by itself, as in Keras 2",
        ["layers.RandomFlip() on *", "layers.RandomFlip(seed=3) on *"], ["about"]),
    Row("the defaults of regularizers.l1_l2", "0 and 0", "0.01 and 0.01, as in Keras 2",
        ["regularizers.l1_l2()", "regularizers.l1_l2(l1=0.2)", "regularizers.l1_l2(l2=0.2)"],
        ["'penalty'", "'loss", "'trained'"]),
    Row("functions of losses and metrics on targets with more than two axes", "a number for each row",
        "a number for each sample, the mean over its rows",
        [f"losses.{name}() of 3 x 5" for name in (
            "binary_crossentropy", "categorical_crossentropy", "hinge", "huber", "kl_divergence",
            "log_cosh", "mean_absolute_error", "mean_squared_error", "poisson", "sparse_categorical_crossentropy")]
        + [f"metrics.{name}() of 3 x 5" for name in (
            "categorical_accuracy", "mean_absolute_error", "mean_squared_error", "sparse_categorical_accuracy",
            "sparse_top_k_categorical_accuracy", "top_k_categorical_accuracy")], ["'values'"]),
    Row("BinaryCrossentropy of probabilities that are 0 or 1", "at most 16.1 for each", "at most 15.4 for each, as in Keras 2",
        ["losses.BinaryCrossentropy() at the edges", "losses.BinaryCrossentropy(label_smoothing=0.2) at the edges"],
        ["'value'", "'weighted'", "'losses'"]),
    Row("the function binary_accuracy", "a number for each element", "the mean of each sample, as in Keras 2",
        ["metrics.binary_accuracy(*"], ["'values'"]),
    Row("`optimizer.learning_rate` of a schedule", "the rate of the next update", "the schedule, as in Keras 2",
        ["optimizers.*(learning_rate=ExponentialDecay)"], ["'rate'"]),
    Row("`epsilon` of Adagrad, and of RMSprop without momentum", "is added to the square, in the root",
        "is added to the root, as in Keras 2: small gradients make larger steps",
        ["optimizers.Adagrad(epsilon=*", "optimizers.RMSprop(epsilon=*", "optimizers.RMSprop(learning_rate=*",
         "optimizers.RMSprop(clipnorm=*", "optimizers.RMSprop(global_clipnorm=*"],
        ["'stepped", "'trained", "'losses'"]),
    Row("the momentum of Nadam", "begins at half of beta_1 and grows by 0.96 ^ updates",
        "grows by 0.96 ^ (updates / 250), as in Keras 2", ["optimizers.Nadam(*"], ["'stepped", "'trained", "'losses'"]),
    Row("a metric function that returns one number for the batch", "each batch counts the same",
        "a batch counts as often as it has samples", ["fit: own metrics of one number"], ["'evaluated largest'"]),
    Row("validation with a generator", "sees the first batches each time", "goes on where the generator stopped, as in Keras 2",
        ["fit: generators"], ["'history val_loss'"]),
    Row("the rate in the history of LearningRateScheduler and ReduceLROnPlateau", "`learning_rate`", "`lr`, as in Keras 2",
        ["callbacks.LearningRateScheduler(*", "callbacks.ReduceLROnPlateau(*"], ["'names'"]),
]
# Cases that Keras itself refuses, at least on its torch backend. An error of Keras in any other case is a mistake of the
# suite.
REFUSED_BY_KERAS = [
    "*parse*ategorical*rossentropy(axis=1)", "layers.LayerNormalization(axis=[1, 2]) on [6, 5, 4]",
    "fit: class weights and sample weights", "fit: an index out of range", "fit: saving over what is there",
    "fit: validation data without targets",
]
# Cases of defects that are known and being worked on: the suite fails when one of them is right, so that it is taken off.
TO_BE_FIXED: typing.List[str] = []
# (name, argument) whose default is written in another way, or that a row names.
SAME_DEFAULTS = [("layers.BatchNormalization", "renorm"), ("layers.LeakyReLU", "negative_slope"),
                 ("regularizers.l1_l2", "l1"), ("regularizers.l1_l2", "l2")]


def matches(case, pattern):
    """Whether a case has such a name; * stands for any text, brackets for themselves."""
    return fnmatch.fnmatchcase(case, pattern.replace("[", "[[]"))


def rows_of(case):
    return [row for row in ROWS if any(matches(case, pattern) for pattern in row.cases)]


def is_among(case, patterns):
    return any(matches(case, pattern) for pattern in patterns)


def table():
    """The rows as Markdown."""
    lines = ["| what | Keras 3 | Pando |", "|---|---|---|"]
    return "\n".join(lines + [f"| {row.what} | {row.keras} | {row.pando} |" for row in ROWS])


def page(text):
    """The page with the table in it."""
    begin, end = text.index(_BEGIN) + len(_BEGIN), text.index(_END)
    return f"{text[:begin]}\n{table()}\n{text[end:]}"


if __name__ == "__main__":
    current = _PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv:
        _PAGE.write_text(page(current), encoding="utf-8")
    elif page(current) != current:
        sys.exit("docs/python.md: the table of what differs from Keras 3 is not that of python/tests/peers/differences.py; "
                 "run it with --write")
