#include "bindings_alone.hpp"

#include <chrono>

namespace excalibr::bindings {
namespace {

constexpr double signals_every = 0.1;
constexpr std::size_t room_worth_keeping = 20'000;  // candidates and pairs of categories: a few megabytes
thread_local std::unique_ptr<RangeSolver> kept;

}  // namespace

void take_asked(const nb::tuple& asked, Users& users) {
    users.smoothing = nb::cast<double>(asked[0]);
    users.aim = static_cast<Aim>(nb::cast<int>(asked[1]));
    users.budget = nb::cast<double>(asked[2]);
    users.draws = static_cast<Draws>(nb::cast<int>(asked[3]));
    users.limits.tolerance = nb::cast<double>(asked[4]);
    if (const auto sorts = nb::cast<std::int64_t>(asked[5]); sorts >= 0)
        users.limits.max_sorts = static_cast<std::size_t>(sorts);
    users.time_limit = nb::cast<double>(asked[6]);
}

void take_checked(const Checked& checked, Users& users) {
    users.scores = checked.scores;
    users.starts = checked.starts;
    users.items = checked.items;
    users.table = checked.rows.view();
    users.r = checked.r();
    users.ends = checked.ends;
    users.targets = checked.targets.view();
    users.highs = checked.highs;
    users.rest = checked.rest;
}

Setting::Setting(const RealArray& position_weights, double trade_off, const nb::tuple& asked)
    : weights(position_weights.data, position_weights.data + position_weights.size), own_trade_off(trade_off),
      slots(static_cast<std::int64_t>(position_weights.size)) {
    take_asked(asked, users);
}

AloneUser::AloneUser(const Checked& checked, const Setting& setting) : users(setting.users) {
    require(checked.users() == 1 && setting.weights.size() <= checked.scores.size(), "one user has a candidate for each slot");
    take_checked(checked, users);
    users.slots = {&setting.slots, 1};
    users.weight_starts = {&setting.first, 1};
    users.position_weights = setting.weights;
    users.trade_offs = {&setting.own_trade_off, 1};
    users.asked = {&setting.solution, 1};
}

bool PythonCaller::interrupts(double time) {
    if (raised_ || (cancelled_ && *cancelled_)) return true;
    if (look_at_ == 0.0) look_at_ = time + signals_every;  // a short solve needs no GIL
    if (time < look_at_) return false;
    look_at_ = time + signals_every;
    const nb::gil_scoped_acquire held;
    raised_ = PyErr_CheckSignals() != 0;
    return raised_;
}

void PythonCaller::read(const std::string& line) {
    const nb::gil_scoped_acquire held;
    if (raised_) return;
    try {
        nb::module_::import_("builtins").attr("print")(nb::str(line.c_str()));
    } catch (nb::python_error& error) {  // a closed pipe, or Ctrl-C while it printed: the solve ends with it
        error.restore();
        raised_ = true;
    }
}

KeptSolver::KeptSolver(bool verbose) : solver_(kept ? std::move(kept) : std::make_unique<RangeSolver>()) {
    solver_->watcher().attend(&caller_, verbose);
}

const UserAnswer& KeptSolver::solve(const Users& users, std::size_t user) {
    const auto start = std::chrono::steady_clock::now();
    const UserAnswer& answer = solver_->solve_one(users, user);
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    room_ = users.scores.size() + solver_->rows() * solver_->rows();
    return answer;
}

void KeptSolver::keep() {
    solver_->watcher().attend(nullptr, false);
    if (room_ <= room_worth_keeping) kept = std::move(solver_);
}

}  // namespace excalibr::bindings
