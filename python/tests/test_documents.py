# SPDX-License-Identifier: Apache-2.0
"""Tutorials of Keras and of sessions on IPUs, in the form their users write them, each in a Python of its own. With
PANDO_DOCUMENTS, a folder of scripts 000.py to 003.py, these run, too, unchanged."""
import os
import pathlib
import re

import pytest

from pando import _core

pytestmark = pytest.mark.skipif(not _core.dataset_available("mnist"), reason="MNIST is not on this machine")

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
    losses = [float(loss) for loss in re.findall(r"200/200 .* loss: ([0-9.]+)", text)]
    assert len(losses) == 2 and losses[1] < losses[0] and "Epoch 2/2" in text


def test_a_session_tutorial(run_python, tmp_path):
    process = run(run_python, tmp_path, SESSION)
    losses = [float(loss) for loss in re.findall(r"Loss: ([0-9.]+)", process.stdout)]
    assert len(losses) == 2 and losses[1] < losses[0]
    assert "Parameters: 63394" in process.stdout
    assert "WARNING:tensorflow:The layer 'conv2d' is in the Sequential model twice" in process.stderr


def document(number):
    folder = os.environ.get("PANDO_DOCUMENTS")
    path = pathlib.Path(folder or "", f"{number}.py")
    if not folder or not path.exists():
        pytest.skip("PANDO_DOCUMENTS has no such document")
    return path.read_text()


def test_document_000(run_python, tmp_path):
    text = run(run_python, tmp_path, document("000")).stdout
    assert len(re.findall(r"2000/2000 .* loss: [0-9.]+", text)) == 4


def test_document_001_fails_as_it_must(run_python, tmp_path):
    process = run(run_python, tmp_path, document("001"), check=False)
    assert process.returncode == 1 and "NameError: name 'x' is not defined" in process.stderr


def test_document_002(run_python, tmp_path):
    process = run(run_python, tmp_path, document("002"))
    steps = re.findall(r"^(\d+)/\1 ", process.stdout, re.MULTILINE)
    assert steps == ["94"] * 3 + ["16"] + ["93"] * 3 + ["30"] + ["93"] * 3 + ["30"] + ["93"] * 3 + ["15"] + (
        ["92"] * 3 + ["28"] + ["92"] * 3 + ["14"] + ["88"] * 3 + ["8"])
    assert process.stdout.count("Model: ") == 7 and process.stdout.count("\nNone\n") == 2
    assert "WARNING:tensorflow:Resetting existing IPU configuration" in process.stderr


def test_document_003(run_python, tmp_path):
    text = run(run_python, tmp_path, document("003")).stdout
    assert re.fullmatch(r"(\nLoss: [0-9.]+\nTime: [0-9.]+\n){5}Program ran successfully\n", text)
