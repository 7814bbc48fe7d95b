# SPDX-License-Identifier: Apache-2.0
"""Keras: what layers and models are called with, on arrays and within models."""
import numpy as np
import pytest

from pando import keras
from pando.keras import layers

X = np.ones((4, 50), np.float32)


class Doubles(layers.Layer):
    def call(self, inputs, training=None, added=0.0):
        return (inputs * 2 if training else inputs) + added


class Scales(keras.Model):
    def __init__(self):
        super().__init__()
        self.dropout, self.doubles = layers.Dropout(0.5), Doubles()

    def call(self, inputs, scale=1.0, training=None):
        return self.doubles(self.dropout(inputs, training), training) * scale


class ScalesWhole(Scales):
    def call(self, inputs, scale=1.0, training=None):
        return self.doubles(inputs) * 3 * scale if training else inputs * scale


class Around(keras.Model):
    def __init__(self, inner, *args, **kwargs):
        super().__init__()
        self.inner, self.others, self.named = inner, args, kwargs

    def call(self, inputs):
        return self.inner(inputs, *self.others, **self.named)


def has_zeros(tensor):
    return bool((tensor.numpy() == 0).any())


def test_training_may_be_given_by_its_place():
    functional = keras.Input((50,))
    functional = keras.Model(functional, layers.Dropout(0.5)(functional))
    for drops in (layers.Dropout(0.5), functional, keras.Sequential([layers.Dropout(0.5)])):
        assert has_zeros(drops(X, True)) and has_zeros(drops(X, training=True))
        assert not has_zeros(drops(X, False)) and not has_zeros(drops(X, None)) and not has_zeros(drops(X))
    doubles = Doubles()
    assert [doubles(X, *given).numpy()[0, 0] for given in ((), (True,), (False,), (True, 5.0), (None, 5.0))] == [
        1, 2, 1, 7, 6]
    with pytest.raises(TypeError, match=r"^Doubles.call\(\) takes inputs, training, added, and was given more, or one of them "
                                        "twice$"):
        doubles(X, True, 1.0, added=2.0)


def test_a_call_on_arrays_sees_what_its_layer_has_noted_by_now():
    class Noted(layers.Layer):
        def __init__(self):
            super().__init__()
            self.scale, self.added, self.inner = 1.0, [0.0], None

        def call(self, inputs):
            outputs = inputs * self.scale + self.added[0]
            return outputs if self.inner is None else self.inner(outputs)

    outer, inner = Noted(), Noted()
    seen = [outer(X)]
    outer.scale = 2.0
    seen.append(outer(X))
    outer.added[0] = 1.0
    seen.append(outer(X))
    outer.inner = inner
    inner.scale = 5.0
    seen.append(outer(X))
    inner.added.insert(0, 0.5)
    seen.append(outer(X))
    assert [tensor.numpy()[0, 0] for tensor in seen] == [1, 2, 3, 15, 15.5]


@pytest.mark.parametrize("model", [Scales, ScalesWhole])
def test_a_model_within_a_model_gets_all_arguments(model):
    for args, kwargs, expected in (((), {}, 1), ((3.0,), {}, 3), ((), {"scale": 4.0}, 4), ((5.0, False), {}, 5)):
        assert model()(X, *args, **kwargs).numpy()[0, 0] == expected
        assert Around(model(), *args, **kwargs).predict(X)[0, 0] == expected
    trained = np.unique(model()(X, 2.0, True).numpy())
    assert trained.tolist() == ([0, 8] if model is Scales else [12])


def test_layers_of_pando_refuse_what_they_do_not_take():
    for call, expected in (
            (lambda: layers.Dense(2)(X, 5), "Dense: training is 5, but must be True, False or None"),
            (lambda: layers.Dense(2)(X, True, 5), "Dense takes tensors and training, but was given True, 5 as well"),
            (lambda: layers.Dense(2)(X, mask=[1]), "Dense: mask=[1] is not in Pando"),
            (lambda: keras.Sequential([layers.Dense(2)])(X, mask=1), "Sequential: mask=1 is not in Pando")):
        with pytest.raises((TypeError, NotImplementedError)) as refused:
            call()
        assert str(refused.value) == expected
    assert layers.Dense(2)(X, mask=None).shape == (4, 2)
    assert layers.Add()(X, X).numpy()[0, 0] == 2


def test_a_model_of_a_class_is_frozen_before_it_is_built():
    class Line(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1)

        def call(self, inputs):
            return self.dense(inputs)

    frozen, thawed = Line(trainable=False), Line()
    thawed.trainable = False
    for model in (frozen, thawed):
        assert not model.trainable
        model.compile("sgd", "mse")
        before = model.predict(X)
        model.fit(X, X[:, :1] * 5, verbose=0)
        assert not model.trainable and model.trainable_weights == []
        np.testing.assert_array_equal(model.predict(X), before)
