//! Random declarations of formats, and how they are judged.

pub mod changes;
pub mod data;
pub mod declaration;
pub mod grow;
pub mod judge;
#[path = "../study/random.rs"]
pub mod random;
