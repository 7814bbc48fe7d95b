# SPDX-License-Identifier: Apache-2.0
"""Tutorials of Keras and of sessions on IPUs, in the form their users write them, each in a Python of its own; and, where
they are beside the project, the documents themselves, unchanged. scripts/test_documents.sh runs these with all data."""
import re

import documents
import pytest
from conftest import needs_mnist

from pando import _core

pytestmark = needs_mnist

KERAS = '''
import tensorflow as tf
from tensorflow import keras
from tensorflow.python import ipu

if tf.__version__[0] != "2":
    raise ImportError("TensorFlow 2 is required")
(x, y), _ = keras.datasets.mnist.load_data()
x = x / 255.0
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10000).batch(32, drop_remainder=True)
ds = ds.map(lambda d, l: (tf.cast(d, tf.float32), tf.cast(l, tf.float32))).repeat()
cfg = ipu.config.IPUConfig()
cfg.auto_select_ipus = 1
cfg.configure_ipu_system()
with ipu.ipu_strategy.IPUStrategy().scope():
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(128, activation="relu"),
                              keras.layers.Dense(10, activation="softmax")])
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(), optimizer=keras.optimizers.SGD(),
                  steps_per_execution=100)
    model.fit(ds, steps_per_epoch=200, epochs=2)
'''

SESSION = '''
import tensorflow.compat.v1 as tf
from tensorflow.python import ipu

(x, y), _ = tf.keras.datasets.mnist.load_data()
x, y = x.astype("float32") / 255, y.astype("int32")
dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(32, drop_remainder=True)
iterator = dataset.make_initializable_iterator()
conv = tf.keras.layers.Conv2D(filters=8, kernel_size=(3, 3), strides=(1, 1), padding="same", activation=tf.nn.relu,
                              data_format="channels_last")
model = tf.keras.Sequential([tf.keras.layers.Reshape((28, 28, 1)), conv, conv, tf.keras.layers.Flatten(),
                             tf.keras.layers.Dense(10)])
config = ipu.utils.auto_select_ipus(opts=ipu.utils.create_ipu_config(), num_ipus=1)
ipu.utils.configure_ipu_system(config=config)

def body(x, y):
    loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=model(x, training=True))
    return([loss, tf.train.AdamOptimizer(learning_rate=0.01).minimize(loss=loss)])

(a, b) = iterator.get_next()
with ipu.scopes.ipu_scope("/device:IPU:0"):
    step = ipu.ipu_compiler.compile(computation=body, inputs=[a, b])
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(iterator.initializer)
    for epoch in range(2):
        total = 0.0
        for batch in range(60):
            total += sess.run(step)[0]
        print("Loss:", total / 60)
print("Parameters:", model.count_params())
'''


def run(run_python, tmp_path, text, samples="6000", **arguments):
    script = tmp_path / "script.py"
    script.write_text(text)
    return run_python("-m", "pando", str(script), MPLBACKEND="Agg", PANDO_TEST_SAMPLES=samples, **arguments)


def test_a_keras_tutorial(run_python, tmp_path):
    text = run(run_python, tmp_path, KERAS).stdout
    (steps, first), (_, second) = documents.lines_of(text)
    assert steps == 200 and second["loss"] < first["loss"] and "Epoch 2/2" in text


def test_a_session_tutorial(run_python, tmp_path):
    process = run(run_python, tmp_path, SESSION)
    losses = [float(loss) for loss in re.findall(r"Loss: ([0-9.]+)", process.stdout)]
    assert len(losses) == 2 and losses[1] < losses[0]
    assert "Parameters: 63394" in process.stdout
    assert "WARNING:tensorflow:The layer 'conv2d' is in the Sequential model twice" in process.stderr


def run_document(number, run_python, tmp_path, samples, **arguments):
    if documents.path_of(number) is None:
        pytest.skip(f"document {number} is not in {documents.SEEDS}")
    name = documents.SET_OF[number]
    if name and not _core.dataset_available(name):
        pytest.skip(f"{name} is not on this machine")
    return run(run_python, tmp_path, documents.script_of(number), str(samples), **arguments)


def test_document_000(run_python, tmp_path):
    process = run_document("000", run_python, tmp_path, 6000)
    documents.check_000(process.stdout, process.stderr, whole=False)


def test_document_001_fails_as_it_must(run_python, tmp_path):
    process = run_document("001", run_python, tmp_path, 6000, check=False)
    assert process.returncode == 1 and process.stderr.endswith("NameError: name 'x' is not defined\n")
    # Its second block is the one that fails, and no frame of Pando's is shown.
    assert "# block 1" in documents.script_of("001").splitlines()
    assert "train_data_len = x.train.shape[0]" in process.stderr and "runpy" not in process.stderr


def test_document_002(run_python, tmp_path):
    process = run_document("002", run_python, tmp_path, 3200)
    documents.check_002(process.stdout, process.stderr, whole=False, train=3200, test=533)


def test_document_003(run_python, tmp_path):
    process = run_document("003", run_python, tmp_path, 3200)
    documents.check_003(process.stdout, process.stderr, whole=False)
    assert process.stdout.endswith("Program ran successfully\n")


def test_document_003_has_two_convolutions(run_python, tmp_path):
    run_document("003", run_python, tmp_path, 320)
    look = "import runpy; print(runpy.run_path('script.py')['model'].count_params())"
    assert run_python("-m", "pando", "-c", look, PANDO_TEST_SAMPLES="320").stdout.endswith("\n63394\n")


@needs_mnist
def test_document_004(run_python, few_digits, tmp_path):
    pytest.importorskip("torchvision")
    process = run_document("004", run_python, tmp_path, 4000, HOME=str(tmp_path), PANDO_DATA=few_digits)
    documents.check_004(process.stdout, process.stderr, whole=False)
