# SPDX-License-Identifier: Apache-2.0
"""A program in the style of TensorFlow 1, for mypy."""
from __future__ import annotations

from typing import Any

import numpy as np

import pando.tf.compat.v1 as tf
from pando import ipu

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4], name="x")
w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    value, _ = sess.run([loss, train], feed_dict={x: np.ones((2, 4))})

data = tf.data.Dataset.from_tensor_slices(np.ones((8, 4), np.float32)).batch(2, drop_remainder=True).repeat()
infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(data)
outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()


def step(batch: Any) -> Any:
    return outfeed.enqueue(tf.reduce_sum(batch))


def loop() -> Any:
    return ipu.loops.repeat(4, step, [], infeed)


with ipu.scopes.ipu_scope("/device:IPU:0"):
    compiled = ipu.ipu_compiler.compile(loop, [])
