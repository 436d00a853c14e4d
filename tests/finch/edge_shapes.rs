//! Elements of edge shapes: nothing, one, all, equal ones, runs, blocks, one side, in tensors of all kinds of extents.

use siskin::operators::Value;
use siskin::tensor::Values;

use super::grown::random::Random;

/// What a tensor holds.
#[derive(Clone, Copy, Debug)]
pub enum Content {
    Nothing,
    /// One element, in the middle.
    One,
    All,
    /// All elements, which are equal.
    Equal,
    /// The first subtensor of the last dimension alone.
    Side,
    /// The first subtensor of the first dimension alone.
    Row,
    Runs,
    Blocks,
    Random,
}

pub const CONTENTS: [Content; 9] = [
    Content::Random,
    Content::Runs,
    Content::Blocks,
    Content::One,
    Content::All,
    Content::Side,
    Content::Row,
    Content::Equal,
    Content::Nothing,
];

/// Elements of the type of a fill.
pub fn elements(dims: &[usize], content: Content, fill: Value, random: &mut Random) -> Values {
    let n: usize = dims.iter().product();
    let (last, first) = (dims.last().copied().unwrap_or(1), dims.first().copied().unwrap_or(1));
    let mut values = fill.repeated(n);
    let from = random.below(3);
    for k in 0..n {
        let number = match content {
            Content::Nothing => continue,
            Content::One if k != n / 2 => continue,
            Content::One => 3,
            Content::All => (k + from) % 5,
            Content::Equal => 1,
            Content::Side if k % last != 0 => continue,
            Content::Row if k >= n / first => continue,
            Content::Side | Content::Row => k % 3 + 1,
            Content::Runs => [0, 2, 2, 5][(k + from) / 3 % 4],
            Content::Blocks if ((k + from) / 3).is_multiple_of(2) => continue,
            Content::Blocks => k % 4 + 1,
            Content::Random if random.chance(65) => continue,
            Content::Random => random.below(5),
        };
        let value = match fill {
            // Zeros may be stored, too.
            Value::Bool(fill) => Value::Bool(fill ^ (number != 2)),
            _ => Value::I64(number as i64).cast(fill.value_type()),
        };
        value.store(&mut values, k);
    }
    values
}

/// Extents of the indices `i`, `j` and `k`.
pub const EXTENTS: [[usize; 3]; 9] = [
    [4, 5, 3],
    [7, 7, 4],
    [0, 3, 2],
    [3, 0, 2],
    [1, 1, 1],
    [1, 6, 2],
    [6, 1, 0],
    [17, 9, 2],
    [5, 4, 5],
];
