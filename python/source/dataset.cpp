// SPDX-License-Identifier: Apache-2.0
// Pipelines of data sets. Elements are lists of arrays; Python gives them their structure.
#include <pando/data/dataset.h>
#include <pando/datasets/datasets.h>
#include <pando/model/tensor_program.h>

#include "bind.h"

namespace pando::python {

namespace {

using data::Dataset;
using data::Element;

// Python's `make` returns an iterator of lists of arrays, for each pass.
Dataset from_generator(const py::object& make) {
  return Dataset::from_generator([held = Held(make)]() -> Dataset::Generator {
    const WithGil gil;
    const Held iterator(held.get()());
    return [iterator]() -> std::optional<Element> {
      const WithGil running;
      PyObject* next = PyIter_Next(iterator.get().ptr());
      if (next == nullptr && PyErr_Occurred() != nullptr) throw py::error_already_set();
      if (next == nullptr) return std::nullopt;
      return py::reinterpret_steal<py::object>(next).cast<Element>();
    };
  });
}

void bind_pipeline(py::module_& module) {
  py::class_<Dataset> dataset(module, "Dataset", "A pipeline that hands out the elements of a data set.");
  dataset.def_static("from_tensor_slices", &Dataset::from_tensor_slices)
      .def_static("from_generator", &from_generator)
      .def_static("zip", &Dataset::zip)
      .def("shuffle",
           [](const Dataset& self, std::int64_t buffer, std::optional<std::uint64_t> seed, bool reshuffle) {
             return self.shuffle(buffer, {.seed = seed, .reshuffle_each_iteration = reshuffle});
           })
      .def("batch", [](const Dataset& self, std::int64_t size,
                       bool drop_remainder) { return self.batch(size, {.drop_remainder = drop_remainder}); })
      .def("unbatch", &Dataset::unbatch)
      .def("map",
           [](const Dataset& self, const Function<Element(const Element&)>& function) { return self.map(function); })
      // Runs without Python.
      .def(
          "map_program",
          [](const Dataset& self, const TensorProgram& program, std::int64_t parallel_calls) {
            return self.map(program, {.parallel_calls = parallel_calls});
          },
          py::arg("program"), py::arg("parallel_calls") = 1)
      .def("filter", &Dataset::filter)
      .def("repeat", &Dataset::repeat)
      .def("take", &Dataset::take)
      .def("skip", &Dataset::skip)
      .def("concatenate", &Dataset::concatenate)
      .def("cache", &Dataset::cache)
      .def("prefetch", &Dataset::prefetch)
      .def("cardinality", &Dataset::cardinality)
      .def("iterator", &Dataset::iterator);
  py::class_<Dataset::Iterator, EndsWithoutGil<Dataset::Iterator>>(module, "DatasetIterator")
      .def("next", &Dataset::Iterator::next, WithoutGil());
}

}  // namespace

void bind_datasets(py::module_& module) {
  bind_pipeline(module);
  module.def(
      "load_dataset",
      [](const std::string& name, const std::string& directory) {
        datasets::Splits splits;
        {
          const GilRelease release;
          splits = datasets::load(name, {.directory = directory});
        }
        return py::make_tuple(splits.train.x, splits.train.y, splits.test.x, splits.test.y);
      },
      py::arg("name"), py::arg("directory") = "",
      "The arrays of a data set: training images and labels, test images and labels.");
  module.def("dataset_available", &datasets::available, "Whether the data set is on this machine.");
  module.def(
      "dataset_folder",
      [](const std::string& name) {
        for (const datasets::Description& known : datasets::list())
          if (known.name == name) return known.folder;
        throw py::value_error("there is no data set named '" + name + "'");
      },
      py::arg("name"), "The folder with the files of the data set; empty if it is not on this machine.");
  module.def("synthetic_digits", [](int train, int test, std::uint64_t seed) {
    const datasets::Splits splits = datasets::synthetic_digits(train, test, seed);
    return py::make_tuple(splits.train.x, splits.train.y, splits.test.x, splits.test.y);
  });
}

}  // namespace pando::python
