//! Tiles that cannot hold a match (SPF §5.2, Fig. 8).
//!
//! Where the positions of a find are tiled and proved to be ordered (first the positions to skip, then
//! the matches), a tile `a..b` holds a match only if its last position is not skipped and its first one
//! is skipped or matches. The guard reads two elements and saves the tile.

use super::Find;
use crate::formula::Formula;
use crate::iterspace::Space;
use crate::scan::Nest;

/// A guard on a tile loop.
#[derive(Clone, Debug)]
pub struct TileGuard {
    /// The level of the tile loop; the find is the next level.
    pub level: usize,
    /// A position that satisfies it is skipped by the find.
    pub continues: Formula,
}

/// The guards that the proofs of `finds` allow.
pub fn tile_guards(space: &Space, nest: &Nest, finds: &[Find]) -> Vec<TileGuard> {
    let mut out = Vec::new();
    for find in finds {
        let Some(level) = find.problem.level.checked_sub(1) else { continue };
        let tiled = space
            .tiles
            .iter()
            .any(|t| t.of == find.problem.position && t.tile == nest.levels[level].var);
        let ordered = find.plans().find(|p| p.template.ordered);
        if let (true, Some(plan)) = (tiled && nest.levels[level].is_loop(), ordered)
            && let Some(continues) = &plan.continues
        {
            out.push(TileGuard { level, continues: continues.clone() });
        }
    }
    out
}
