//! Open addressing with linear probing: where a coordinate is stored in a table of slots.
//!
//! The last quarter of the slots is no coordinate's home, so that a table filled to a quarter never
//! wraps around. Packing, validation and generated code (which repeats the functions below,
//! `module/probing.rs`) all follow this one definition.

/// The function symbol of [`home_slot`] in formulas: `home(W, c)`. No index array may have its name.
pub const HOME: &str = "home";

/// The slot from which on a coordinate is looked for.
pub fn home_slot(coordinate: i64, slots: usize) -> usize {
    // Multiplying spreads neighbours (Knuth, TAOCP 3, §6.4); the product's high bits scale to a slot.
    let scattered = (coordinate as u32).wrapping_mul(0x9E37_79B1) as u64;
    (scattered.wrapping_mul((slots - slots / 4) as u64) >> 32) as usize
}

/// The first slot whose coordinate a search would not find there: it comes before its home, behind
/// an empty slot, or behind the same coordinate. Negative numbers mark empty slots.
pub fn misplaced(slots: usize, coordinate: impl Fn(usize) -> i64) -> Option<usize> {
    let mut first: Option<usize> = None;
    let mut run: Vec<(i64, usize)> = Vec::new();
    for slot in 0..=slots {
        let at = if slot < slots { coordinate(slot) } else { -1 };
        if at >= 0 {
            let home = home_slot(at, slots);
            run.push((at, slot));
            if home > slot || home + run.len() <= slot {
                first = first.or(Some(slot));
            }
        } else {
            // Twins have one home, so they are in one run of occupied slots.
            run.sort_unstable();
            let twins = run.windows(2).filter(|w| w[0].0 == w[1].0);
            let twin = twins.map(|w| w[1].1).min();
            run.clear();
            first = first.into_iter().chain(twin).min();
            if first.is_some() {
                return first;
            }
        }
    }
    None
}
