// SPDX-License-Identifier: Apache-2.0
// torchvision: data sets of images and their transforms.
#include <pando/datasets/torchvision.h>

#include "bind.h"

namespace pando::python {

namespace {

namespace transforms = torchvision::transforms;
using torchvision::datasets::VisionDataset;
using transforms::Transform;

void bind_transforms(py::module_& module) {
  py::class_<Transform>(module, "Transform", "What is done to images when they are fetched.")
      .def("__call__", &Transform::operator(), py::arg("image"))
      .def("is_random", &Transform::is_random)
      .def("__str__", [](const Transform& self) { return to_string(self); });
  module.def(
      "compose", [](const std::vector<Transform>& parts) -> Transform { return transforms::Compose(parts); },
      py::arg("transforms"));
  module.def("to_tensor", []() -> Transform { return transforms::ToTensor(); });
  module.def(
      "normalize",
      [](const std::vector<double>& mean, const std::vector<double>& std) -> Transform {
        return transforms::Normalize(mean, std);
      },
      py::arg("mean"), py::arg("std"));
  module.def(
      "random_crop",
      [](const std::array<std::int64_t, 2>& size, std::int64_t padding, double fill,
         const std::string& mode) -> Transform {
        return transforms::RandomCrop(size, {.padding = padding, .fill = fill, .padding_mode = mode});
      },
      py::arg("size"), py::arg("padding"), py::arg("fill"), py::arg("padding_mode"));
  module.def(
      "random_horizontal_flip", [](double p) -> Transform { return transforms::RandomHorizontalFlip(p); },
      py::arg("p"));
  module.def(
      "resize", [](const std::array<std::int64_t, 2>& size) -> Transform { return transforms::Resize(size); },
      py::arg("size"));
}

}  // namespace

void bind_vision(py::module_& module) {
  py::module_ part = module.def_submodule("torchvision", "What pando.torchvision is made of.");
  bind_transforms(part);
  py::class_<VisionDataset>(part, "VisionDataset", "Images and labels that are transformed when they are fetched.")
      .def(py::init([](const Array& images, const Array& labels, const Transform& transform,
                       const std::vector<std::string>& classes) {
             return VisionDataset({images, labels}, transform, classes);
           }),
           py::arg("images"), py::arg("labels"), py::arg("transform"), py::arg("classes"))
      .def("__len__", &VisionDataset::size)
      .def("get", &VisionDataset::get, py::arg("index"));
  part.def(
      "load",
      [](const std::string& name, const std::string& directory) {
        const datasets::Splits splits = datasets::load(name, {.directory = directory});
        return std::array{splits.train.x, splits.train.y, splits.test.x, splits.test.y};
      },
      py::arg("name"), py::arg("directory"), WithoutGil(), "Images and labels to train on, and those to test with.");
  part.def("folder_of", [](const std::string& name) {
    for (const datasets::Description& known : datasets::list())
      if (known.name == name) return known.folder;
    throw py::value_error("there is no data set named '" + name + "'");
  });
}

}  // namespace pando::python
