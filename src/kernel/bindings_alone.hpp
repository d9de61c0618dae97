// One user who asks alone, as `calibrate` and requests in flight do: what is asked, and a solver that a thread keeps.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "bindings.hpp"
#include "checking.hpp"
#include "range.hpp"

namespace excalibr::bindings {

// Smoothing, aim, budget, draws, tolerance, max_sorts, time_limit: what is asked of every user alike.
void take_asked(const nb::tuple& asked, Users& users);

// What was checked of any number of users.
void take_checked(const Checked& checked, Users& users);

// What a user who asks alone asks beside scores, rows and targets: the same for all that have as many slots, so that
// Python keeps it, and a call neither makes arrays of one number nor reads them again.
struct Setting {
    Setting(const RealArray& position_weights, double trade_off, const nb::tuple& asked);
    Setting(const Setting&) = delete;

    std::vector<double> weights;
    double own_trade_off;
    std::int64_t slots, first = 0, solution = static_cast<std::int64_t>(Asked::solution);
    Users users;  // as far as they are asked alike
};

// The question of the only user of what was checked; it refers to both, which must outlive it.
struct AloneUser {
    AloneUser(const Checked& checked, const Setting& setting);
    AloneUser(const AloneUser&) = delete;

    Users users;
};

// Who called: Ctrl-C is looked for ten times a second, a batch may be cancelled from elsewhere, and lines go to `print`.
class PythonCaller : public Caller {
  public:
    explicit PythonCaller(const std::atomic<bool>* cancelled) : cancelled_(cancelled) {}
    bool interrupts(double time) override;
    void read(const std::string& line) override;
    void raise_if_interrupted() const {  // with the GIL, and before anything else is done with it
        if (raised_) throw nb::python_error();
    }

  private:
    const std::atomic<bool>* cancelled_;
    double look_at_ = 0.0;
    bool raised_ = false;
};

// A thread keeps its solver from call to call, which is room and never numbers: fresh memory for every call would take a
// seventh of a solve with two categories. Room for large questions is given back, as is what an exception left half made.
class KeptSolver {
  public:
    explicit KeptSolver(bool verbose = false);

    // The answer to one user's question, valid until `keep`; nothing in it needs the GIL.
    const UserAnswer& solve(const Users& users, std::size_t user);

    void raise_if_interrupted() const { caller_.raise_if_interrupted(); }

    // For the thread's next question, once the answer has been read.
    void keep();

    double seconds = 0.0;  // that the solve took

  private:
    PythonCaller caller_{nullptr};
    std::unique_ptr<RangeSolver> solver_;
    std::size_t room_ = 0;  // that the question took, in candidates and pairs of the categories that they have
};

}  // namespace excalibr::bindings
