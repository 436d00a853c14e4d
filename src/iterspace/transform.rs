//! Transformations of a space as relations on it (SPF §5.2).
//!
//! - *Tile* a dimension `d` by `T`: `{ [.., d, ..] -> [td, .., d, ..] : T*td <= d < T*td + T }`. Tiles
//!   of an index go outermost (interchange is what makes them useful), tiles of a position and tiles
//!   of tiles go right around their own loop; `--order` may place either elsewhere.
//! - *Fuse* consecutive positions of one tensor: the innermost is visited first, over the whole
//!   tensor, and the outer ones are found from it.
//!
//! Both only reorder the iterations of a sum. The dependence polyhedra of a statement therefore hold
//! reductions alone, and every reordering that can be scanned is legal; what cannot be scanned is
//! refused with the reason.

use super::{Space, Tile};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::{Affine, Constraint, Name};

/// Larger tiles are a slip; the ends of these are far from overflowing.
const MOST_ITERATIONS: i64 = 1 << 31;

impl Space {
    /// Adds the tile dimension of `of`, named `t` followed by its name.
    ///
    /// # Errors
    /// If there is no such dimension, it is tiled already, or `size` is not positive.
    pub fn tile(&mut self, of: &Name, size: i64) -> Result<()> {
        let dims = self.dimensions();
        let refuse = |why: String, help: String| {
            Err(Diagnostic::new(Code::Dependence, format!("cannot tile `{of}`: {why}")).help(help))
        };
        if !dims.contains(of) {
            let known: Vec<&str> = dims.iter().map(|d| &**d).collect();
            return refuse(
                "there is no such index or position".to_string(),
                format!("the dimensions of this computation are {}", known.join(", ")),
            );
        }
        if self.tiles.iter().any(|t| t.of == *of) {
            let tile = self.tiles.iter().find(|t| t.of == *of).map_or(of, |t| &t.tile);
            return refuse(
                "it is tiled already".to_string(),
                format!("give one size, or tile its tiles: `--tile {tile}={size}`"),
            );
        }
        // The tiles of a tile are as large as both sizes say.
        let mut iterations = size;
        let mut inner = of;
        while let Some(t) = self.tiles.iter().find(|t| t.tile == *inner) {
            iterations = iterations.saturating_mul(t.size);
            inner = &t.of;
        }
        if !(1..=MOST_ITERATIONS).contains(&size) || iterations > MOST_ITERATIONS {
            return refuse(
                format!("{size} is not a tile size"),
                format!("a tile has from 1 to {MOST_ITERATIONS} iterations"),
            );
        }
        let tile = self.names.fresh(&format!("t{of}"));
        let (t, d) = (Affine::var(tile.clone()) * size, Affine::var(of.clone()));
        self.constraints.push(Constraint::le(t.clone(), d.clone()));
        self.constraints.push(Constraint::lt(d, t + Affine::constant(size)));
        self.tiles.push(Tile { tile, of: of.clone(), size });
        Ok(())
    }

    /// Marks consecutive positions of one tensor to be visited as one loop.
    ///
    /// # Errors
    /// If they are not.
    pub fn fuse(&mut self, group: &[Name]) -> Result<()> {
        let fits = group.len() > 1
            && self.operands.iter().any(|o| o.positions.windows(group.len()).any(|w| w == group));
        if !fits {
            let known: Vec<String> = self
                .operands
                .iter()
                .filter(|o| o.positions.len() > 1)
                .map(|o| o.positions.join(","))
                .collect();
            let names: Vec<&str> = group.iter().map(|n| &**n).collect();
            return Err(Diagnostic::new(
                Code::Dependence,
                format!(
                    "cannot fuse {}: they are not consecutive positions of one tensor",
                    names.join(",")
                ),
            )
            .help(if known.is_empty() {
                "no tensor here has more than one position".to_string()
            } else {
                format!("positions that can be fused: {}", known.join("; "))
            }));
        }
        self.fused.push(group.to_vec());
        Ok(())
    }
}
