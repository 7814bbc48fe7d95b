#include "backends/cpu/onednn.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <oneapi/dnnl/dnnl.hpp>

#include "backends/cpu/kernels/correlation.h"
#include "backends/cpu/kernels/epilogue.h"

namespace pando::cpu {

namespace {

using dnnl::memory;

// Tiles beyond these get no share; each has its own handles, because binding memory to them is not thread-safe.
constexpr int most_tiles = 64;
// The weight gradient is shared out by blocks of filters, one vector of the widest instruction set each.
constexpr std::int64_t filter_block = 16;
// oneDNN allocates while it runs, which kernels promise not to do, so it is used only where it is asked for.
bool wants(const KernelCall& call) {
  const char* const setting = std::getenv("PANDO_ONEDNN");
  const std::string_view choice = setting == nullptr ? "never" : setting;
  if (choice != "always" && choice != "never")
    throw Error(fmt::format("PANDO_ONEDNN is '{}'; use always or never", choice));
  return choice == "always" && call.inputs[0].type.dtype == DType::float32 && call.attributes.integer("groups") == 1 &&
         call.inputs[0].type.shape.elements() > 0 && call.inputs[1].type.shape.elements() > 0 &&
         call.outputs[0].type.shape.elements() > 0;
}

// While it lives, oneDNN uses no helpers of its own in this thread: a tile is one thread. OpenMP's functions are looked
// up at run time, since oneDNN may be built on any OpenMP or none.
class OneThread {
 public:
  OneThread() {
    if (!openmp().set_threads) return;
    before_ = openmp().get_threads();
    openmp().set_threads(1);
  }
  ~OneThread() {
    if (openmp().set_threads) openmp().set_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct OpenMp {
    void (*set_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    int (*get_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  };
  static const OpenMp& openmp() {
    static const OpenMp functions;
    return functions;
  }

  int before_ = 1;
};

const dnnl::engine& engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

template <class Make>
auto check(const KernelCall& call, Make make) {
  try {
    const OneThread one_thread;
    return make();
  } catch (const dnnl::error& error) {
    throw Error(
        fmt::format("oneDNN refuses '{}': {}; set PANDO_ONEDNN=never to do without it", call.name, error.what()));
  }
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// A primitive with a set of argument handles for each tile; its last argument is its scratchpad.
class Stage {
 public:
  struct Argument {
    int name;
    memory::desc desc;
  };

  template <class Description>
  Stage(const dnnl::primitive& primitive, const Description& description, std::vector<Argument> arguments)
      : primitive_(primitive), scratchpad_bytes_(description.scratchpad_desc().get_size()) {
    arguments.push_back({DNNL_ARG_SCRATCHPAD, description.scratchpad_desc()});
    for (int tile = 0; tile < most_tiles; ++tile) {
      streams_.emplace_back(engine());
      for (const Argument& argument : arguments) {
        memories_.emplace_back(argument.desc, engine(), static_cast<void*>(DNNL_MEMORY_NONE));
        arguments_.push_back({argument.name, memories_.back().get()});
      }
    }
    count_ = arguments.size();
  }

  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

  // The pointers are those of the arguments. What could go wrong was found when the primitive was made.
  template <std::size_t count>
  void run(const Tile& tile, const std::array<const void*, count>& pointers) const {
    const dnnl_exec_arg_t* const arguments = arguments_.data() + static_cast<std::size_t>(tile.index) * count_;
    for (std::size_t i = 0; i < count; ++i) {
      dnnl_memory_set_data_handle(arguments[i].memory, const_cast<void*>(pointers[i]));
    }
    dnnl_primitive_execute(primitive_.get(), streams_[static_cast<std::size_t>(tile.index)].get(),
                           static_cast<int>(count), arguments);
  }

 private:
  dnnl::primitive primitive_;
  std::size_t scratchpad_bytes_, count_ = 0;
  std::vector<dnnl::stream> streams_;
  std::vector<memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

Stage make_reorder(const memory::desc& from, const memory::desc& to) {
  const dnnl::reorder::primitive_desc description(engine(), from, engine(), to, attributes());
  return {dnnl::reorder(description), description, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

// [n, h, w, c], `channels` of its last axis.
memory::desc image_desc(std::int64_t images, const Shape& shape, std::int64_t channels) {
  return {{images, channels, shape[1], shape[2]},
          memory::data_type::f32,
          memory::dims{shape.stride(0), 1, shape.stride(1), shape.stride(2)}};
}

// [height, width, channels, filters], `filters` of its last axis.
memory::desc filter_desc(const Shape& shape, std::int64_t filters) {
  return {{filters, shape[2], shape[0], shape[1]},
          memory::data_type::f32,
          memory::dims{1, shape[3], shape.stride(0), shape.stride(1)}};
}

memory::desc any_layout(const memory::desc& desc) {
  return {desc.dims(), memory::data_type::f32, memory::format_tag::any};
}

dnnl::convolution_forward::primitive_desc forward_description(const Window& window, const memory::desc& x,
                                                              const memory::desc& filter, const memory::desc& y) {
  const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, x,
                                             filter, y, {window.strides[0], window.strides[1]},
                                             {window.dilations[0] - 1, window.dilations[1] - 1},
                                             {window.before(0), window.before(1)}, {window.after(0), window.after(1)});
  return {desc, attributes(), engine()};
}

dnnl::convolution_backward_data::primitive_desc input_gradient_description(const Window& window, const memory::desc& dx,
                                                                           const memory::desc& filter,
                                                                           const memory::desc& dy) {
  const dnnl::convolution_backward_data::desc desc(
      dnnl::algorithm::convolution_direct, dx, filter, dy, {window.strides[0], window.strides[1]},
      {window.dilations[0] - 1, window.dilations[1] - 1}, {window.before(0), window.before(1)},
      {window.after(0), window.after(1)});
  return {desc, attributes(), engine(), forward_description(window, dx, filter, dy)};
}

dnnl::convolution_backward_weights::primitive_desc weight_gradient_description(const Window& window,
                                                                               const memory::desc& x,
                                                                               const memory::desc& filter,
                                                                               const memory::desc& dy) {
  const dnnl::convolution_backward_weights::desc desc(
      dnnl::algorithm::convolution_direct, x, filter, dy, {window.strides[0], window.strides[1]},
      {window.dilations[0] - 1, window.dilations[1] - 1}, {window.before(0), window.before(1)},
      {window.after(0), window.after(1)});
  return {desc, attributes(), engine(), forward_description(window, x, filter, dy)};
}

// The share of a tile in `count` units, among the tiles that have handles.
Range share_of_tile(const Tile& tile, std::int64_t count) {
  if (tile.index >= most_tiles) return {0, 0};
  return share({.index = tile.index, .count = std::min(tile.count, most_tiles)}, count);
}

// conv2d or the gradient of its input: images one by one, after the tile has laid out the filter for itself.
class ByImage final : public Kernel {
 public:
  ByImage(const KernelCall& call, const Shape& result, Stage filter_stage, Stage stage, std::size_t filter_bytes,
          std::optional<Epilogue> epilogue)
      : source_(call.inputs[0]),
        filter_(call.inputs[1]),
        result_(call.outputs[0]),
        shape_(result),
        filter_stage_(std::move(filter_stage)),
        stage_(std::move(stage)),
        epilogue_(std::move(epilogue)) {
    filter_scratch_ = layout_.add(filter_bytes);
    scratchpad_ = layout_.add(std::max(filter_stage_.scratchpad_bytes(), stage_.scratchpad_bytes()));
    if (!epilogue_) return;
    epilogue_scratch_ = layout_.add(epilogue_->scratch_bytes());
    if (!epilogue_->raw_in_output()) raw_scratch_ = layout_.add_elements<float>(shape_.stride(0));
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range images = share_of_tile(tile, shape_[0]);
    if (images.begin == images.end) return;
    const OneThread one_thread;
    std::byte* const filter = tile.scratch + filter_scratch_;
    std::byte* const scratchpad = tile.scratch + scratchpad_;
    filter_stage_.run<3>(tile, {pointer<float>(tile, filter_), filter, scratchpad});
    if (epilogue_) epilogue_->begin(tile, tile.scratch + epilogue_scratch_);
    for (std::int64_t image = images.begin; image < images.end; ++image) {
      const std::int64_t first = image * shape_.stride(0);
      float* const raw = epilogue_ && !epilogue_->raw_in_output() ? at<float>(tile.scratch, raw_scratch_)
                                                                  : pointer<float>(tile, result_) + first;
      stage_.run<4>(tile,
                    {pointer<float>(tile, source_) + image * source_.type.shape.stride(0), filter, raw, scratchpad});
      if (epilogue_) epilogue_->finish(tile, tile.scratch + epilogue_scratch_, first, shape_.stride(0), raw);
    }
  }

 private:
  Operand source_, filter_, result_;
  Shape shape_;
  Stage filter_stage_, stage_;
  std::optional<Epilogue> epilogue_;
  ScratchLayout layout_;
  std::size_t filter_scratch_ = 0, scratchpad_ = 0, epilogue_scratch_ = 0, raw_scratch_ = 0;
};

// The gradient of a block of filters: its dy copied to oneDNN's layout, and its weights back from it.
struct FilterBlock {
  FilterBlock(const KernelCall& call, const Window& window, std::int64_t filters)
      : FilterBlock(image_desc(call.inputs[1].type.shape[0], call.inputs[1].type.shape, filters),
                    filter_desc(call.outputs[0].type.shape, filters),
                    image_desc(call.inputs[0].type.shape[0], call.inputs[0].type.shape, call.inputs[0].type.shape[3]),
                    window) {}
  FilterBlock(const memory::desc& dy, const memory::desc& filter, const memory::desc& x, const Window& window)
      : FilterBlock(dy, filter, x, weight_gradient_description(window, x, any_layout(filter), any_layout(dy))) {}
  FilterBlock(const memory::desc& dy, const memory::desc& filter, const memory::desc& x,
              const dnnl::convolution_backward_weights::primitive_desc& description)
      : dy_stage(make_reorder(dy, description.diff_dst_desc())),
        stage(dnnl::convolution_backward_weights(description), description,
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_DIFF_DST, description.diff_dst_desc()},
               {DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc()}}),
        filter_stage(make_reorder(description.diff_weights_desc(), filter)),
        dy_bytes(description.diff_dst_desc().get_size()),
        filter_bytes(description.diff_weights_desc().get_size()),
        scratchpad_bytes(
            std::max({dy_stage.scratchpad_bytes(), stage.scratchpad_bytes(), filter_stage.scratchpad_bytes()})) {}

  Stage dy_stage, stage, filter_stage;
  std::size_t dy_bytes, filter_bytes, scratchpad_bytes;
};

class ByFilterBlock final : public Kernel {
 public:
  ByFilterBlock(const KernelCall& call, const Window& window)
      : x_(call.inputs[0]), dy_(call.inputs[1]), result_(call.outputs[0]), filters_(result_.type.shape[3]) {
    blocks_.emplace_back(call, window, std::min(filter_block, filters_));
    if (filters_ > filter_block && filters_ % filter_block != 0) {
      blocks_.emplace_back(call, window, filters_ % filter_block);
    }
    std::size_t dy_bytes = 0, filter_bytes = 0, scratchpad_bytes = 0;
    for (const FilterBlock& block : blocks_) {
      dy_bytes = std::max(dy_bytes, block.dy_bytes);
      filter_bytes = std::max(filter_bytes, block.filter_bytes);
      scratchpad_bytes = std::max(scratchpad_bytes, block.scratchpad_bytes);
    }
    dy_scratch_ = layout_.add(dy_bytes);
    filter_scratch_ = layout_.add(filter_bytes);
    scratchpad_ = layout_.add(scratchpad_bytes);
  }

  std::size_t scratch_bytes() const override { return layout_.bytes(); }

  void run(const Tile& tile) const override {
    const Range blocks = share_of_tile(tile, divide_up(filters_, filter_block));
    if (blocks.begin == blocks.end) return;
    const OneThread one_thread;
    std::byte* const dy = tile.scratch + dy_scratch_;
    std::byte* const filter = tile.scratch + filter_scratch_;
    std::byte* const scratchpad = tile.scratch + scratchpad_;
    for (std::int64_t i = blocks.begin; i < blocks.end; ++i) {
      const std::int64_t first = i * filter_block;
      const FilterBlock& block = first + filter_block <= filters_ ? blocks_.front() : blocks_.back();
      block.dy_stage.run<3>(tile, {pointer<float>(tile, dy_) + first, dy, scratchpad});
      block.stage.run<4>(tile, {pointer<float>(tile, x_), dy, filter, scratchpad});
      block.filter_stage.run<3>(tile, {filter, pointer<float>(tile, result_) + first, scratchpad});
    }
  }

 private:
  Operand x_, dy_, result_;
  std::int64_t filters_;
  // For whole blocks, and for the last one if it is smaller.
  std::vector<FilterBlock> blocks_;
  ScratchLayout layout_;
  std::size_t dy_scratch_ = 0, filter_scratch_ = 0, scratchpad_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> onednn_conv2d(const KernelCall& call, const Routines& routines) {
  const Shape &x = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape;
  if (!wants(call)) return nullptr;
  const Window window = conv_window(call.attributes, filter);
  const Shape y = convolved_shape(call, window);
  return check(call, [&] {
    const memory::desc plain = filter_desc(filter, filter[3]);
    const auto description =
        forward_description(window, image_desc(1, x, x[3]), any_layout(plain), image_desc(1, y, y[3]));
    Stage stage(dnnl::convolution_forward(description), description,
                {{DNNL_ARG_SRC, description.src_desc()},
                 {DNNL_ARG_WEIGHTS, description.weights_desc()},
                 {DNNL_ARG_DST, description.dst_desc()}});
    return std::make_unique<ByImage>(call, y, make_reorder(plain, description.weights_desc()), std::move(stage),
                                     description.weights_desc().get_size(),
                                     Epilogue(call, 2, {DType::float32, y}, routines));
  });
}

std::unique_ptr<Kernel> onednn_conv2d_input_gradient(const KernelCall& call) {
  const Shape &dy = call.inputs[0].type.shape, &filter = call.inputs[1].type.shape, &dx = call.outputs[0].type.shape;
  if (!wants(call)) return nullptr;
  const Window window = conv_window(call.attributes, filter);
  return check(call, [&] {
    const memory::desc plain = filter_desc(filter, filter[3]);
    const auto description =
        input_gradient_description(window, image_desc(1, dx, dx[3]), any_layout(plain), image_desc(1, dy, dy[3]));
    Stage stage(dnnl::convolution_backward_data(description), description,
                {{DNNL_ARG_DIFF_DST, description.diff_dst_desc()},
                 {DNNL_ARG_WEIGHTS, description.weights_desc()},
                 {DNNL_ARG_DIFF_SRC, description.diff_src_desc()}});
    return std::make_unique<ByImage>(call, dx, make_reorder(plain, description.weights_desc()), std::move(stage),
                                     description.weights_desc().get_size(), std::nullopt);
  });
}

std::unique_ptr<Kernel> onednn_conv2d_weight_gradient(const KernelCall& call) {
  const Shape& filter = call.outputs[0].type.shape;
  if (!wants(call)) return nullptr;
  return check(call, [&] { return std::make_unique<ByFilterBlock>(call, conv_window(call.attributes, filter)); });
}

}  // namespace pando::cpu
