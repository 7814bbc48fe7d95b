# SPDX-License-Identifier: Apache-2.0
"""Calls of TensorFlow that need more than arguments: data sets, and what is part of a computation of TensorFlow 1."""
import logging

import numpy as np

from arguments.results import IMAGES, VECTORS, trained_facets
from pando import ipu, keras, tf
from pando.tf.compat import v1


def _numbers():
    return tf.data.Dataset.from_tensor_slices(np.arange(10, dtype="float32"))


def _of_data(subject, arguments):
    """A method of a data set of ten numbers, or a function that makes a data set."""
    name = subject.name.rpartition(".")[2]
    if name == "unbatch":
        return _numbers().batch(2).unbatch(**arguments)
    if name == "range":
        return tf.data.Dataset.range(4, **arguments)
    if name == "zip":
        return tf.data.Dataset.zip(_numbers(), _numbers(), **arguments)
    if name.startswith("from_"):
        return getattr(tf.data.Dataset, name)(**arguments)
    return getattr(_numbers(), name)(**arguments)


def computed(body):
    """What three runs of a computation on an IPU return, and the variables after them."""
    config = ipu.config.IPUConfig()
    config.auto_select_ipus = 1
    config.configure_ipu_system()
    x = v1.placeholder("float32", (4, 4))
    with ipu.scopes.ipu_scope("/device:IPU:0"):
        on_ipu = ipu.ipu_compiler.compile(body, [x])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        yield "results", repr([session.run(on_ipu, {x: VECTORS}) for _ in range(3)])
        for variable in v1.global_variables():
            yield "variable", variable.name, variable.trainable, repr(session.run(variable))


def _weight():
    return v1.get_variable("w", initializer=np.full((4, 3), 0.3, "float32"))


def _loss(x):
    return tf.reduce_mean(tf.square(tf.matmul(x, _weight()) - 1.0))


def _optimizer(subject, arguments):
    return computed(lambda x: subject.function(**arguments).minimize(_loss(x)))


def _variables(names):
    """Variables by their names; a step is a whole number."""
    if isinstance(names, list):
        return [_variables(name) for name in names]
    if names == "step":
        return v1.get_variable("step", initializer=np.int32(0), trainable=False)
    return v1.get_variable(names, initializer=np.full((4, 3), 0.3, "float32"))


def _on_optimizer(subject, arguments):
    name = subject.name.rpartition(".")[2]

    def body(x):
        given = {key: _variables(value) if key in ("global_step", "var_list") else value for key, value in arguments.items()}
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        loss = _loss(x) * given.pop("loss", 1.0) + 0.1 * tf.reduce_mean(tf.square(_variables("other")))
        if name == "apply_gradients":
            factor = given.pop("grads_and_vars")
            return optimizer.apply_gradients([(gradient * factor, variable)
                                              for gradient, variable in optimizer.compute_gradients(loss)], **given)
        made = getattr(optimizer, name)(loss, **given)
        return [gradient for gradient, _ in made] if name == "compute_gradients" else made
    return computed(body)


def _assigned(subject, arguments):
    name = subject.name.rpartition(".")[2]

    def body(x):
        if subject.owner is None:
            return subject.function(**{**arguments, "ref": _variables(arguments["ref"]), "value": x[:, :3] * arguments["value"]})
        key = "value" if name == "assign" else "delta"
        return getattr(_weight(), name)(**{**arguments, key: x[:, :3] * arguments[key]})
    return computed(body)


def _gradients(_, arguments):
    def body(x):
        w = _weight()
        y = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        known = {"w": w, "x": x}
        return v1.gradients(**{**arguments, "ys": y * arguments["ys"], "xs": [known[name] for name in arguments["xs"]]})
    return computed(body)


def _fetched(subject, arguments):
    """A tensor of the default graph: its value, and its name."""
    made = subject.function(**arguments)
    with v1.Session() as session:
        yield "value", repr(session.run(made))


def _variable(subject, arguments):
    variable = subject.function(**arguments)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        yield "variable", variable.name, variable.trainable, repr(session.run(variable))


def _scope(subject, arguments):
    with subject.function(**arguments):
        variable = v1.get_variable("inner", shape=(2, 2))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        yield "variable", variable.name, repr(session.run(variable))


def _initializer(subject, arguments):
    return subject.function(**arguments)


def _layer(subject, arguments):
    inputs = keras.Input(IMAGES.shape[1:])
    outputs = subject.function(**{**arguments, "inputs": inputs * arguments["inputs"] if arguments["inputs"] != 1 else inputs})
    yield "shape", tuple(outputs.shape)
    model = keras.Model(inputs, outputs)
    yield "layers", [layer.name for layer in model.layers], [weight.trainable for weight in model.weights]
    yield "predicted", model.predict(IMAGES).tobytes()
    flat = keras.layers.Flatten()(outputs) if len(outputs.shape) > 2 else outputs
    whole = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones", name="head")(flat))
    yield from trained_facets(whole, IMAGES, np.ones((4, 1), "float32"))


def _saver(subject, arguments):
    known = {"w": _weight(), "other": _variables("other")}
    if arguments.get("var_list") is not None:
        arguments["var_list"] = [known[name] for name in arguments["var_list"]]
    saver = v1.train.Saver(**arguments)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        for step in range(3):
            saver.save(session, "saved", global_step=step)


def _saved(_, arguments):
    _weight()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        arguments["sess"] = v1.Session() if arguments["sess"] else session
        return v1.train.Saver().save(**arguments)


def _restored(_, arguments):
    weight = _weight()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        v1.train.Saver().save(session, "saved")
        arguments["sess"] = v1.Session() if arguments["sess"] else session
        v1.train.Saver().restore(**arguments)
        return repr(session.run(weight))


def _run(_, arguments):
    x = v1.placeholder("float32", (2,), name="x")
    fetches = {"double": x * 2.0, "triple": x * 3.0}
    with v1.Session() as session:
        return repr(session.run(**{**arguments, "fetches": fetches[arguments["fetches"]]}))


def _session(subject, arguments):
    session = subject.function(**arguments)
    try:
        return session.graph, repr(session.run(v1.constant(2.0)))
    finally:
        session.close()


def _named_variables(subject, arguments):
    _weight()
    with v1.variable_scope("scope"):
        v1.get_variable("inner", shape=(2,), trainable=False)
    return [variable.name for variable in subject.function(**arguments)]


def _iterated(subject, arguments):
    iterator = v1.data.Dataset.from_tensor_slices(np.arange(4, dtype="float32"))
    if subject.name.endswith("get_next"):
        value = iterator.make_one_shot_iterator().get_next(**arguments)
    elif subject.owner is not None:
        made = getattr(iterator, subject.name.rpartition(".")[2])(**arguments)
        value = made.get_next()
    else:
        made = subject.function(**{**arguments, "dataset": iterator.skip(arguments["dataset"])})
        value = made.get_next()
    with v1.Session() as session:
        if "initializable" in subject.name:
            session.run(made.initializer)
        return [repr(session.run(value)) for _ in range(2)]


def _set_shape(_, arguments):
    return tf.constant(VECTORS).set_shape(**arguments)


def _evaluated(_, arguments):
    x = v1.placeholder("float32", (2,), name="x")
    feeds = {x: np.full(2, arguments.get("feed_dict", 1.0), "float32")}
    with v1.Session() as session:
        session_given = {"session": v1.Session()} if arguments.get("session") else {}
        return repr((x * 2.0).eval(feed_dict=feeds, **session_given)), repr(session)[:5]


def _in_scope(subject, arguments):
    with subject.function(**arguments) as entered:
        return entered if isinstance(entered, str) else type(entered).__name__


def _placeholder(subject, arguments):
    made = subject.function(**arguments)
    yield "placeholder", made.dtype.name, tuple(made.shape)
    yield "found", v1.get_default_graph().get_tensor_by_name(arguments["name"]) is made if arguments.get("name") else None


def _tensor_named(_, arguments):
    for number, name in enumerate(("x", "y")):
        v1.placeholder("float32", (number + 1,), name=name)
    return v1.get_default_graph().get_tensor_by_name(**arguments)


def _seeded(subject, arguments):
    subject.function(**arguments)
    return tf.random.normal((3,))


def _exited(subject, arguments):
    try:
        subject.function(**arguments)
    except SystemExit as end:
        return end.code


def _verbosity(subject, arguments):
    logger, before = logging.getLogger("tensorflow"), logging.getLogger("tensorflow").level
    try:
        subject.function(**arguments)
        return logger.level
    finally:
        logger.setLevel(before)


CALLS = {
    "tf.compat.v1.set_random_seed": _seeded, "tf.compat.v1.app.run": _exited, "tf.compat.v1.placeholder": _placeholder,
    "tf.compat.v1.tf_logging.set_verbosity": _verbosity,
    "tf.experimental.dlpack.to_dlpack":
        lambda subject, arguments: tf.experimental.dlpack.from_dlpack(subject.function(**arguments)),
    "tf.data.Dataset.*": _of_data,
    "tf.data.experimental.cardinality": lambda subject, arguments: subject.function(**arguments),
    "tf.compat.v1.train.*Optimizer": _optimizer, "tf.compat.v1.train.Optimizer.*": _on_optimizer,
    "tf.compat.v1.Variable.assign*": _assigned, "tf.compat.v1.assign": _assigned, "tf.compat.v1.gradients": _gradients,
    "tf.compat.v1.constant": _fetched, "tf.compat.v1.get_variable": _variable, "tf.compat.v1.Variable": _variable,
    "tf.compat.v1.variable_scope": _scope, "tf.compat.v1.layers.*": _layer, "tf.compat.v1.train.Saver": _saver,
    "tf.compat.v1.train.Saver.save": _saved, "tf.compat.v1.train.Saver.restore": _restored,
    "tf.compat.v1.session.Session.run": _run, "tf.compat.v1.Session": _session,
    "tf.compat.v1.InteractiveSession": _session, "tf.compat.v1.get_collection": _named_variables,
    "tf.compat.v1.global_variables": _named_variables, "tf.compat.v1.trainable_variables": _named_variables,
    "tf.compat.v1.data.Iterator.get_next": _iterated,
    "tf.compat.v1.data.Dataset.make_initializable_iterator": _iterated, "tf.compat.v1.data.make_*": _iterated,
    "tf.Tensor.set_shape": _set_shape, "tf.Tensor.eval": _evaluated, "tf.device": _in_scope, "tf.name_scope": _in_scope,
    "tf.compat.v1.control_dependencies": _in_scope,
    "tf.compat.v1.group": lambda subject, arguments: type(subject.function(**arguments)).__name__,
    "tf.compat.v1.no_op": lambda subject, arguments: type(subject.function(**arguments)).__name__,
    "tf.compat.v1.Graph.get_tensor_by_name":
        _tensor_named,
}
