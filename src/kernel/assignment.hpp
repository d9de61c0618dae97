// The cheapest assignment of rows to columns, each to one, by shortest augmenting paths (Kuhn, Munkres; Jonker, Volgenant).
#pragma once

#include "arrays.hpp"

namespace excalibr {

// Its room is kept from use to use. Ties go to the lower column.
class Assignment {
  public:
    // The column of each row; `costs` is square, and the total of the chosen entries is the least there is.
    Indices solve(const Matrix& costs);

  private:
    void augment(const Matrix& costs, std::size_t row);

    std::vector<double> row_prices_, column_prices_, slack_;
    std::vector<Index> row_of_, previous_, column_of_;  // columns count from 1; column 0 holds the row that is being placed
    std::vector<char> reached_;
};

}  // namespace excalibr
