#include "interior.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuning.hpp"

namespace excalibr {
namespace {

// How far a positive value may move and stay positive.
double reach(double value, double move) { return move < 0.0 ? tuning::step_to_boundary * value / -move : 1.0; }

}  // namespace

void InteriorMaster::reset(std::size_t slots, std::size_t categories, std::size_t rankings) {
    const std::size_t capacity = std::max(rankings, 4 * (categories + 8)) + 1;
    pool.reset(slots, categories, capacity);
    values_.assign(capacity, 0.0);
    weights_.assign(capacity, 0.0);
    prices_.assign(categories, 0.0);
    steps_ = 0;
    operations_ = 0.0;
}

void InteriorMaster::aim_at(double bound) {
    if (steps_ > 0) exactness_ = std::max(tolerance_, std::min(exactness_, bound - value_));
}

bool InteriorMaster::refresh(Penalties) {
    exactness_ = std::max(tolerance_, tuning::more_exactly * exactness_);
    return true;
}

bool InteriorMaster::resume(Penalties penalties, double factor, double, bool) {
    scale_ = factor;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) values_[ranking] = factor * pool.relevance[ranking];
    split_prices(penalties);
    return true;
}

// One part for each category with a price to choose, two where it has a band.
void InteriorMaster::split_prices(Penalties penalties) {
    parts_.clear();
    for (std::size_t category = 0; category < penalties.size(); ++category) {
        const double lowest = penalties[category].lowest_price(), highest = penalties[category].highest_price();
        if (!penalties[category].banded()) {
            if (lowest < highest) parts_.push_back({category, 1.0, lowest, highest});
            continue;
        }
        if (highest > 0.0) parts_.push_back({category, 1.0, 0.0, highest});
        if (lowest < 0.0) parts_.push_back({category, -1.0, 0.0, -lowest});
    }
}

std::size_t InteriorMaster::add(const ScaledProgram& program, Reals centred_scores, Indices ranking) {
    if (pool.full()) drop_idle();
    if (pool.full()) return none;
    const std::size_t place = pool.add(program, centred_scores, ranking);
    values_[place] = scale_ * pool.relevance[place];
    weights_[place] = 0.0;
    return place;
}

bool InteriorMaster::is_new(std::size_t place) const {
    for (std::size_t other = 0; other < place; ++other) {
        double apart = std::abs(values_[other] - values_[place]);
        for (std::size_t category = 0; category < pool.shares.rows() && apart <= tuning::same_column; ++category)
            apart += std::abs(pool.shares(category, other) - pool.shares(category, place));
        if (apart <= tuning::same_column) return false;
    }
    return true;
}

// From a start near today's prices; where steps end on the boundary before the gap is closed, again from further inside.
bool InteriorMaster::optimise(Penalties penalties, std::size_t, std::size_t) {
    gather_columns();
    weights_before_.assign(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(pool.count));
    best_weights_.assign(pool.count, 1.0 / static_cast<double>(pool.count));
    best_v_.assign(parts_.size(), 0.0);
    value_ = -std::numeric_limits<double>::infinity();
    lowest_bound_ = -value_;
    for (const double room : tuning::interior_rooms) {
        start_point(room);
        keep_if_better(penalties);
        follow_path(penalties);
        if (lowest_bound_ - value_ <= exactness_ || watcher_.stop()) break;
    }
    if (watcher_.stop()) {  // perhaps before it came to where it was with a ranking less
        std::copy(weights_before_.begin(), weights_before_.end(), weights_.begin());
        keep_if_better(penalties);
    }
    double total = 0.0;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) total += best_weights_[ranking];
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) weights_[ranking] = best_weights_[ranking] / total;
    std::fill(prices_.begin(), prices_.end(), 0.0);
    for (std::size_t part = 0; part < parts_.size(); ++part)
        prices_[parts_[part].category] += parts_[part].side * best_v_[part];
    return !watcher_.stop() && operations_ < tuning::effort_of(tuning::interior_effort, penalties.size());
}

// Every step goes toward a point where all products of slack and multiplier are a part of what they are now, and ends
// short of where one of the two would vanish.
void InteriorMaster::follow_path(Penalties penalties) {
    const std::size_t m = parts_.size();
    for (std::size_t step = 0; step < tuning::max_interior_steps; ++step) {
        const double product = complementarity(), aim = tuning::centring * product;
        const double residual = set_system(penalties, aim);
        const double products = product * static_cast<double>(pool.count + 2 * m);
        if (!(product > tuning::finest_complementarity) ||
            std::max(products, residual) <= tuning::interior_of_tolerance * exactness_)
            break;
        ++steps_;
        operations_ += static_cast<double>(m * m) * (static_cast<double>(m) / 6.0 + 4.0);
        if (!solve_system()) break;
        const double length = set_multiplier_steps(aim);
        if (!(length > tuning::shortest_interior_step)) break;
        advance(length);
        keep_if_better(penalties);
    }
}

// Weights and prices are worth what they are worth whatever step they come from: near the end, beside steep slopes, rounding
// may make a step a worse one, and the last is then not the best.
void InteriorMaster::keep_if_better(Penalties penalties) {
    const double value = value_of_weights(penalties), bound = bound_of_pool(penalties);
    if (value > value_) {
        value_ = value;
        best_weights_ = weights_;
    }
    if (bound < lowest_bound_) {
        lowest_bound_ = bound;
        best_v_ = v_;
    }
}

void InteriorMaster::gather_columns() {
    columns_.resize(pool.count, parts_.size());
    for (std::size_t part = 0; part < parts_.size(); ++part) {
        const Reals shares = pool.shares.row(parts_[part].category);
        for (std::size_t ranking = 0; ranking < pool.count; ++ranking)
            columns_(ranking, part) = parts_[part].side * shares[ranking];
    }
}

// Prices well inside their limits, even weights, a level that leaves every ranking some slack, and multipliers to match.
void InteriorMaster::start_point(double least_room) {
    const std::size_t m = parts_.size(), count = pool.count;
    for (auto* values : {&v_, &under_, &over_, &under_step_, &over_step_}) values->assign(m, 0.0);
    for (auto* values : {&step_, &right_, &residual_}) values->assign(m + 1, 0.0);
    for (auto* values : {&slack_, &slack_step_, &weight_step_}) values->assign(count, 0.0);
    differences_.resize(count, m);
    system_.resize(m + 1, m + 1);
    factor_.resize(m + 1, m + 1);
    for (std::size_t part = 0; part < m; ++part) {
        const Part& own = parts_[part];
        const double inside = 1e-3 * (own.most - own.least);
        v_[part] = std::min(std::max(own.side * prices_[own.category], own.least + inside), own.most - inside);
    }
    double highest = -std::numeric_limits<double>::infinity(), lowest = -highest;
    level_ = 0.0;
    for (std::size_t ranking = 0; ranking < count; ++ranking) {
        const double value = values_[ranking] - dot(v_, columns_.row(ranking));
        highest = std::max(highest, value);
        lowest = std::min(lowest, value);
    }
    const double room = std::max(0.1 * (highest - lowest), least_room);
    level_ = highest + room;
    const double even = 1.0 / static_cast<double>(count);
    for (std::size_t ranking = 0; ranking < count; ++ranking) {
        weights_[ranking] = even;
        slack_[ranking] = slack_of(ranking);
    }
    for (std::size_t part = 0; part < m; ++part) {
        under_[part] = room * even / (v_[part] - parts_[part].least);
        over_[part] = room * even / (parts_[part].most - v_[part]);
    }
}

// η + y·p − v of one ranking; kept positive where rounding would not.
double InteriorMaster::slack_of(std::size_t ranking) const {
    return std::max(level_ - values_[ranking] + dot(v_, columns_.row(ranking)), 1e-17);
}

// The mean product of slack and multiplier.
double InteriorMaster::complementarity() const {
    double total = dot(std::span(weights_).first(pool.count), slack_);
    for (std::size_t part = 0; part < v_.size(); ++part)
        total += under_[part] * (v_[part] - parts_[part].least) + over_[part] * (parts_[part].most - v_[part]);
    return total / static_cast<double>(pool.count + 2 * v_.size());
}

// The Newton system in v and the level, upper triangle, with slacks and multipliers eliminated; returns the dual residual.
//
// The level is that of the stiffest ranking, so that columns are differences to it: where one ranking carries nearly all the
// weight, its level and its prices do the same, and only rounding would be left of what the limits of the prices add.
double InteriorMaster::set_system(Penalties penalties, double aim) {
    const std::size_t m = v_.size();
    subtract_stiffest();
    double residual = 0.0;
    for (std::size_t row = 0; row <= m; ++row) std::fill(system_.row(row).begin() + row, system_.row(row).end(), 0.0);
    for (std::size_t part = 0; part < m; ++part) {
        const Part& own = parts_[part];
        const Penalty& penalty = penalties[own.category];
        const double price = own.side * v_[part], under = v_[part] - own.least, over = own.most - v_[part];
        const double wanted = own.side * (price == 0.0 && own.side < 0.0 ? penalty.low : penalty.share_at(price));
        double gradient = wanted;
        for (std::size_t ranking = 0; ranking < pool.count; ++ranking)
            gradient -= weights_[ranking] * columns_(ranking, part);
        residual = std::max(residual, std::abs(gradient - under_[part] + over_[part]) * std::max(1.0, std::abs(price)));
        right_[part] = columns_(stiffest_, part) - wanted + aim / under - aim / over;
        system_(part, part) = penalty.curvature_at(price) + under_[part] / under + over_[part] / over;
    }
    right_[m] = -1.0;
    double total = 0.0;
    std::size_t multiplications = 9 * pool.count * m;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) {
        if (watcher_.stop(0.5 * static_cast<double>(m * m))) break;
        const double weight = weights_[ranking], eased = aim / slack_[ranking], stiffness = weight / slack_[ranking];
        const Reals column = differences_.row(ranking);
        total += weight;
        right_[m] += eased;
        for (std::size_t row = 0; row < m; ++row) {
            if (column[row] == 0.0) continue;
            right_[row] += eased * column[row];
            const double value = stiffness * column[row];
            const MutableReals entries = system_.row(row);
            for (std::size_t other = row; other < m; ++other) entries[other] += value * column[other];
            entries[m] += value;
            multiplications += m - row;
        }
        system_(m, m) += stiffness;
    }
    operations_ += static_cast<double>(multiplications);
    return std::max(residual, std::abs(1.0 - total));
}

// The columns less that of the ranking with the most weight for its slack.
void InteriorMaster::subtract_stiffest() {
    stiffest_ = 0;
    for (std::size_t ranking = 1; ranking < pool.count; ++ranking)
        if (weights_[ranking] * slack_[stiffest_] > weights_[stiffest_] * slack_[ranking]) stiffest_ = ranking;
    const Reals stiffest = columns_.row(stiffest_);
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking)
        for (std::size_t part = 0; part < v_.size(); ++part)
            differences_(ranking, part) = columns_(ranking, part) - stiffest[part];
}

// A slightly regularised neighbour of the system is factorised, and iterative refinement takes its error away. False if the
// watcher stopped it.
bool InteriorMaster::solve_system() {
    const std::size_t size = right_.size();
    for (std::size_t row = 0; row < size; ++row) {
        const Reals entries = system_.row(row);
        std::copy(entries.begin() + row, entries.end(), factor_.row(row).begin() + row);
        factor_(row, row) *= 1.0 + tuning::regularisation;
    }
    if (!factorise(factor_, size, watcher_)) return false;
    std::fill(step_.begin(), step_.end(), 0.0);
    residual_ = right_;
    for (std::size_t round = 0; round < tuning::refinements; ++round) {
        substitute(factor_, residual_);
        for (std::size_t row = 0; row < size; ++row) step_[row] += residual_[row];
        if (round + 1 == tuning::refinements) break;
        residual_ = right_;
        for (std::size_t row = 0; row < size; ++row) {
            residual_[row] -= system_(row, row) * step_[row];
            for (std::size_t column = row + 1; column < size; ++column) {
                residual_[row] -= system_(row, column) * step_[column];
                residual_[column] -= system_(row, column) * step_[row];
            }
        }
    }
    return true;
}

// The steps of multipliers and slacks that go with the step of (v, η); returns how far all of them may go.
double InteriorMaster::set_multiplier_steps(double aim) {
    const std::size_t m = v_.size();
    double furthest = 1.0;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) {
        const double eased = step_[m] + dot(std::span(step_).first(m), differences_.row(ranking));
        if (!std::isfinite(eased)) return 0.0;
        slack_step_[ranking] = eased;
        weight_step_[ranking] = (aim - weights_[ranking] * eased) / slack_[ranking] - weights_[ranking];
        furthest = std::min({furthest, reach(slack_[ranking], eased), reach(weights_[ranking], weight_step_[ranking])});
    }
    for (std::size_t part = 0; part < m; ++part) {
        const double under = v_[part] - parts_[part].least, over = parts_[part].most - v_[part], move = step_[part];
        under_step_[part] = (aim - under_[part] * move) / under - under_[part];
        over_step_[part] = (aim + over_[part] * move) / over - over_[part];
        furthest = std::min({furthest, reach(under, move), reach(over, -move), reach(under_[part], under_step_[part]),
                             reach(over_[part], over_step_[part])});
    }
    return furthest;
}

void InteriorMaster::advance(double length) {
    const std::size_t m = v_.size();
    for (std::size_t part = 0; part < m; ++part) {
        v_[part] += length * step_[part];
        under_[part] += length * under_step_[part];
        over_[part] += length * over_step_[part];
    }
    level_ += length * (step_[m] - dot(std::span(step_).first(m), columns_.row(stiffest_)));
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) {
        weights_[ranking] += length * weight_step_[ranking];
        slack_[ranking] = slack_of(ranking);
    }
}

// The objective of the lottery, with its weights brought to a sum of 1.
double InteriorMaster::value_of_weights(Penalties penalties) {
    const Reals weights = std::span(weights_).first(pool.count);
    double total = 0.0, value = 0.0;
    for (const double weight : weights) total += weight;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) value += weights[ranking] / total * values_[ranking];
    for (std::size_t category = 0; category < penalties.size(); ++category)
        value -= penalties[category].cost(dot(weights, pool.shares.row(category).first(pool.count)) / total);
    return value;
}

// What no lottery of the pool's rankings exceeds, by the prices of this step.
double InteriorMaster::bound_of_pool(Penalties penalties) {
    double best = -std::numeric_limits<double>::infinity(), bound = 0.0;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking)
        best = std::max(best, values_[ranking] - dot(v_, columns_.row(ranking)));
    for (std::size_t part = 0; part < parts_.size(); ++part)
        bound += penalties[parts_[part].category].conjugate(parts_[part].side * v_[part]);
    return best + bound;
}

// Drop the rankings that have no weight to speak of, and of the others the lighter ones where they are more than half of
// the room: an optimum needs no more than r + 1, and where little is at stake the rest keep some weight to the end.
void InteriorMaster::drop_idle() {
    const std::size_t half = pool.capacity() / 2;
    double least = tuning::idle_weight;
    std::size_t ties = half;
    if (pool.count > half) {
        sorted_.assign(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(pool.count));
        const auto lightest = sorted_.end() - static_cast<std::ptrdiff_t>(half);
        std::nth_element(sorted_.begin(), lightest, sorted_.end());
        least = std::max(least, *lightest);
        ties = half - static_cast<std::size_t>(std::count_if(lightest, sorted_.end(), [&](double own) { return own > least; }));
    }
    std::size_t kept = 0;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) {
        const bool tied = weights_[ranking] == least && ties > 0;
        if (!(weights_[ranking] > least) && !tied) continue;
        if (tied) --ties;
        pool.move(ranking, kept);
        values_[kept] = values_[ranking];
        weights_[kept] = weights_[ranking];
        ++kept;
    }
    pool.count = kept;
}

void InteriorMaster::write(Lottery& by_rank) const {
    by_rank.clear(pool.k);
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking)
        if (weights_[ranking] > tuning::negligible_weight) by_rank.add(pool.ranking(ranking), weights_[ranking]);
}

}  // namespace excalibr
