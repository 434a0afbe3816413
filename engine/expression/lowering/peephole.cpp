#include <algorithm>

#include "engine/expression/lowering/passes.hpp"

// Joins the steps that square a float32 column and add the square, so that a distance takes one step a column.
namespace skyrank::exec::lowering {
namespace {

/// Returns true if a step is an operation on two floats, the right one of which comes from `from` and is not NULL if it
/// is a constant.
bool is_of_floats(const Step& step, Act act, From from) {
  return step.act == act && step.from == from && (step.marks & (Step::kIntegers | Step::kFlag)) == 0;
}

/// Writes the steps of a program anew, each joined with those before it where it can be.
class Peephole {
 public:
  explicit Peephole(StepProgram& program) : program_(program) {}

  void run() {
    const int all = program_.step_count;
    const int first = program_.first_steps;
    program_.step_count = 0;
    take(0, first);
    program_.first_steps = program_.step_count;
    take(first, all);
    count_slots();
  }

 private:
  /// Steps from `begin` to `end` behind those that are there.
  void take(int begin, int end) {
    least_ = program_.step_count;
    for (int i = begin; i < end; ++i) {
      const Step step = program_.steps[i];
      if (!join_square(step) && !join_sum(step)) program_.steps[program_.step_count++] = step;
    }
  }

  /// The last step but `back`, of those that may be joined; nothing where there is none.
  Step* last(int back) {
    const int place = program_.step_count - 1 - back;
    return place >= least_ ? &program_.steps[place] : nullptr;
  }

  /// The square of a column of float32.
  bool join_square(const Step& step) {
    Step* const load = last(0);
    if (load == nullptr || load->act != Act::load || load->from != From::float32 || step.act != Act::square)
      return false;
    load->act = Act::load_square;
    return true;
  }

  /// A square that is added to a number that was saved for it.
  bool join_sum(const Step& step) {
    Step* const square = last(0);
    Step* const save = last(1);
    if (save == nullptr || square->act != Act::load_square || save->act != Act::save) return false;
    if (!is_of_floats(step, Act::add, From::slot) || step.slot != save->slot) return false;
    *save = *square;
    save->act = Act::add_square;
    --program_.step_count;
    return true;
  }

  void count_slots() {
    program_.number_slots = 0;
    for (int i = 0; i < program_.step_count; ++i) {
      const Step& step = program_.steps[i];
      if (step.act == Act::save) program_.number_slots = std::max(program_.number_slots, step.slot + 1);
    }
  }

  StepProgram& program_;
  int least_ = 0;
};

}  // namespace

void join_steps(StepProgram& program) { Peephole(program).run(); }

}  // namespace skyrank::exec::lowering
