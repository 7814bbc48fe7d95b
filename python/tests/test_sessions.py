# SPDX-License-Identifier: Apache-2.0
"""Graphs and sessions as in TensorFlow 1, with computations, loops, queues and pipelines for IPUs."""
import numpy as np
import pytest

import pando.tf.compat.v1 as tf
from pando import Error, ipu


@pytest.fixture(autouse=True)
def one_ipu():
    tf.reset_default_graph()
    config = ipu.utils.create_ipu_config()
    config = ipu.utils.auto_select_ipus(opts=config, num_ipus=1)
    ipu.utils.configure_ipu_system(config=config)


def samples():
    x = np.random.default_rng(0).normal(size=(64, 4)).astype("float32")
    return x, (x.sum(1) > 0).astype("int32")


def test_scalars_have_no_axes():
    constant, variable, fed = tf.constant(1.5), tf.Variable(2.0), tf.placeholder(tf.float32, ())
    assert constant.shape == () and variable.shape == ()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([constant, variable, fed + 1], {fed: 3.0}) == [1.5, 2.0, 4.0]


def test_fetches_come_back_in_their_structure():
    a = tf.placeholder(tf.float32, [None, 2], name="a")
    b = tf.constant([1.0, 2.0])
    with tf.Session() as session:
        value, (again, named) = session.run([a + b, (b, {"n": b * 2.0})], feed_dict={a: [[1, 1], [2, 2]]})
        assert value.tolist() == [[2, 3], [3, 4]] and again.tolist() == [1, 2] and named["n"].tolist() == [2, 4]
        assert isinstance(session.run(tf.reduce_sum(b)), np.float32)
        assert session.run(tf.reduce_mean(a), {"a:0": np.ones((1, 2), "float32")}) == 1
        with pytest.raises(Error, match="not fed"):
            session.run(a)
        with pytest.raises(TypeError, match="cannot be fetched"):
            session.run(3)


def test_a_computation_trains_and_gives_none_for_its_operation():
    x, y = samples()
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True)
    iterator = dataset.make_initializable_iterator()
    model = tf.keras.Sequential([tf.keras.layers.Dense(8, activation=tf.nn.relu), tf.keras.layers.Dense(2)])

    def step(x, y):
        logits = model(x, training=True)
        loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits)
        return [loss, tf.train.AdamOptimizer(learning_rate=0.01).minimize(loss=loss)]

    (inputs, labels) = iterator.get_next()
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        on_ipu = ipu.ipu_compiler.compile(computation=step, inputs=[inputs, labels])
    with tf.Session() as session:
        with pytest.raises(Error, match="global_variables_initializer"):
            session.run(on_ipu)
        session.run(tf.global_variables_initializer())
        session.run(iterator.initializer)
        losses = [session.run(on_ipu) for _ in range(60)]
    assert losses[0][1] is None and isinstance(losses[0][0], np.float32)
    assert losses[-1][0] < losses[0][0] * 0.7


def test_a_computation_returns_its_structure_with_numpy_scalars():
    def nested(x):
        total = tf.reduce_sum(x)
        return {"sums": (total, tf.cast(total, tf.int32)), "whole": x, "right": tf.equal(total, 6.0)}

    x = tf.placeholder(tf.float32, [3])
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        on_ipu = ipu.ipu_compiler.compile(nested, [x])
        alone = ipu.ipu_compiler.compile(lambda x: tf.reduce_sum(x), [x])
    with tf.Session() as session:
        made = session.run(on_ipu, {x: [1, 2, 3]})
        assert type(made["sums"]) is tuple and [type(value) for value in made["sums"]] == [np.float32, np.int32]
        assert made["sums"] == (6, 6) and made["whole"].tolist() == [1, 2, 3]
        assert type(made["right"]) is np.bool_ and made["right"]
        assert session.run(alone, {x: [1, 2, 3]}) == [6] and session.run(alone, {x: [1, 1, 1]}) == [3]


def test_a_list_of_fetches_may_change_between_runs():
    fetches = [tf.constant(1.0)]
    with tf.Session() as session:
        assert session.run(fetches) == [1]
        fetches.append(tf.constant(2.0))
        assert session.run(fetches) == [1, 2]


def test_an_iterator_that_has_ended_raises_out_of_range():
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.from_tensor_slices(np.arange(2.0, dtype="float32")))
    value = iterator.get_next()
    with tf.Session() as session:
        assert [session.run(value) for _ in range(2)] == [0.0, 1.0]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(value)


def test_loops_and_queues():
    x, y = samples()
    infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(
        tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True))
    outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()

    def body(total, x, y):
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            w = tf.get_variable("w", shape=(4, 2), initializer=tf.glorot_uniform_initializer())
        loss = tf.losses.sparse_softmax_cross_entropy(labels=y, logits=tf.matmul(x, w))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        return total + 1.0, outfeed.enqueue({"loss": loss}), train

    def loop():
        return ipu.loops.repeat(5, body, [tf.constant(0.0)], infeed)

    with ipu.scopes.ipu_scope("/device:IPU:0"):
        run = ipu.ipu_compiler.compile(loop, inputs=[])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(infeed.initializer)
        assert session.run(run) == [5.0]
        assert session.run(outfeed.dequeue())["loss"].shape == (5,)


def test_a_pipeline_of_two_stages():
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 2
    config.tiles_per_ipu = 1
    config.configure_ipu_system()
    x, y = samples()
    infeed = ipu.ipu_infeed_queue.IPUInfeedQueue(
        tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16, drop_remainder=True))
    outfeed = ipu.ipu_outfeed_queue.IPUOutfeedQueue()
    first, last = tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(2)

    def stage1(x, y):
        return first(x), y

    def stage2(h, y):
        return tf.losses.sparse_softmax_cross_entropy(labels=y, logits=last(h))

    def optimizer(loss):
        return ipu.pipelining_ops.OptimizerFunctionOutput(tf.train.GradientDescentOptimizer(0.1), loss)

    def net():
        return ipu.pipelining_ops.pipeline(
            computational_stages=[stage1, stage2], gradient_accumulation_count=4, repeat_count=2,
            infeed_queue=infeed, outfeed_queue=outfeed, optimizer_function=optimizer)

    with ipu.scopes.ipu_scope("/device:IPU:0"):
        run = ipu.ipu_compiler.compile(net, inputs=[])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(infeed.initializer)
        session.run(run)
        losses = session.run(outfeed.dequeue())
        for _ in range(20):
            session.run(run)
        assert session.run(outfeed.dequeue())[-8:].mean() < losses.mean()


def test_a_saver_keeps_variables(tmp_path):
    value = tf.Variable([1.0, 2.0], name="v")

    def double():
        return value.assign(value * 2.0)
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        run = ipu.ipu_compiler.compile(double)
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(run)
        saver.save(session, str(tmp_path / "state"))
        session.run(run)
        assert session.run(value).tolist() == [4, 8]
        saver.restore(session, str(tmp_path / "state"))
        assert session.run(value).tolist() == [2, 4]


def test_an_estimator_trains_evaluates_and_predicts(tmp_path):
    x, y = samples()

    def model_fn(features, labels, mode, params):
        hidden = tf.keras.layers.Dense(8, activation="relu")(features)
        logits = tf.keras.layers.Dense(2)(hidden)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"classes": tf.argmax(logits, axis=-1)})
        loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
        train_op = tf.train.AdamOptimizer(params["rate"]).minimize(loss) if mode == "train" else None
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    def input_fn():
        return tf.data.Dataset.from_tensor_slices((x, y)).batch(16, drop_remainder=True)

    config = ipu.ipu_run_config.RunConfig(ipu_run_config=ipu.ipu_run_config.IPURunConfig(iterations_per_loop=20))
    arguments = {"model_fn": model_fn, "params": {"rate": 0.02}, "config": config, "model_dir": str(tmp_path / "m")}
    estimator = ipu.ipu_estimator.IPUEstimator(**arguments)
    before = estimator.evaluate(input_fn)["loss"]
    estimator.train(lambda: input_fn().repeat(), steps=200)
    after = estimator.evaluate(input_fn)["loss"]
    assert after < before * 0.7
    assert ipu.ipu_estimator.IPUEstimator(**arguments).evaluate(input_fn)["loss"] == after
    classes = [prediction["classes"] for prediction in estimator.predict(input_fn)]
    assert len(classes) == 64 and np.mean(classes == y) > 0.85
