#include "simplex.hpp"

#include <algorithm>
#include <cmath>

#include "linear.hpp"
#include "tuning.hpp"

namespace excalibr {
namespace {

constexpr double no_end = 1e300;

// What one more unit of a share beyond a breakpoint costs less than before it.
double breakpoint_height(const Penalty& penalty, bool lower_edge) {
    if (!penalty.banded()) return penalty.below + penalty.above;
    return lower_edge ? penalty.below : penalty.above;
}

}  // namespace

void SimplexMaster::reset(std::size_t slots, std::size_t categories, std::size_t rankings) {
    const std::size_t capacity = rankings + tuning::pool_room + tuning::pool_room_a_category * categories;
    const std::size_t m = categories + 1;
    pool.reset(slots, categories, capacity);
    values_.resize(capacity);
    reduced_costs_.resize(capacity);
    places_.resize(capacity);
    is_basic_.assign(capacity, 0);
    slack_is_basic_.assign(categories, 0);
    basis_.assign(m, 0);
    piece_.assign(categories, Piece::inside);
    edge_.assign(categories, 0.0);
    levels_.assign(m, 0.0);
    prices_.assign(m, 0.0);
    column_.assign(m, 0.0);
    inverse_.resize(m, m);
    work_.resize(m, 2 * m);
    listed_.clear();
    pivots_ = pivots_since_ = 0;
    has_basis_ = false;
}

bool SimplexMaster::resume(Penalties penalties, double factor, double worth_entering, bool factorised) {
    factor_ = factor;
    wanted_ = worth_entering_ = worth_entering;
    restarts_ = 0;
    if (pool.count == 0) return true;
    for (std::size_t ranking = 0; ranking < pool.count; ++ranking) values_[ranking] = factor * pool.relevance[ranking];
    if (!factorised && !(has_basis_ && take_basis(penalties))) {
        set_first_basis(penalties);
        if (!take_basis(penalties)) return false;
    }
    price_basis(penalties);
    return true;
}

// The pool's first ranking, and every category's slack on the piece where that ranking puts it.
void SimplexMaster::set_first_basis(Penalties penalties) {
    const std::size_t r = piece_.size();
    basis_[r] = 0;
    for (std::size_t category = 0; category < r; ++category) {
        const double share = pool.shares(category, 0);
        const Penalty& penalty = penalties[category];
        basis_[category] = slack(category);
        piece_[category] = share < penalty.low ? Piece::below : Piece::inside;
        if (share > penalty.high || (!penalty.banded() && share >= penalty.high)) piece_[category] = Piece::above;
    }
    std::fill(levels_.begin(), levels_.end(), 0.0);
    levels_[r] = 1.0;
    has_basis_ = true;
}

// Mark what is basic, put every slack on its edge, and factorise.
bool SimplexMaster::take_basis(Penalties penalties) {
    std::fill(is_basic_.begin(), is_basic_.end(), 0);
    std::fill(slack_is_basic_.begin(), slack_is_basic_.end(), 0);
    for (std::size_t category = 0; category < piece_.size(); ++category) {
        // slacks count from the band's lower edge below it, from its upper edge inside and above
        const Penalty& penalty = penalties[category];
        edge_[category] = piece_[category] == Piece::below ? penalty.low : penalty.high;
    }
    for (const Variable variable : basis_) {
        if (variable >= 0)
            is_basic_[static_cast<std::size_t>(variable)] = 1;
        else
            slack_is_basic_[category_of(variable)] = 1;
    }
    return factorise_basis();
}

// Invert the basis anew by Gauss–Jordan with row pivots, and recompute the levels; false if it is singular or the watcher
// stopped it, which leaves the levels as they were.
bool SimplexMaster::factorise_basis() {
    const std::size_t m = basis_.size();
    for (std::size_t row = 0; row < m; ++row) {
        const MutableReals entries = work_.row(row);
        std::fill(entries.begin(), entries.end(), 0.0);
        entries[m + row] = 1.0;
    }
    const std::size_t r = edge_.size();
    for (std::size_t place = 0; place < m; ++place) {  // a ranking's shares and 1, or −1 in a slack's own row
        if (basis_[place] < 0) {
            work_(category_of(basis_[place]), place) = -1.0;
            continue;
        }
        const auto ranking = static_cast<std::size_t>(basis_[place]);
        for (std::size_t row = 0; row < r; ++row) work_(row, place) = pool.shares(row, ranking);
        work_(r, place) = 1.0;
    }
    for (std::size_t pivot = 0; pivot < m; ++pivot) {
        if (watcher_.stop(static_cast<double>(m * (2 * m - pivot)))) return false;
        std::size_t largest = pivot;
        for (std::size_t row = pivot + 1; row < m; ++row)
            if (std::abs(work_(row, pivot)) > std::abs(work_(largest, pivot))) largest = row;
        if (!(std::abs(work_(largest, pivot)) >= tuning::singular_pivot)) return false;
        if (largest != pivot) std::ranges::swap_ranges(work_.row(pivot).subspan(pivot), work_.row(largest).subspan(pivot));
        eliminate(work_, pivot, pivot);
    }
    for (std::size_t place = 0; place < m; ++place) {
        const Reals solved = work_.row(place).subspan(m);
        double level = 0.0;
        for (std::size_t row = 0; row < m; ++row) inverse_(row, place) = solved[row];
        for (std::size_t row = 0; row < m; ++row) level += row < r ? solved[row] * edge_[row] : solved[row];
        levels_[place] = level;
    }
    pivots_since_ = 0;
    return true;
}

// prices = (profits of the basic variables) · inverse
void SimplexMaster::price_basis(Penalties penalties) {
    for (std::size_t place = 0; place < basis_.size(); ++place) {
        if (basis_[place] >= 0) {
            column_[place] = values_[static_cast<std::size_t>(basis_[place])];
            continue;
        }
        const std::size_t category = category_of(basis_[place]);
        const Penalty& penalty = penalties[category];
        column_[place] = piece_[category] == Piece::below   ? penalty.below
                         : piece_[category] == Piece::above ? -penalty.above
                                                            : 0.0;
    }
    for (std::size_t row = 0; row < basis_.size(); ++row) prices_[row] = dot(column_, inverse_.row(row));
    double largest = 0.0;
    for (const double price : prices_) largest = std::max(largest, std::abs(price));
    const double rounding = tuning::reduced_cost_rounding * static_cast<double>(8 + edge_.size()) * largest;
    worth_entering_ = std::max(wanted_, rounding);
}

bool SimplexMaster::refresh(Penalties penalties) {
    if (watcher_.stop()) return false;
    const bool regular = pivots_since_ == 0 || factorise_basis() || start_over(penalties);
    price_basis(penalties);
    return regular;
}

// A small pivot made the basis singular: begin again with slacks, over all rankings that were found.
bool SimplexMaster::start_over(Penalties penalties) {
    if (watcher_.stop() || ++restarts_ > tuning::max_restarts) return false;
    set_first_basis(penalties);
    return take_basis(penalties);
}

std::size_t SimplexMaster::add(const ScaledProgram& program, Reals centred_scores, Indices ranking) {
    if (pool.full()) make_room();
    const std::size_t place = pool.add(program, centred_scores, ranking);
    values_[place] = factor_ * pool.relevance[place];
    is_basic_[place] = 0;
    return place;
}

// Halve a full pool: basic rankings stay, and of the others those with the largest reduced costs.
void SimplexMaster::make_room() {
    const std::size_t capacity = pool.capacity();
    for (std::size_t ranking = 0; ranking < capacity; ++ranking) reduced_costs_[ranking] = reduced_cost(ranking);
    const double least = key_at_rank(reduced_costs_, capacity / 2, places_);
    std::size_t kept = 0;
    for (std::size_t ranking = 0; ranking < capacity; ++ranking) {
        if (!is_basic_[ranking] && !(reduced_costs_[ranking] >= least && kept < capacity / 2)) continue;
        if (is_basic_[ranking])
            for (Variable& variable : basis_)
                if (variable == static_cast<Variable>(ranking)) variable = static_cast<Variable>(kept);
        pool.move(ranking, kept);
        values_[kept] = values_[ranking];
        is_basic_[kept] = is_basic_[ranking];
        ++kept;
    }
    pool.count = kept;
}

double SimplexMaster::reduced_cost(std::size_t ranking) const {
    const std::size_t r = edge_.size();
    double value = values_[ranking] - prices_[r];
    for (std::size_t category = 0; category < r; ++category) value -= prices_[category] * pool.shares(category, ranking);
    return value;
}

double SimplexMaster::value_by_prices() const { return prices_.back() + dot(prices(), edge_); }

double SimplexMaster::value_by_weights(Penalties penalties) {
    const std::size_t r = edge_.size();
    double value = 0.0;
    std::fill(column_.begin(), column_.end(), 0.0);
    for (std::size_t place = 0; place < basis_.size(); ++place) {
        if (basis_[place] < 0) continue;
        const auto ranking = static_cast<std::size_t>(basis_[place]);
        value += levels_[place] * values_[ranking];
        for (std::size_t category = 0; category < r; ++category)
            column_[category] += levels_[place] * pool.shares(category, ranking);
    }
    return value - penalty_cost(penalties, std::span(column_).first(r));
}

void SimplexMaster::write(Lottery& by_rank) const {
    by_rank.clear(pool.k);
    for (std::size_t place = 0; place < basis_.size(); ++place)
        if (basis_[place] >= 0 && levels_[place] > tuning::negligible_weight)
            by_rank.add(pool.ranking(static_cast<std::size_t>(basis_[place])), levels_[place]);
}

bool SimplexMaster::optimise(Penalties penalties, std::size_t newest, std::size_t passes) {
    listed_.clear();
    if (newest != none) listed_.push_back(newest);
    bool priced_all = false;
    if (newest == none) {
        list_best();
        priced_all = true;
    }
    const std::size_t r = edge_.size(), max_pivots = tuning::pivots_a_row * (r + 10);
    const auto operations = static_cast<double>(r * (2 * r + pool.count));
    for (std::size_t round = 0; round < max_pivots && !watcher_.stop(operations); ++round) {
        Entering entering = best_listed();
        const Entering by_slack = best_slack(penalties);
        if (by_slack.reduced_cost > entering.reduced_cost) entering = by_slack;
        if (entering.reduced_cost > worth_entering_) {
            priced_all = false;
            if (!pivot(penalties, entering)) return false;
        } else if (priced_all || passes == 0) {
            return true;
        } else {
            --passes;
            list_best();
            priced_all = true;
        }
    }
    return false;
}

// Price the whole pool and list the rankings whose reduced cost is nearly that of the best.
void SimplexMaster::list_best() {
    const std::size_t r = edge_.size(), count = pool.count;
    const MutableReals costs = std::span(reduced_costs_).first(count);
    for (std::size_t ranking = 0; ranking < count; ++ranking) costs[ranking] = values_[ranking] - prices_[r];
    for (std::size_t category = 0; category < r; ++category) {
        const double price = prices_[category];
        if (price == 0.0) continue;
        const Reals shares = pool.shares.row(category);
        for (std::size_t ranking = 0; ranking < count; ++ranking) costs[ranking] -= price * shares[ranking];
    }
    double best = 0.0;
    for (const double cost : costs) best = std::max(best, cost);
    const double least = std::max(tuning::worth_listing * best, worth_entering_);
    listed_.clear();
    for (std::size_t ranking = 0; ranking < count; ++ranking) {
        if (!(costs[ranking] > least) || is_basic_[ranking]) continue;
        auto place = listed_.end();
        while (place != listed_.begin() && costs[*(place - 1)] < costs[ranking]) --place;
        listed_.insert(place, ranking);
        if (listed_.size() > tuning::longest_list) listed_.pop_back();
    }
}

SimplexMaster::Entering SimplexMaster::best_listed() const {
    Entering best;
    for (const std::size_t ranking : listed_) {
        if (is_basic_[ranking]) continue;
        const double cost = reduced_cost(ranking);
        if (cost > best.reduced_cost) best = {static_cast<Variable>(ranking), 1.0, cost};
    }
    return best;
}

// The nonbasic slack with the largest reduced cost, and the direction in which it has it.
SimplexMaster::Entering SimplexMaster::best_slack(Penalties penalties) const {
    Entering best;
    for (std::size_t category = 0; category < piece_.size(); ++category) {
        if (slack_is_basic_[category]) continue;
        const Penalty& penalty = penalties[category];
        const double price = prices_[category];
        double up = price - penalty.above, down = -price - penalty.below;
        if (penalty.banded()) (piece_[category] == Piece::below ? up : down) = piece_[category] == Piece::below ? price : -price;
        const double larger = std::max(up, down);
        if (larger > best.reduced_cost) best = {slack(category), up >= down ? 1.0 : -1.0, larger};
    }
    return best;
}

// Bring a variable into the basis; false if nothing ends its way or the basis is singular.
bool SimplexMaster::pivot(Penalties penalties, Entering entering) {
    set_entering_column(entering);
    const Leaving leaving = advance(penalties, entering);
    if (leaving.place == none) return false;
    if (leaving.place != entering_itself) {
        leave_basis(penalties, leaving.place);
        levels_[leaving.place] = leaving.length;
        if (entering.variable >= 0) {
            is_basic_[static_cast<std::size_t>(entering.variable)] = 1;
        } else {
            const double stood = enter_basis(penalties, category_of(entering.variable), entering.direction);
            levels_[leaving.place] = entering.direction * leaving.length + stood;
        }
        basis_[leaving.place] = entering.variable;
        exchange(leaving.place, entering.direction, leaving.reduced_cost);
    }
    ++pivots_;
    ++pivots_since_;
    return pivots_since_ < tuning::refactorise_every || refresh(penalties);
}

void SimplexMaster::set_entering_column(const Entering& entering) {
    const std::size_t m = column_.size();
    const bool is_ranking = entering.variable >= 0;
    const double sign = is_ranking ? 1.0 : -entering.direction;
    const auto ranking = static_cast<std::size_t>(is_ranking ? entering.variable : 0);
    const Reals own = inverse_.row(is_ranking ? edge_.size() : category_of(entering.variable));
    for (std::size_t place = 0; place < m; ++place) column_[place] = sign * own[place];
    for (std::size_t category = 0; is_ranking && category < edge_.size(); ++category) {
        const double share = pool.shares(category, ranking);
        if (share == 0.0) continue;
        const Reals row = inverse_.row(category);
        for (std::size_t place = 0; place < m; ++place) column_[place] += share * row[place];
    }
}

// Move the entering variable as long as its reduced cost is positive, over breakpoints of the slacks' costs.
//
// The place that it takes is `entering_itself` if it ends as a nonbasic slack again, `none` if nothing ends its way.
SimplexMaster::Leaving SimplexMaster::advance(Penalties penalties, Entering entering) {
    double room = no_end;
    const std::size_t own = entering.variable < 0 ? category_of(entering.variable) : 0;
    if (entering.variable < 0) {  // a slack that enters its band ends at the band's other edge
        const Penalty& penalty = penalties[own];
        if (penalty.banded() && (piece_[own] == Piece::below) == (entering.direction > 0.0)) room = penalty.high - penalty.low;
    }
    double gone = 0.0, reduced_cost = entering.reduced_cost;
    while (true) {
        auto [leaving, length] = ratio_test(penalties);
        if (leaving == none && room == no_end) return {none, gone, reduced_cost};
        const bool ends_itself = leaving == none || gone + length >= room;
        if (ends_itself) length = room - gone;
        gone += length;
        for (std::size_t place = 0; place < column_.size(); ++place) levels_[place] -= length * column_[place];
        if (ends_itself) {
            const Penalty& penalty = penalties[own];
            piece_[own] = entering.direction > 0.0 ? Piece::above : Piece::below;
            edge_[own] = entering.direction > 0.0 ? penalty.high : penalty.low;
            return {entering_itself, gone, reduced_cost};
        }
        if (basis_[leaving] >= 0) return {leaving, gone, reduced_cost};
        const std::size_t category = category_of(basis_[leaving]);
        const Penalty& penalty = penalties[category];
        const double fall = column_[leaving];
        const bool downwards = fall > 0.0;
        const bool lower_edge = piece_[category] == Piece::below || (piece_[category] == Piece::inside && downwards);
        const double height = breakpoint_height(penalty, lower_edge);
        if (reduced_cost - std::abs(fall) * height <= worth_entering_) return {leaving, gone, reduced_cost};
        reduced_cost -= std::abs(fall) * height;
        for (std::size_t row = 0; row < column_.size(); ++row)
            prices_[row] += (downwards ? height : -height) * inverse_(row, leaving);
        cross_breakpoint(penalty, leaving, downwards);
    }
}

// The basic variable that first reaches the end of its piece, by the larger pivot in a tie, and how far that is.
std::pair<std::size_t, double> SimplexMaster::ratio_test(Penalties penalties) const {
    double shortest = no_end;
    std::size_t leaving = none;
    for (std::size_t place = 0; place < basis_.size(); ++place) {
        const double fall = column_[place], level = levels_[place];
        if (std::abs(fall) <= tuning::small_pivot) continue;
        double room;
        const Piece piece = basis_[place] >= 0 ? Piece::above : piece_[category_of(basis_[place])];
        if (piece == Piece::above) {  // a ranking's weight is like a slack above its edge: it ends at 0
            if (fall < 0.0) continue;
            room = std::max(level, 0.0);
        } else if (piece == Piece::below) {
            if (fall > 0.0) continue;
            room = std::max(-level, 0.0);
        } else {
            const Penalty& penalty = penalties[category_of(basis_[place])];
            room = fall > 0.0 ? std::max(penalty.high - penalty.low + level, 0.0) : std::max(-level, 0.0);
        }
        const double length = room / std::abs(fall);
        const bool tied = length <= shortest + tuning::ratio_tie;
        if (length < shortest - tuning::ratio_tie ||
            (tied && (leaving == none || std::abs(fall) > std::abs(column_[leaving])))) {
            shortest = std::min(length, shortest);
            leaving = place;
        }
    }
    return {leaving, std::max(shortest, 0.0)};
}

// A basic slack goes over to the next piece, and counts from that piece's edge.
void SimplexMaster::cross_breakpoint(const Penalty& penalty, std::size_t place, bool downwards) {
    const std::size_t category = category_of(basis_[place]);
    levels_[place] = 0.0;
    if (penalty.banded() && piece_[category] != Piece::inside) {
        piece_[category] = Piece::inside;
        edge_[category] = penalty.high;
        if (!downwards) levels_[place] = penalty.low - penalty.high;
    } else {
        piece_[category] = downwards ? Piece::below : Piece::above;
        edge_[category] = downwards ? penalty.low : penalty.high;
    }
}

// A variable leaves the basis: a ranking at 0, a slack on the edge that it reached.
void SimplexMaster::leave_basis(Penalties penalties, std::size_t place) {
    const Variable variable = basis_[place];
    if (variable >= 0) {
        is_basic_[static_cast<std::size_t>(variable)] = 0;
        return;
    }
    const std::size_t category = category_of(variable);
    slack_is_basic_[category] = 0;
    if (piece_[category] != Piece::inside) return;
    const bool fell = column_[place] > 0.0;
    piece_[category] = fell ? Piece::below : Piece::above;
    edge_[category] = fell ? penalties[category].low : penalties[category].high;
}

// A slack leaves its edge for the piece on that side; returns where it stood, counted from the piece's edge.
double SimplexMaster::enter_basis(Penalties penalties, std::size_t category, double direction) {
    const Penalty& penalty = penalties[category];
    slack_is_basic_[category] = 1;
    const bool at_low = piece_[category] == Piece::below;
    if (penalty.banded() && at_low == (direction > 0.0)) {
        piece_[category] = Piece::inside;
        edge_[category] = penalty.high;
        return at_low ? penalty.low - penalty.high : 0.0;
    }
    piece_[category] = direction > 0.0 ? Piece::above : Piece::below;
    edge_[category] = direction > 0.0 ? penalty.high : penalty.low;
    return 0.0;
}

// The entering variable takes the leaving one's place: inverse and prices follow.
void SimplexMaster::exchange(std::size_t leaving, double direction, double reduced_cost) {
    const std::size_t m = column_.size();
    const double scale = direction / column_[leaving];
    for (double& fall : column_) fall *= direction;
    column_[leaving] = 0.0;
    for (std::size_t row = 0; row < m; ++row) {
        const MutableReals entries = inverse_.row(row);
        const double factor = scale * entries[leaving];
        if (factor == 0.0) continue;
        for (std::size_t place = 0; place < m; ++place) entries[place] -= factor * column_[place];
        entries[leaving] = factor;
        prices_[row] += direction * reduced_cost * factor;
    }
}

}  // namespace excalibr
