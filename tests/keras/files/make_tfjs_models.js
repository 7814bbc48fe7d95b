// Writes tfjs_sequential.json and tfjs_functional.json: models as TensorFlow.js writes them, and as "expected" what the
// functional one computes of numbers that a test can make again.
//
//   npm install @tensorflow/tfjs@4.22.0 && node make_tfjs_models.js
const fs = require('fs');
const tf = require('@tensorflow/tfjs');

const numbers = (shape, phase) => {
  const count = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(Array.from({length: count}, (_, i) => 0.2 * Math.sin(i + phase)), shape);
};
const save = (name, model, more = {}) => {
  const topology = model.toJSON(null, false);
  fs.writeFileSync(name, JSON.stringify({...topology, params: model.countParams(), ...more}) + '\n');
};

const sequential = tf.sequential({
  name: 'digits',
  layers: [
    tf.layers.conv2d({
      inputShape: [28, 28, 1], filters: 8, kernelSize: 3, activation: 'relu', kernelInitializer: 'heNormal',
      kernelRegularizer: tf.regularizers.l2({l2: 0.001})
    }),
    tf.layers.maxPooling2d({poolSize: 2}),
    tf.layers.batchNormalization(),
    tf.layers.dropout({rate: 0.25}),
    tf.layers.flatten(),
    tf.layers.dense({units: 10, activation: 'softmax'})
  ]
});
save('tfjs_sequential.json', sequential);

const image = tf.input({shape: [16, 16, 3], name: 'image'});
const extra = tf.input({shape: [4], name: 'extra'});
const shared = tf.layers.conv2d(
    {filters: 6, kernelSize: [3, 5], padding: 'same', useBias: false, name: 'shared', dilationRate: 2});
const a = shared.apply(tf.layers.zeroPadding2d({padding: [[1, 2], [0, 1]], name: 'pad'}).apply(image));
const b = shared.apply(tf.layers.upSampling2d({size: [2, 2], name: 'up'}).apply(image));
let left = tf.layers.globalAveragePooling2d({name: 'average'}).apply(a);
let right = tf.layers.averagePooling2d({poolSize: 2, padding: 'same', name: 'halved'}).apply(b);
right = tf.layers.separableConv2d({filters: 6, kernelSize: 3, name: 'separable'}).apply(right);
right = tf.layers.batchNormalization({epsilon: 0.01, name: 'normalised'}).apply(right);
right = tf.layers.depthwiseConv2d({kernelSize: 3, name: 'depthwise'}).apply(right);
right = tf.layers.conv2dTranspose({filters: 6, kernelSize: 3, strides: 2, name: 'transposed'}).apply(right);
right = tf.layers.globalMaxPooling2d({name: 'largest'}).apply(right);
const inner = tf.sequential({
  name: 'inner',
  layers: [
    tf.layers.dense({units: 6, inputShape: [4], activation: 'tanh', name: 'inner_dense'}),
    tf.layers.layerNormalization({name: 'inner_norm'})
  ]
});
const e = inner.apply(extra);
const product = tf.layers.multiply({name: 'product'}).apply([tf.layers.add({name: 'sum'}).apply([left, right]), e]);
let x = tf.layers.concatenate({name: 'joined'}).apply([product, e]);
x = tf.layers.leakyReLU({alpha: 0.1, name: 'leaky'}).apply(x);
x = tf.layers.reLU({maxValue: 6, name: 'bounded'}).apply(x);
x = tf.layers.reshape({targetShape: [3, 4], name: 'reshaped'}).apply(x);
x = tf.layers.flatten({name: 'flat'}).apply(tf.layers.permute({dims: [2, 1], name: 'permuted'}).apply(x));
const logits = tf.layers.dense({
  units: 3, name: 'logits', kernelInitializer: tf.initializers.truncatedNormal({stddev: 0.1}),
  biasInitializer: tf.initializers.constant({value: 0.5}), biasRegularizer: tf.regularizers.l1l2({l1: 0.1, l2: 0.2}),
  kernelRegularizer: tf.regularizers.l1({l1: 0.25})
}).apply(x);
const functional = tf.model({
  name: 'two_ways',
  inputs: [image, extra],
  outputs: [
    tf.layers.softmax({name: 'shares'}).apply(logits),
    tf.layers.activation({activation: 'sigmoid', name: 'gates'}).apply(x)
  ]
});
for (const weight of functional.weights) {
  const values = numbers(weight.shape, weight.originalName.length);
  weight.write(weight.originalName.endsWith('variance') ? tf.add(values, 1) : values);
}
const outputs = functional.predict([numbers([2, 16, 16, 3], 0), numbers([2, 4], 1)]);
save('tfjs_functional.json', functional,
     {expected: outputs.map(output => Array.from(output.dataSync())), weights: functional.weights.map(w => w.originalName)});
