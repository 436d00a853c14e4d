//! Shipped declarations hold what they promise; broken ones are refuted with a small tensor.
