//! In how many independent chains a range is reduced.

/// In how many chains the greatest or least term of a range is found: those of one vector.
pub const COMPARED: usize = 8;

/// How many chains of additions a sum has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chains {
    /// For ranges that are short.
    Two,
    Four,
    /// For ranges of which that is not known: four of [`SEVERAL`] terms, else two.
    ByLength,
    /// For ranges that may be long, of elements in order: [`MANY`] of them, else in four.
    Eight,
}

/// So many terms are added in eight chains.
pub const MANY: usize = 64;

/// So many terms are added in four chains, if the range tells.
pub const SEVERAL: usize = 32;

impl Chains {
    /// At most.
    pub fn count(self) -> usize {
        match self {
            Chains::Two => 2,
            Chains::Four | Chains::ByLength => 4,
            Chains::Eight => 8,
        }
    }

    /// The function of a module that sums so.
    pub fn function(self) -> &'static str {
        match self {
            Chains::Two => "sum_of_few",
            Chains::Four => "sum_of",
            Chains::ByLength => "sum_by_length",
            Chains::Eight => "sum_of_many",
        }
    }

    /// What its function calls.
    pub fn calls(self) -> &'static [Chains] {
        match self {
            Chains::Two | Chains::Four => &[],
            Chains::ByLength => &[Chains::Four, Chains::Two],
            Chains::Eight => &[Chains::Four],
        }
    }
}
