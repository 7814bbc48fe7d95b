// SPDX-License-Identifier: Apache-2.0
// Reads what print.cpp writes, line by line: the first word of a line says what it holds. For tests that compare plans
// or begin with one.
#include "plan/parse.h"

#include <fmt/format.h>

#include "graph/parse.h"

namespace pando {

namespace {

class PlanParser {
 public:
  explicit PlanParser(FindOp find_op) : find_op_(find_op) {}

  Plan run(std::string_view text) {
    for_each_line(text, [this](LineReader& line) { parse_line(line); });
    return std::move(plan_);
  }

  const Plan& plan() const { return plan_; }

  void parse_line(LineReader& line) {
    if (line.take("plan")) parse_header(line);
    else if (line.take("feed")) plan_.inputs.push_back(parse_port(line, PortKind::host));
    else if (line.take("variable")) plan_.variables.push_back(parse_variable(line));
    else if (line.take("output")) plan_.outputs.push_back(parse_port(line, PortKind::result));
    else if (line.take("constant")) parse_constant(line);
    else if (line.take("superstep")) plan_.supersteps.emplace_back();
    else if (line.peek('b')) parse_buffer(line);
    else parse_call(line);
  }

  VariablePort parse_variable(LineReader& line) {
    VariablePort variable;
    variable.name = line.quoted();
    line.expect("=");
    variable.buffer = parse_buffer_number(line);
    variable.type = parse_type(line);
    variable.role = variable_role_named(line.word());
    variable.assigned = line.take("assigned");
    return variable;
  }

 private:
  void parse_header(LineReader& line) {
    line.expect("arena");
    plan_.arena_bytes = line.number<std::size_t>();
    line.expect("feed");
    plan_.feed_bytes = line.number<std::size_t>();
    plan_.check_numerics = line.take("check_numerics");
    plan_.mixed_bfloat16 = line.take("mixed_bfloat16");
    plan_.tf32 = line.take("tf32");
  }

  void parse_buffer(LineReader& line) {
    line.expect(fmt::format("b{}", plan_.buffers.size()));
    line.expect("=");
    Buffer buffer;
    if (line.take("arena")) buffer.offset = line.number<std::size_t>();
    else if (line.take("feed"))
      buffer = {.kind = Buffer::Kind::feed, .offset = line.number<std::size_t>(), .index = feeds_++};
    else if (line.take("variable")) buffer = {.kind = Buffer::Kind::variable, .index = line.number<std::int32_t>()};
    else if (line.take("constant")) buffer = {.kind = Buffer::Kind::constant, .index = line.number<std::int32_t>()};
    else if (line.take("counter")) buffer = {.kind = Buffer::Kind::counter};
    else line.fail("a buffer is arena, feed, variable, constant or counter");
    line.expect(",");
    buffer.bytes = line.number<std::size_t>();
    line.expect("bytes");
    plan_.buffers.push_back(buffer);
  }

  void parse_constant(LineReader& line) {
    const Array values = parse_array(line);
    const Type type = parse_type(line);
    plan_.constants.push_back(values.astype(type.dtype).reshape(type.shape));
  }

  std::int32_t parse_buffer_number(LineReader& line) {
    if (line.take("none")) return -1;
    line.expect("b");
    const auto number = line.number<std::int32_t>();
    if (number < 0 || static_cast<std::size_t>(number) >= plan_.buffers.size())
      line.fail(fmt::format("there is no buffer b{}", number));
    return number;
  }

  Port parse_port(LineReader& line, PortKind usual) {
    Port port;
    port.name = line.quoted();
    line.expect("=");
    port.buffer = parse_buffer_number(line);
    port.type = parse_type(line);
    port.every_step = line.take("every_step");
    port.kind = usual;
    if (port.every_step || line.at_end()) return port;
    port.kind = port_kind_named(line.word());
    port.number = line.number<std::int32_t>();
    port.every_step = line.take("every_step");
    return port;
  }

  std::vector<Operand> parse_operands(LineReader& line) {
    std::vector<Operand> operands;
    line.list("(", ")", [&] {
      Operand& operand = operands.emplace_back();
      operand.buffer = parse_buffer_number(line);
      operand.type = parse_type(line);
      if (!line.take("from")) return;
      operand.first = line.number<std::int64_t>();
      line.expect("by");
      line.list("[", "]", [&] { operand.strides.push_back(line.number<std::int64_t>()); });
    });
    return operands;
  }

  void parse_call(LineReader& line) {
    if (plan_.supersteps.empty()) line.fail("a kernel stands before the first superstep");
    KernelCall call;
    call.outputs = parse_operands(line);
    line.expect("=");
    call.op = &find_op_(line.word());
    call.inputs = parse_operands(line);
    call.attributes = parse_attributes(line, *call.op, find_op_);
    for (const auto& definition : call.op->attributes)
      if (call.attributes.find(definition.name) == nullptr)
        call.attributes.set(std::string(definition.name), definition.default_value);
    parse_origin(line, call.name, call.layer);
    plan_.supersteps.back().push_back(std::move(call));
  }

  FindOp find_op_;
  Plan plan_;
  std::int32_t feeds_ = 0;
};

class StepPlanParser {
 public:
  explicit StepPlanParser(FindOp find_op) : find_op_(find_op), plan_parser_(find_op) {}

  StepPlan run(std::string_view text) {
    for_each_line(text, [this](LineReader& line) { parse_line(line); });
    end_program();
    return std::move(step_);
  }

 private:
  void parse_line(LineReader& line) {
    if (line.take("step of")) parse_header(line);
    else if (line.take("schedule")) parse_schedule(line);
    else if (line.take("host")) parse_fields(line, step_.host);
    else if (line.take("results")) parse_fields(line, step_.results);
    else if (line.take("exchange")) parse_fields(line, step_.exchange);
    else if (line.take("stage")) parse_stage(line);
    else if (line.take("slot")) parse_fields(line, stage(line).slot);
    else if (line.take("sum")) stage(line).sums.push_back(plan_parser_.parse_variable(line));
    else if (line.take("statistic")) stage(line).statistics.push_back(plan_parser_.parse_variable(line));
    else if (line.take("program")) parse_program(line);
    else if (program_) plan_parser_.parse_line(line);
    else parse_field(line);
  }

  void parse_header(LineReader& line) {
    step_.replicas = line.number<int>();
    line.expect("replicas,");
    step_.rows_per_update = line.number<std::int64_t>();
    line.expect("rows an update,");
    step_.batch_size = line.number<std::int64_t>();
    line.expect("samples a micro-batch");
  }

  void parse_schedule(LineReader& line) {
    step_.schedule.name = line.word();
    line.expect("period");
    step_.schedule.period = line.number<std::int64_t>();
    for (auto& [word, offsets] :
         {std::pair("forward", &step_.schedule.forward), {"backward", &step_.schedule.backward}}) {
      line.expect(word);
      line.list("[", "]", [&, &list = *offsets] { list.push_back(line.number<std::int64_t>()); });
    }
  }

  void parse_fields(LineReader& line, Fields& fields) {
    fields.bytes = line.number<std::size_t>();
    line.expect("bytes");
    fields_ = &fields;
  }

  void parse_field(LineReader& line) {
    if (fields_ == nullptr) line.fail("a place stands before the memory that it is in");
    Field& field = fields_->list.emplace_back();
    field.offset = line.number<std::size_t>();
    line.expect("=");
    field.name = line.quoted();
    field.type = parse_type(line);
    field.kind = port_kind_named(line.word());
    field.number = line.number<std::int32_t>();
    field.every_step = line.take("every_step");
  }

  void parse_stage(LineReader& line) {
    end_program();
    fields_ = nullptr;
    line.expect(fmt::format("{}", step_.stages.size()));
    step_.stages.emplace_back();
  }

  StagePlan& stage(LineReader& line) {
    if (step_.stages.empty()) line.fail("this stands before the first stage");
    return step_.stages.back();
  }

  void parse_program(LineReader& line) {
    StagePlan& own = stage(line);
    end_program();
    const std::string name = line.word();
    for (const auto& [known, program] : stage_programs)
      if (known == name) program_ = &(own.*program);
    if (program_ == nullptr) line.fail(fmt::format("a stage has no program '{}'", name));
  }

  void end_program() {
    if (program_ == nullptr) return;
    *program_ = plan_parser_.plan();
    program_ = nullptr;
    plan_parser_ = PlanParser(find_op_);
  }

  const FindOp find_op_;
  StepPlan step_;
  PlanParser plan_parser_;
  // What the next lines are added to.
  Fields* fields_ = nullptr;
  std::optional<Plan>* program_ = nullptr;
};

}  // namespace

Plan parse_plan(std::string_view text, FindOp find_op) { return PlanParser(find_op).run(text); }

StepPlan parse_step_plan(std::string_view text, FindOp find_op) { return StepPlanParser(find_op).run(text); }

}  // namespace pando
