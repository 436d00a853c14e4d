//! Stage 1, *declare*: formats as data.
//!
//! In: a TOML declaration (design §2), shipped or the user's own. Out: a [`Layout`], the relation
//! from physical positions to logical coordinates (SPF §3) together with the properties of its
//! index arrays. Nothing here, or later, knows a format by name.
//!
//! Before → after, for compressed sparse rows:
//!
//! ```text
//! relation = "{ [p0, p1] -> [i, j] : 0 <= p0 < I and i = p0
//!                                    and pos(p0) <= p1 < pos(p0 + 1) and j = crd(p1) }"
//! [[property]]
//! kind = "monotonic"
//! array = "pos"
//! ```
//! becomes a [`Relation`] of one piece and the closed formula
//! `0 <= p and p < q and q <= I => pos(p) <= pos(q)`.

mod alike;
mod apart;
mod assemble;
mod bounds;
pub mod checks;
mod composed_level;
mod declaration;
mod defaults;
mod describe;
mod index_form;
mod joined;
mod leaf;
mod leaf_form;
mod level;
mod level_form;
mod level_use;
mod levels;
mod library;
mod literal;
pub mod memory;
mod nested;
mod nested_form;
mod parent;
mod places;
pub mod probing;
mod property;
mod relation;
mod resolve;
mod share;
mod shipped;
mod size;
mod source;
mod specialise;
mod suggest;
mod tensor_form;
mod to_toml;
mod toml_schema;
pub mod visit;

#[cfg(test)]
mod tests;

use indexmap::IndexMap;

pub use self::alike::alike;
pub use self::defaults::DefaultFor;
pub use self::joined::{Joined, Piecewise, joined};
pub use self::library::LayoutSpec;
pub use self::literal::Literal;
pub use self::places::Places;
pub use self::share::share;
pub use self::shipped::{shipped, shipped_level, shipped_levels};
pub use self::size::SizeSource;
pub use self::suggest::nearest;
use crate::diagnostic::Diagnostic;
use crate::formula::{Affine, Arith, Constraint, Formula, Name};

/// The relation of a layout: a union of conjunctions over positions and coordinates.
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    /// Physical dimensions, in storage order (outermost first).
    pub positions: Vec<Name>,
    /// Logical dimensions, in the order of the tensor's subscripts.
    pub coordinates: Vec<Name>,
    /// One conjunction per piece; all pieces share the names above.
    pub pieces: Vec<Vec<Constraint>>,
}

/// An index array: an uninterpreted function with a domain and a range.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexArray {
    /// The name, as declared.
    pub name: Name,
    /// Formal argument names, the variables of `domain` and `range`.
    pub args: Vec<Name>,
    /// Where the array may be read.
    pub domain: Vec<Constraint>,
    /// Bounds of its values, e.g. `0 <= crd(p1) < J`.
    pub range: Vec<Constraint>,
    /// Row-major extents of the arguments, used to linearise a call: `f(a, b)` is element
    /// `a*shape[1] + b`. `shape[0]` is the number of outermost rows.
    pub shape: Vec<Arith>,
    /// Number of elements.
    pub len: Arith,
    /// Value of elements that no stored entry defines (padding), if the declaration gives one.
    pub fill: Option<i64>,
    /// What 0 is written as in files of arrays.
    pub base: i64,
}

impl IndexArray {
    /// That it may be read at these arguments.
    pub fn domain_at(&self, args: &[Affine]) -> Vec<Constraint> {
        self.domain.iter().map(|c| c.substitute(&argument(&self.args, args))).collect()
    }
}

/// What formal arguments are in a call.
fn argument(formal: &[Name], args: &[Affine]) -> impl Fn(&Name) -> Option<Affine> {
    move |n| formal.iter().position(|name| name == n).and_then(|k| args.get(k).cloned())
}

/// Where the value of a position tuple is stored: `val(p1, p2, p3)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueArray {
    /// The name, as declared.
    pub name: Name,
    /// Subscripts, possibly polynomial in positions, calls and parameters.
    pub index: Vec<Arith>,
    /// Row-major extents of the subscripts.
    pub shape: Vec<Arith>,
    /// Number of elements.
    pub len: Arith,
    /// What all elements are, if the declaration leaves no choice.
    pub constant: Option<Literal>,
}

/// The kinds of properties a declaration may state (design §2). Each is sugar for a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PropertyKind {
    /// The values lie between bounds.
    Range,
    /// No value is there twice.
    Injective,
    /// The values rise, or fall.
    Monotonic,
    /// The values rise, or fall, in each segment.
    PeriodicMonotonic,
    /// The tuples of values rise, or fall.
    Lexicographic,
    /// The tuples of values rise, or fall, in each segment.
    PeriodicLexicographic,
    /// Every number below the length is there once.
    Permutation,
    /// The ranges between two arrays do not overlap.
    Disjoint,
    /// The array is a hash table with linear probing.
    Probing,
    /// Whatever the formula says.
    Formula,
}

/// A property of the index arrays: its kind, and the closed formula it stands for. Free variables
/// of the formula (other than extents and parameters) are universally quantified; domain guards
/// are part of the formula.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Which kind was declared.
    pub kind: PropertyKind,
    /// The arrays the property is about, in order.
    pub arrays: Vec<Name>,
    /// Segment array of the periodic kinds.
    pub segments: Option<Name>,
    /// Whether equal neighbours are excluded.
    pub strict: bool,
    /// Values decrease instead of increase.
    pub decreasing: bool,
    /// What holds, for all values of its free variables.
    pub formula: Formula,
}

/// A declared format.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// As the user wrote it: `csr`, `bcsr(4,4)`, a path, or a level list.
    pub name: String,
    /// A line about it.
    pub summary: String,
    /// Logical dimensions in subscript order; the extent of `i` is the parameter `I`.
    pub dims: Vec<Name>,
    /// From positions to coordinates.
    pub relation: Relation,
    /// Where the values are.
    pub value: ValueArray,
    /// What is not stored, with the type of the values, if the declaration states it.
    pub fill: Option<Literal>,
    /// Loops that update an element are to end when nothing can change it any more.
    pub short_circuit: bool,
    /// The index arrays, in the order of the declaration.
    pub arrays: IndexMap<Name, IndexArray>,
    /// Size parameters. `Some`: defined (`NNZ = pos(I)`); `None`: counted when a tensor is packed.
    pub params: IndexMap<Name, Option<Arith>>,
    /// What holds of the index arrays.
    pub properties: Vec<Property>,
    /// Facts about extents and parameters alone, e.g. `0 <= I`, `0 <= NNZ`.
    pub assumptions: Vec<Constraint>,
    /// What the designer may not have meant: sizes that nothing uses, or that are counted without
    /// being declared.
    pub remarks: Vec<Diagnostic>,
    /// Where all this is written.
    pub places: Places,
    /// The levels that it is composed of, from the outermost; none for a relation that is declared whole.
    pub stages: Vec<Stage>,
}

/// A level of a composed layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// How many positions of the relation are its own or those of outer levels.
    pub positions: usize,
    /// The dimensions that it stores.
    pub dims: Vec<Name>,
    /// The index arrays that it declares.
    pub arrays: Vec<Name>,
    /// The positions that it hands on to the next level, with their extents.
    pub handed: Vec<(Name, Affine)>,
}

impl Layout {
    /// The extent parameter of a logical dimension: its name in capitals.
    pub fn extent_name(dim: &str) -> Name {
        Name::from(dim.to_uppercase())
    }

    /// Number of logical dimensions.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// That coordinates are within their extents.
    pub fn within_extents(&self) -> Vec<Constraint> {
        let coordinates = self.relation.coordinates.iter().zip(self.extents());
        let within = |(coordinate, extent): (&Name, Name)| {
            let at = Affine::var(coordinate.clone());
            [Constraint::le(Affine::zero(), at.clone()), Constraint::lt(at, Affine::var(extent))]
        };
        coordinates.flat_map(within).collect()
    }

    /// What is assumed of sizes, and what their definitions say.
    pub fn known_of_sizes(&self) -> Vec<Constraint> {
        let mut out = self.assumptions.clone();
        for (name, definition) in &self.params {
            if let Some(Ok(value)) = definition.as_ref().map(Arith::to_affine) {
                out.push(Constraint::eq(Affine::var(name.clone()), value));
            }
        }
        out
    }

    /// Extent parameters in subscript order.
    pub fn extents(&self) -> Vec<Name> {
        self.dims.iter().map(|d| Layout::extent_name(d)).collect()
    }
}
