# SPDX-License-Identifier: Apache-2.0
"""Training with layers, losses, metrics and callbacks that users write."""
import numpy as np

from fit_table import FIT, SAMPLES, of_evaluation, program, regression, trained
from objects import normal, uniform


@program
def own_layers(keras, prepare):
    class Scale(keras.layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale",
                                         regularizer=keras.regularizers.L2(0.05))

        def call(self, inputs, training=False):
            return inputs * self.scale * (2.0 if training else 1.0)
    layers = [Scale(), keras.layers.Dense(1)]
    inputs = keras.Input((4,))
    model = keras.Model(inputs, layers[1](layers[0](inputs)))
    prepare(*layers)
    model.compile(keras.optimizers.SGD(0.02), "mse")
    x, y = normal(1, SAMPLES, 4), normal(2, SAMPLES, 1)
    return trained(model, model.fit(x, y, epochs=2, validation_data=(x, y), **FIT))


@program
def own_models(keras, prepare):
    class Net(keras.Model):
        def __init__(self):
            super().__init__()
            self.first, self.second = keras.layers.Dense(5, activation="tanh"), keras.layers.Dense(1)

        def call(self, inputs):
            return self.second(self.first(inputs))
    model = Net()
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    x, y = normal(1, SAMPLES, 4), normal(2, SAMPLES, 1)
    model.predict(x[:1], verbose=0)
    prepare(model.first, model.second)
    return trained(model, model.fit(x, y, epochs=2, **FIT), predicted=model.predict(x, verbose=0))


@program
def losses_that_layers_add(keras, prepare):
    class Sized(keras.layers.Layer):
        def call(self, inputs):
            self.add_loss(0.1 * keras.ops.mean(keras.ops.square(inputs)))
            return inputs
    layer = keras.layers.Dense(3)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, Sized()(layer(inputs)))
    prepare(layer)
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return trained(model, model.fit(normal(1, 32, 4), normal(2, 32, 3), epochs=2, **FIT))


@program
def own_losses_and_metrics(keras, prepare):
    def third_power(y_true, y_pred):
        return keras.ops.mean(keras.ops.power(keras.ops.abs(y_pred - y_true), 3.0), axis=-1)
    model, x, y = regression(keras, prepare, loss=third_power, metrics=[third_power])
    return trained(model, model.fit(x, y, epochs=2, **FIT), **of_evaluation(model, x, y, batch_size=5))


@program
def own_losses_of_one_number(keras, prepare):
    def third_power(y_true, y_pred):
        return keras.ops.mean(keras.ops.power(keras.ops.abs(y_pred - y_true), 3.0))
    model, x, y = regression(keras, prepare, loss=third_power)
    return trained(model, model.fit(x, y, epochs=2, **FIT))


@program
def own_metrics_of_one_number(keras, prepare):
    def largest(y_true, y_pred):
        return keras.ops.max(keras.ops.abs(y_pred - y_true))
    model, x, y = regression(keras, prepare, metrics=[largest])
    return of_evaluation(model, x, y, batch_size=5)


def _own_loss(keras, reduction):
    class Third(keras.losses.Loss):
        def call(self, y_true, y_pred):
            return keras.ops.mean(keras.ops.power(keras.ops.abs(y_pred - y_true), 3.0), axis=-1)
    return Third(reduction=reduction)


@program
def own_loss_classes(keras, prepare):
    model, x, y = regression(keras, prepare, loss=_own_loss(keras, "sum_over_batch_size"))
    return trained(model, model.fit(x, y, epochs=2, sample_weight=uniform(3, SAMPLES), **FIT))


@program
def own_losses_that_are_sums(keras, prepare):
    model, x, y = regression(keras, prepare, optimizer=keras.optimizers.SGD(0.01), loss=_own_loss(keras, "sum"))
    return trained(model, model.fit(x[:32], y[:32], epochs=2, **FIT))


@program
def own_metric_classes(keras, prepare):
    class Largest(keras.metrics.Metric):
        def __init__(self):
            super().__init__(name="largest")
            self.largest = self.add_weight(name="value", initializer="zeros")

        def update_state(self, y_true, y_pred, sample_weight=None):
            self.largest.assign(keras.ops.maximum(self.largest, keras.ops.max(y_pred - y_true)))

        def result(self):
            return self.largest
    model, x, y = regression(keras, prepare, metrics=[Largest()])
    return of_evaluation(model, x, y)


@program
def own_initializers_and_regularizers(keras, prepare):
    class Half(keras.initializers.Initializer):
        def __call__(self, shape, dtype=None):
            return np.full(shape, 0.5, np.float32)
    inputs = keras.Input((4,))
    layer = keras.layers.Dense(2, kernel_initializer=Half(), kernel_regularizer=lambda w: 0.1 * keras.ops.sum(w * w))
    model = keras.Model(inputs, layer(inputs))
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return trained(model, model.fit(normal(1, SAMPLES, 4), normal(2, SAMPLES, 2), epochs=2, **FIT))


@program
def own_schedules(keras, prepare):
    class Steps(keras.optimizers.schedules.LearningRateSchedule):
        def __call__(self, step):
            return 0.1 / (1.0 + keras.ops.cast(step, "float32"))

        def get_config(self):
            return {}
    model, x, y = regression(keras, prepare, optimizer=keras.optimizers.SGD(Steps()))
    return trained(model, model.fit(x, y, epochs=2, **FIT))


@program
def own_callbacks(keras, prepare):
    calls, values = [], []

    class Recorder(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            calls.append("train begins")

        def on_train_end(self, logs=None):
            calls.append("train ends")
            values.append(logs["loss"])

        def on_epoch_begin(self, epoch, logs=None):
            calls.append(f"epoch {epoch} begins")

        def on_epoch_end(self, epoch, logs=None):
            calls.append(f"epoch {epoch} ends with {', '.join(sorted(logs))}")
            values.extend(logs[name] for name in sorted(logs))

        def on_train_batch_end(self, batch, logs=None):
            calls.append(f"batch {batch} ends with {', '.join(sorted(logs))}")
            values.extend(logs[name] for name in sorted(logs))
    model, x, y = regression(keras, prepare, metrics=["mae"])
    model.fit(x, y, epochs=2, validation_data=(x, y), callbacks=[Recorder()], **FIT)
    return {"calls": calls, "values": np.asarray(values)}


@program
def functions_as_callbacks(keras, prepare):
    calls = []
    callback = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: calls.append(f"begins {epoch}"),
        on_epoch_end=lambda epoch, logs: calls.append(f"ends {epoch}"),
        on_train_begin=lambda logs: calls.append("train begins"), on_train_end=lambda logs: calls.append("train ends"))
    model, x, y = regression(keras, prepare)
    model.fit(x, y, epochs=2, callbacks=[callback], **FIT)
    return {"calls": calls}


@program
def callbacks_of_evaluate_and_predict(keras, prepare):
    calls = []

    class Recorder(keras.callbacks.Callback):
        def on_test_begin(self, logs=None):
            calls.append("test begins")

        def on_test_end(self, logs=None):
            calls.append("test ends")

        def on_predict_begin(self, logs=None):
            calls.append("predict begins")

        def on_predict_end(self, logs=None):
            calls.append("predict ends")
    model, x, y = regression(keras, prepare)
    model.evaluate(x, y, verbose=0, callbacks=[Recorder()])
    model.predict(x, verbose=0, callbacks=[Recorder()])
    return {"calls": calls}


@program
def a_callback_that_ends_training(keras, prepare):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = epoch == 1
    model, x, y = regression(keras, prepare)
    history = model.fit(x, y, epochs=5, callbacks=[Stop()], **FIT)
    return trained(model, history, epochs=history.epoch)
