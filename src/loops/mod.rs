//! Stage *loops*: how the points of all spaces of a statement are visited, as one tree.
//!
//! In: one [`Statement`] for each choice of relation pieces: its nest, and a proved plan for each of its
//! finds. Out: [`Loops`], a tree whose nodes say what they stand on: a loop, whether it may run on
//! several threads; a search, the plan that was proved; an update, what it adds where. Spaces that run
//! over the same positions in the same way become one nest with several updates.
//!
//! ```text
//! block  := node*
//! node   := 'let' v '=' e                                  of the nodes that follow
//!         | 'for' v 'in' range ['on threads' ['with private sums' | 'in parts']] ['each thread:' 'state' v]*
//!               ['skip unless' v 'in' range 'where' tests ':' skipped] block
//!         | 'group' p 'to' q 'in' range 'by' v '=' e (',' v '=' e)* ['on threads' …] ['each thread:' …]* block
//!                                                          for every p..q at whose positions these are the same
//!         | 'if' tests (';' restriction)* block
//!         | 'state' v                                      of the search for v, set up here
//!         | 'search' v ('in' range | '=' e) ['where' tests] ':' plan block
//!         | 'lookup' (l ['and whether'] | 'whether' l) 'else' fill block   what an operand stores here
//!         | ('take' | 'add') l 'from' a[e, …]              found by that lookup
//!         | 'merge' v (',' v)* walk* block                 for every choice of these that a walk comes to
//!         | 'step' i 'in' range ['where' region] over* block
//!                                                          for every index, by which regions hold it: all of them
//!         | 'held' p (',' p)* block                        where the regions at these positions hold the indices
//!         | 'when' region block                            by what lookups have found
//!         | a[e, …] op '=' value                           combined by that operator
//!         | 'piece' block
//!         | 'assemble' a[(e | '_'), …] [how] block
//!                                                          what is written inside is appended after it
//!         | 'begin' a[e, …] '=' value                      a temporary, all its elements set
//! walk   := 'walk' (l ['and whether'] | 'whether' l) 'else' fill block
//!                                                          a loop over what an operand stores, in order
//! over   := 'over' p ['to' q] 'in' range ['where' tests] ['within' p (',' p)*] ':' range
//!                                                          a region for each position, or for positions p..q
//! how    := 'through' ('one element' | workspace ['in any order']) | 'by merging' ['on threads in parts']
//! range  := end..end                                       the upper end exclusive
//! value  := a tree of operators over elements a[e, …], lookups, indices and numbers
//! end    := e | 'max(' e (',' e)* ')' | 'min(' e (',' e)* ')'
//! ```
//!
//! Before → after, for a matrix of which the lower half is stored, times a vector:
//!
//! ```text
//! for pA0 in 0..I                               for pA0 in 0..I
//!   let i = pA0                                   let i = pA0
//!   for pA1 in pos_A(pA0)..pos_A(pA0 + 1)         let j_2 = pA0
//!     let j = crd_A(pA1)                          for pA1 in pos_A(pA0)..pos_A(pA0 + 1)
//!       S                                           piece
//!                                          →          let j = crd_A(pA1)
//! for pA0 in 0..I                                     val_y[i] += val_A[pA1] * val_x[j]
//!   let j = pA0                                     piece
//!   for pA1 in pos_A(pA0)..pos_A(pA0 + 1)             let i_2 = crd_A(pA1)
//!     let i = crd_A(pA1)                              if i_2 < j_2
//!     if i < j                                          val_y[i_2] += val_A[pA1] * val_x[j_2]
//!       S
//! ```

mod assemble;
mod assembled;
mod build;
mod display;
mod groups;
mod held;
mod join;
mod leaf;
mod lookups;
mod merged;
mod outermost;
mod outline;
mod parse;
mod parts;
mod piece;
mod regions;
mod repeated;
mod rounds;
mod sequence;
mod sharing;
mod sought;
mod statement;
mod temporaries;
mod tree;
mod verify;
mod walkers;

pub use assemble::{Assembling, assembling};
pub use assembled::Assembled;
pub use build::{build, joined};
pub use lookups::{Finder, Looked};
pub use merged::{Merged, Walk, orders_of_walks};
pub use outline::{Outline, Sought};
pub use parts::chunks_of;
pub use regions::{ByRegions, How};
pub use repeated::{Repeated, makes_runs, repeated};
pub use rounds::Rounds;
pub use sequence::{Sequence, Temporary, steps};
pub use sharing::sharing;
pub use statement::{Parallelism, Statement};
pub use temporaries::unbegun;
pub use tree::{
    Among, Assemble, Begin, Block, Find, Gather, Groups, Lookup, Loop, Loops, Merge, Node, Place,
    Regions, Search, SearchId, Skip, Step, Take, Term, Threads, Update, begun, updates,
};
pub use walkers::{Walked, Walker, walkers};
