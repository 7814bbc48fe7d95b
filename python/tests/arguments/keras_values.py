# SPDX-License-Identifier: Apache-2.0
"""What single functions of Keras are given, where the names of their arguments do not say it."""
import numpy as np

from arguments.fresh import Fresh
from arguments.results import CLASSES, ONE_HOT, SCORES, VECTORS, dense_model
from pando import _core, keras, tf
from pando.keras.layers.base import Layer


class _Printing(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch)

    def on_test_begin(self, logs=None):
        print("test")

    def on_predict_end(self, logs=None):
        print("predicted")


# What a call needs, and arguments that must differ from their defaults, so that others matter.
NEEDED_BY = {
    "keras.Input.shape": (4,), "keras.Layer.compute_output_shape.input_shape": (None, 4),
    "keras.Layer.from_config.config": {"units": 3, "name": "made"},
    "keras.Optimizer.from_config.config": {"learning_rate": 0.1}, "keras.Optimizer.minimize.loss": 1.0,
    "keras.Optimizer.minimize.var_list": [], "keras.initializers.Initializer.from_config.config": {"seed": 3},
    "keras.schedules.LearningRateSchedule.from_config.config": {"initial_learning_rate": 0.1, "decay_steps": 3},
    "keras.layers.described.Described.set_weights.weights": [np.ones((4, 3)), np.zeros(3)],
    "keras.Model.build.input_shape": (None, 4), "keras.Model.call.inputs": VECTORS,
    "keras.Model.get_layer.name": "first", "keras.Sequential.build.input_shape": (None, 4),
    "keras.Sequential.add.layer": Fresh(lambda: keras.layers.Dense(2, name="added")),
    "keras.Sequential.layers": Fresh(lambda: [keras.layers.Dense(2, input_shape=(4,), name="one")]),
    "keras.layers.Random[TR]*.fill_mode": "constant", "keras.layers.InputLayer.batch_input_shape": (None, 7, 7, 4),
    "keras.layers.[a-z]*.inputs": Fresh(lambda: [keras.Input((4,)), keras.Input((4,))]),
    "keras.backend.set_value.x": Fresh(lambda: dense_model().weights[0]),
    "keras.backend.set_value.value": np.ones((4, 3), "float32"), "keras.backend.set_epsilon.value": 1e-5,
    "keras.backend.dot.b": VECTORS.T.copy(),
    "keras.models.clone_model.model": Fresh(lambda: keras.Sequential([keras.layers.Dense(3, input_shape=(4,))])),
    "keras.models.save_model.model": Fresh(lambda: keras.Sequential([keras.layers.Dense(3, input_shape=(4,))])),
    "keras.models.model_from_json.text":
        Fresh(lambda: keras.Sequential([keras.layers.Dense(3, input_shape=(4,))]).to_json()),
    "keras.*PipelineStageAssignment.layer": "one", "keras.*PipelineStageAssignment.pipeline_stage": 1,
    "keras.ipu.PipelineStage.stage": 0, "keras.training.Training.fit.epochs": 2,
    "keras.training.Training.fit.batch_size": 2, "keras.training.Training.fit.verbose": 0,
    "keras.training.Training.fit_generator.generator": Fresh(lambda: iter([(VECTORS, ONE_HOT)])),
    "keras.training.*.x": VECTORS, "keras.training.*.y": ONE_HOT, "keras.training.Training.evaluate.verbose": 1,
    "keras.training.Training.*.batch_size": 2, "keras.training.Training.predict.verbose": 1,
    "keras.stages.Stages.*.gradient_accumulation_steps_per_replica": 4,
    "keras.stages.Stages.set_pipeline_stage_assignment.stages": [0, 0, 1],
    "keras.callbacks.ReduceLROnPlateau.patience": 1, "keras.callbacks.ReduceLROnPlateau.cooldown": 0,
    "keras.callbacks.ModelCheckpoint.filepath": "weights-{epoch}.npz",
    "keras.callbacks.ModelCheckpoint.save_best_only": True, "keras.callbacks.ModelCheckpoint.save_weights_only": True,
    "keras.initializers.get.identifier": "ones", "keras.optimizers.get.identifier": "sgd",
    "keras.regularizers.get.identifier": "l1", "keras.activations.get.identifier": "relu",
    "keras.*.sparse_*.y_true": CLASSES, "keras.metrics.*top_k*.k": 1, "keras.metrics.Mean.update_state.values": SCORES,
    "keras.optimizers.SGD.momentum": 0.5, "keras.schedules.*.decay_steps": 3,
    "keras.variables.Variable.*.value": np.ones((4, 3), "float32"), "keras.optimizers.Rate.assign.value": 0.1,
    "keras.losses.get.identifier": "mse", "keras.metrics.get.identifier": "mse",
}
_VALIDATION = {"validation_data": Fresh(lambda: tf.data.Dataset.from_tensor_slices((VECTORS, ONE_HOT)).batch(1))}
# What is given with and without an argument, because it matters with that alone.
COMPANIONS = {
    "keras.training.Training.fit.validation_[a-c]*": {}, "keras.training.Training.fit.validation_steps": _VALIDATION,
    "keras.training.Training.fit.validation_freq": _VALIDATION,
    "keras.training.Training.fit.validation_batch_size": _VALIDATION,
    "keras.training.Training.fit.checkpoint_*": {"checkpoint_directory": "kept", "checkpoint_every": 2},
    "keras.training.Training.fit.checkpoint_keep": {"checkpoint_directory": "kept", "checkpoint_every": 1},
    "keras.training.Training.fit.resume": {"checkpoint_directory": "kept", "checkpoint_every": 1},
    "keras.callbacks.ModelCheckpoint.save_best_only": {"save_best_only": False},
    "keras.callbacks.ModelCheckpoint.save_weights_only": {"save_weights_only": False},
}
# Other values.
OTHERS_BY = {
    "keras.datasets.*.load_data.path": ["mnist.npz"],
    "keras.training.Training.fit.epochs": [3], "keras.training.Training.fit.checkpoint_every": [1],
    "keras.training.Training.fit.checkpoint_keep": [1], "keras.Input.tensor": [VECTORS], "keras.Input.ragged": [True],
    "keras.Input.type_spec": ["one"], "keras.Model.trainable": [False], "keras.Layer.input_shape": [(7, 4)],
    "keras.Layer.batch_input_shape": [(None, 7, 4)], "keras.Optimizer.minimize.*": [2.0],
    "keras.models.clone_model.model": [Fresh(lambda: keras.Sequential([keras.layers.Dense(2, input_shape=(3,))]))],
    "keras.models.clone_model.input_tensors": [Fresh(lambda: keras.Input((4,)))],
    "keras.models.clone_model.clone_function": [Fresh(lambda: lambda layer: keras.layers.Dense(5, name="cloned"))],
    "keras.models.save_model.model": [Fresh(lambda: keras.Sequential([keras.layers.Dense(2, input_shape=(3,))]))],
    "keras.models.model_from_json.text":
        [Fresh(lambda: keras.Sequential([keras.layers.Dense(2, input_shape=(3,))]).to_json())],
    "keras.ipu.PipelineStage.stage": [1], "keras.*PipelineStageAssignment.layer": ["other"],
    "keras.backend.set_value.x":
        [Fresh(lambda: keras.Sequential([keras.layers.Dense(3, name="other", input_shape=(4,))]).weights[0])],
    "keras.backend.set_value.value": [np.zeros((4, 3), "float32")], "keras.backend.set_epsilon.value": [1e-3],
    "keras.backend.set_floatx.dtype": ["float64"],
    "keras.backend.set_image_data_format.data_format": ["channels_first"], "keras.ops.*.initial": [0.9],
    "keras.backend.ndim.x": [SCORES[0]], "keras.ops.concatenate.axis": [1], "keras.Layer.add_loss.losses": [2.0],
    "keras.*PipelineStageAssignment.pipeline_stage": [2], "keras.ops.convert_to_tensor.sparse": [True],
    "keras.layers.dot.axes": [0], "keras.utils.register_keras_serializable.package": ["other"],
    "keras.Input.shape": [(5,)], "keras.Input.batch_shape": [(None, 6)], "keras.Input.dtype": ["int32"],
    "keras.Input.sparse": [True], "keras.Layer.compute_output_shape.input_shape": [(None, 2, 4)],
    "keras.Layer.add_weight.name": ["other"], "keras.Layer.add_weight.shape": [(1,)],
    "keras.Layer.add_weight.initializer": ["zeros"], "keras.Layer.add_weight.dtype": ["int32", "float64"],
    "keras.Layer.from_config.config": [{"units": 4, "name": "made"}],
    "keras.Optimizer.from_config.config": [{"learning_rate": 0.2}],
    "keras.initializers.Initializer.from_config.config": [{"seed": 4}],
    "keras.schedules.LearningRateSchedule.from_config.config": [{"initial_learning_rate": 0.2, "decay_steps": 3}],
    "keras.layers.described.Described.set_weights.weights": [[np.zeros((4, 3)), np.zeros(3)]],
    "keras.Model.build.input_shape": [(None, 5)], "keras.Sequential.build.input_shape": [(None, 5)],
    "keras.Model.call.inputs": [-VECTORS], "keras.Model.get_layer.name": ["second"], "keras.Model.get_layer.index": [1],
    "keras.Model.inputs": ["reversed"], "keras.Model.outputs": ["middle"],
    "keras.Sequential.layers": [Fresh(lambda: [keras.layers.Dense(3, input_shape=(4,), name="one")])],
    "keras.Sequential.add.layer": [Fresh(lambda: keras.layers.Dense(4, name="added"))],
    "keras.training.Training.compile.optimizer": ["adam"], "keras.training.Training.compile.loss": ["mae"],
    "keras.training.Training.compile.metrics": [["mae"]], "keras.training.Training.compile.loss_weights": [[0.5]],
    "keras.training.Training.compile.weighted_metrics": [["mae"]],
    "keras.training.Training.compile.run_eagerly": [True], "keras.training.Training.compile.precision": ["float64"],
    "keras.training.Training.compile.steps_per_execution": [2], "keras.training.Training.compile.reduction": ["mean"],
    "keras.training.*.y": [1 - ONE_HOT], "keras.training.*.batch_size": [3],
    "keras.training.*.callbacks": [Fresh(lambda: [_Printing()])], "keras.training.*.verbose": [2],
    "keras.training.*.class_weight": [{0: 3.0, 1: 1.0, 2: 0.5}], "keras.training.*.validation_split": [0.25],
    "keras.training.*.validation_data": [Fresh(lambda: (VECTORS[:2], ONE_HOT[:2]))],
    "keras.training.*.steps_per_epoch": [1], "keras.training.*.validation_steps": [1], "keras.training.*.steps": [1],
    "keras.training.*.validation_batch_size": [3], "keras.training.*.profile": ["run.html"],
    "keras.training.*.checkpoint_directory": ["elsewhere"], "keras.training.*.initial_epoch": [1],
    "keras.training.Training.summary.line_length": [120],
    "keras.training.Training.summary.positions": [[0.3, 0.6, 1.0]],
    "keras.training.Training.summary.print_fn": [Fresh(lambda: lambda line: print("line", line))],
    "keras.training.Training.summary.layer_range": [["first", "first"]],
    "keras.training.Training.fit_generator.generator": [Fresh(lambda: iter([(-VECTORS, ONE_HOT)]))],
    "keras.stages.Stages.*.gradient_accumulation_steps_per_replica": [2],
    "keras.stages.Stages.*.device_mapping": [[1, 0]], "keras.stages.Stages.*.accumulate_outfeed": [True],
    "keras.stages.Stages.*.gradient_accumulation_reduction_method": ["mean"],
    "keras.stages.Stages.*.pipeline_schedule": [Fresh(lambda: _core.PipelineSchedule.Sequential)],
    "keras.stages.Stages.*.recomputation_mode": ["RecomputeThenBackpropagate"],
    "keras.stages.Stages.set_pipeline_stage_assignment.stages": [[0, 1, 1]],
    "keras.stages.Stages.*.print_fn": [Fresh(lambda: lambda line: print("line", line))],
    "keras.stages.Stages.*.line_length": [120], "keras.stages.Stages.explain.samples": [1000],
    "keras.stages.Stages.explain.batch_size": [16], "keras.model*.filepath": ["other"],
    "keras.model*.save_format": ["h5"], "keras.model*.signatures": ["one"], "keras.model*.options": ["one"],
    "keras.model*.custom_objects": [{"One": Layer}], "keras.callbacks.ModelCheckpoint.filepath": ["other-{epoch}.npz"],
    "keras.callbacks.ModelCheckpoint.monitor": ["loss"], "keras.callbacks.ModelCheckpoint.save_freq": [2],
    "keras.callbacks.ModelCheckpoint.options": ["one"],
    "keras.callbacks.ModelCheckpoint.initial_value_threshold": [0.0001], "keras.callbacks.*.monitor": ["loss"],
    "keras.callbacks.EarlyStopping.patience": [2], "keras.callbacks.EarlyStopping.min_delta": [0.1],
    "keras.callbacks.ReduceLROnPlateau.cooldown": [2], "keras.callbacks.ReduceLROnPlateau.min_lr": [0.05],
    "keras.callbacks.ReduceLROnPlateau.min_delta": [0.1],
    "keras.callbacks.LearningRateScheduler.schedule": [Fresh(lambda: lambda epoch: 0.05)],
    "keras.callbacks.CSVLogger.filename": ["other.csv"], "keras.callbacks.CSVLogger.separator": [";"],
    "keras.callbacks.LambdaCallback.*": [Fresh(lambda: lambda number=0, logs=None: print("called"))],
    "keras.callbacks.TensorBoard.log_dir": ["other"], "keras.losses.SparseCategoricalCrossentropy.ignore_class": [1],
    "keras.*.sparse_*.y_true": [CLASSES[::-1].copy()], "keras.metrics.Mean.update_state.values": [SCORES * 2],
    "keras.metrics.Mean.update_state.sample_weight": [SCORES], "keras.initializers.get.identifier": ["zeros"],
    "keras.optimizers.get.identifier": ["adam"], "keras.regularizers.get.identifier": ["l2"],
    "keras.losses.get.identifier": ["mae"], "keras.metrics.get.identifier": ["mae"],
    "keras.activations.get.identifier": ["tanh"], "keras.regularizers.*.l": [0.3],
    "keras.schedules.PiecewiseConstantDecay.boundaries": [[2, 6]],
    "keras.schedules.PiecewiseConstantDecay.values": [[0.3, 0.1, 0.1]], "keras.optimizers.Rate.assign.value": [0.2],
    "keras.variables.Variable.*.value": [np.zeros((4, 3), "float32")],
    "keras.layers.[a-z]*.inputs": [Fresh(lambda: [keras.Input((4,))] * 2)],
    "keras.callbacks.TensorBoard.log_dir": ["other"], "keras.layers.InputLayer.input_shape": [(7, 4)],
    "keras.layers.InputLayer.shape": [(7, 4)], "keras.layers.InputLayer.batch_shape": [(None, 5, 4)],
    "keras.layers.InputLayer.batch_input_shape": [(None, 5, 4)], "keras.layers.*.axis": [1],
    "keras.layers.Concatenate.axis": [1], "keras.layers.InputLayer.dtype": ["int32"],
    "keras.layers.ZeroPadding2D.padding": [2, ((1, 2), (0, 1))], "keras.layers.RandomFlip.mode": ["horizontal"],
    "keras.layers.Conv1D.kernel_size": [1, (3,)], "keras.layers.*Pool*.strides": [1],
    "keras.layers.UpSampling2D.interpolation": ["bilinear"], "keras.layers.Random*.interpolation": ["nearest"],
    "keras.initializers.VarianceScaling.mode": ["fan_out"],
    "keras.initializers.VarianceScaling.distribution": ["uniform"], "keras.metrics.*.threshold": [0.25],
    "keras.metrics.*.k": [1], "keras.losses.Huber.delta": [0.1], "keras.callbacks.EarlyStopping.monitor": ["loss"],
    "keras.callbacks.EarlyStopping.baseline": [0.0001],
}
