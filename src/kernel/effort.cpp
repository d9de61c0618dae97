#include "effort.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "tuning.hpp"

namespace excalibr {

void Watcher::attend(Caller* caller, bool verbose) {
    caller_ = caller;
    verbose_ = verbose;
    interrupted_ = false;
}

void Watcher::begin(double time_limit) {
    constexpr double never = std::numeric_limits<double>::infinity();
    counts_questions_ = time_limit < 0.0;
    patience_ = counts_questions_      ? 0.0
                : time_limit < never ? tuning::patience_of_limit
                : caller_              ? tuning::patience_of_caller
                                       : never;
    since_ = questions_ = 0.0;
    began_ = now();
    limit_ = std::abs(time_limit);
    solve_until(1.0);
    interrupted_ = interrupted_ || (caller_ && caller_->interrupts(began_));
    all_or_nothing = false;
    stopped_ = late_ = interrupted_;
    cut_short_ = interrupted_;
}

void Watcher::solve_until(double part) {
    part_ = part;
    ends_ = began_ + std::max(limit_, part * limit_ + (counts_questions_ ? 0.0 : tuning::least_finishing));
    spend(1.0);
}

void Watcher::spend(double share) {
    solving_ends_ = began_ + share * part_ * limit_;
    pressing_ = began_ + tuning::pressing_part * (solving_ends_ - began_);
    stopped_ = interrupted_;
    pressed_ = false;
}

bool Watcher::is_over(bool& over, double end) {
    since_ = 0.0;
    const double time = now();
    interrupted_ = interrupted_ || (caller_ && caller_->interrupts(time));
    pressed_ = time >= pressing_;
    over = interrupted_ || time >= end;
    cut_short_ = cut_short_ || over;
    return over;
}

double Watcher::now() {
    if (counts_questions_) return ++questions_;
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Watcher::tell(const std::string& line) {
    if (verbose_) caller_->read(line);
}

void Watcher::tell(const char* engine, std::size_t step, std::size_t sorts, double objective, double bound, double size) {
    char line[128];
    std::snprintf(line, sizeof line, "%-9s %5zu %6zu  %17.10g %17.10g %9.2e  %9.3g", engine, step, sorts,
                  fixed + best + unit * objective, fixed + best + unit * bound, unit * (bound - objective), size);
    caller_->read(line);
}

}  // namespace excalibr
