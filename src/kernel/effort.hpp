// How a solve ended and what it took; how far it may go, and who watches that it goes no further.
#pragma once

#include <cstddef>
#include <limits>
#include <string>

namespace excalibr {

enum class Status : int {
    converged = 0,           // the gap that was asked is proven
    sorts_spent = 1,         // the cap on sorts was reached first
    stalled = 2,             // no more progress: rounding is in the way
    time_limit_reached = 3,  // the clock ended a loop: another run may end elsewhere
};

struct Effort {
    Status status = Status::stalled;
    std::size_t sorts = 0;
    std::size_t steps = 0;    // pivots, Newton steps or interior-point steps
    double operations = 0.0;  // about how many multiplications those were

    void add(const Effort& more) {
        status = more.status;
        sorts += more.sorts;
        steps += more.steps;
        operations += more.operations;
    }
};

struct Limits {
    double tolerance = 1e-9;  // of the gap, relative to the spread of the gains
    std::size_t max_sorts = static_cast<std::size_t>(-1);
    double effort = 1.0;      // the part that an engine may have of what it usually may take
};

// Who asked for a solve: may interrupt it, and reads along.
class Caller {
  public:
    virtual bool interrupts(double time) = 0;  // asked between users, and whenever the clock is looked at
    virtual void read(const std::string& line) = 0;

  protected:
    ~Caller() = default;
};

// What every loop asks whether to stop: the user's time is over, or the caller interrupts.
//
// A loop says how many multiplications, about, it has done since it asked before, and the clock is looked at where these are
// worth it. Once the answer is yes it stays yes: every loop above ends as well, with the best that is there, and none has to
// be told why. What is left to do then, as to make rankings of an exposure, has the rest of the time, and asks `late`.
class Watcher {
  public:
    Watcher() = default;
    Watcher(const Watcher&) = delete;
    Watcher& operator=(const Watcher&) = delete;

    void attend(Caller* caller, bool verbose);  // from now on; nobody is nullptr

    // With a user, who has so many seconds; less than 0 are so many questions instead, so that tests can stop at each.
    void begin(double time_limit);
    void solve_until(double part);  // of the time limit
    void spend(double share);       // … of that part, which leaves the rest of it for a later `spend(1.0)`

    bool stop(double operations = 0.0) {
        return stopped_ || ((since_ += operations) >= patience_ && is_over(stopped_, solving_ends_));
    }
    bool late(double operations = 0.0) {
        return late_ || (stopped_ && all_or_nothing) || ((since_ += operations) >= patience_ && is_over(late_, ends_));
    }
    bool all_or_nothing = false;  // what is being solved is of no use unless it is solved to the end
    bool limited() const { return limit_ < std::numeric_limits<double>::infinity(); }  // whether there is a time limit
    bool pressed() const { return pressed_; }      // … of which so much is over that a stop may be near
    bool cut_short() const { return cut_short_; }  // whether the answer was yes for this user
    bool interrupted() const { return interrupted_; }

    // The lines of `verbose`. An engine tells its own objective and bound: `unit` of the caller's, less `best` and `fixed`,
    // what is there whatever is decided. The size is ρ, or how many rankings a master has.
    bool verbose() const { return verbose_; }
    void tell(const std::string& line);
    void tell(const char* engine, std::size_t step, std::size_t sorts, double objective, double bound, double size);
    double unit = 1.0, best = 0.0, fixed = 0.0;

  private:
    bool is_over(bool& over, double end);
    double now();

    Caller* caller_ = nullptr;
    bool counts_questions_ = false;
    double questions_ = 0.0;
    double since_ = 0.0, patience_ = std::numeric_limits<double>::infinity();
    double began_ = 0.0, limit_ = std::numeric_limits<double>::infinity(), part_ = 1.0, ends_ = 0.0, solving_ends_ = 0.0, pressing_ = 0.0;
    bool stopped_ = false, pressed_ = false, late_ = false, cut_short_ = false, interrupted_ = false, verbose_ = false;
};

}  // namespace excalibr
