"""What is said where a query cannot be computed for some row: no value of the row."""

STOPPED = "a value in a query over the whole table cannot be computed: a failed cast, a division by zero or an overflow"
HINT = "try_cast and try_divide give NULL; rows that a step computes one by one go to quarantine instead"
