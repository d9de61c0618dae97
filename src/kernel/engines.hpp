// One program solved: the quicker engine first, and where that stalls another goes on from what it found.
//
// The simplex is for straight penalties and goes on from whatever its pool holds; the proximal method is for rankings
// without group limits; the interior point takes what neither can.
#pragma once

#include "certificate.hpp"
#include "columns.hpp"
#include "proximal.hpp"

namespace excalibr {

enum class Engine : int { none = 0, simplex = 1, proximal = 2, interior = 3 };

// A lottery by slot, the prices that prove its gap, and what it took.
struct Answer {
    Lottery lottery;
    std::vector<double> prices;
    Certificate certificate;
    Engine engine = Engine::none;
    Effort effort;

    double gap() const { return certificate.gap; }
};

class Engines {
  public:
    explicit Engines(Watcher& watcher);
    ~Engines();
    Engines(const Engines&) = delete;
    Engines& operator=(const Engines&) = delete;

    // Solve a program from nothing.
    void solve(const Program& program, const Limits& limits, Answer& answer);

    // The same by one engine alone, which must be able to: no other goes on where it stalls.
    void solve_by(Engine engine, const Program& program, const Limits& limits, Answer& answer);

    // Solve the same program at other gains and slopes, one after the other, each from all that was found before. `scores`
    // are what the gains are multiples of. `begin` forgets what was found; `first_prices` may be empty.
    void begin_sweep(const Program& program);
    void solve_next(const Program& program, Reals scores, double factor, Reals first_prices, const Limits& limits,
                    Answer& answer);

    // The rankings and weights of a lottery by slot thinned to at most r + 1, with the same shares and the same relevance.
    // Returns about how many multiplications it took.
    double thin(const Program& program, const Lottery& lottery, Lottery& thinned);

    Certificate certify(const Program& program, const Lottery& lottery, Reals prices);

  private:
    void load(const Program& program, const Limits& limits);
    void settle_for_order(const Program& program, Answer& answer);
    void tell_units(const Program& program);
    void keep_better(Answer& answer);
    void solve_steadied(const Program& program, const Limits& limits, Answer& answer);
    void solve_by_proximal_method(const Program& program, const Limits& limits, Answer& answer);
    template <class Master>
    void solve_by_columns(const Program& program, const Limits& limits, Master& master, Engine engine, const Answer* first,
                          Answer& answer);
    template <class Master>
    void generate(const Program& program, const Limits& limits, const ColumnStart& start, Master& master, Engine engine,
                  Answer& answer);
    void finish(const Program& program, const Limits& limits, Answer& answer);
    void prove_by_slopes(const Program& program, Answer& answer);
    double engine_tolerance(const Program& program, const Limits& limits) const;

    Watcher& watcher_;
    Program steadied_;
    ScaledProgram scaled_;
    ProximalMethod proximal_;
    SimplexMaster simplex_;
    InteriorMaster interior_;
    ColumnGeneration columns_;
    LotteryMaker lotteries_;
    Certifier certifier_;
    RankingOracle oracle_;
    SortScratch scratch_;
    Lottery by_rank_;
    Answer second_;
    std::vector<double> centred_, slopes_;
    std::vector<Index> order_;
    bool sweep_has_basis_ = false;
};

}  // namespace excalibr
