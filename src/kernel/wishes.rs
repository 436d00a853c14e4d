//! What is asked of the dimensions of several spaces.

use super::request::Request;
use crate::diagnostic::Result;
use crate::formula::Name;
use crate::iterspace::Space;

/// What is asked of dimensions. Terms of a sum have positions of their own: a wish about one that only
/// some of the spaces have is a wish for these.
pub(super) struct Wishes<'r> {
    request: &'r Request,
    /// The dimensions of all spaces.
    known: Vec<Name>,
}

impl<'r> Wishes<'r> {
    pub(super) fn of(request: &'r Request, spaces: &[Space]) -> Wishes<'r> {
        Wishes { request, known: spaces.iter().flat_map(Space::dimensions).collect() }
    }

    /// Whether another space has what this one lacks.
    fn is_elsewhere(&self, space: &Space, name: &Name) -> bool {
        self.known.contains(name) && !space.dimensions().contains(name)
    }

    /// Tiles and fuses `space` as asked, and gives the order that is asked for its dimensions.
    pub(super) fn within(&self, space: &mut Space) -> Result<Vec<Name>> {
        let mut lacking: Vec<Name> = Vec::new();
        for (of, size) in &self.request.tiles {
            // Tiles may be tiled: what is missing here has none, either.
            if self.is_elsewhere(space, of) || lacking.contains(of) {
                lacking.push(Name::from(format!("t{of}")));
                continue;
            }
            space.tile(of, *size)?;
        }
        for group in &self.request.fused {
            if !group.iter().any(|p| self.is_elsewhere(space, p)) {
                space.fuse(group)?;
            }
        }
        let here = |n: &&Name| !self.is_elsewhere(space, n) && !lacking.contains(n);
        Ok(self.request.order.iter().filter(here).cloned().collect())
    }
}
