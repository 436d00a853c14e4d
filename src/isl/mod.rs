//! Sets of integer points, decided by isl. The only module that knows isl.
//!
//! In: conjunctions of [`Constraint`](crate::formula::Constraint)s over a [`Frame`]. Out: constraints
//! and quasi-affine functions in the same vocabulary, or a yes/no. isl's own types never leave.
//!
//! isl sees positions, not names: a [`Frame`] says which atom is which parameter or dimension, and
//! an index-array call is one more dimension, opaque to isl (SPF §4). What relates two calls of one
//! array must be stated as constraints.

mod frame;
mod pieces;
mod read;
mod rows;
mod set;

pub use frame::{Frame, Unframed};
pub use pieces::Piece;
pub use set::Set;

use isl_rs::{Context, LibISLError, Options};

/// isl's value for "record the error and go on".
const ON_ERROR_CONTINUE: i32 = 1;

thread_local! {
    // Leaked on purpose: isl objects hold a bare pointer to their context, and a context must not
    // be shared between threads.
    static CONTEXT: &'static Context = {
        let context: &'static Context = Box::leak(Box::new(Context::alloc()));
        Options::set_on_error(context, ON_ERROR_CONTINUE)
            .expect("isl accepts `continue` as its reaction to errors");
        context
    };
}

fn context() -> &'static Context {
    CONTEXT.with(|context| *context)
}

/// Unwraps a result of isl. A failure is a defect of this module (spaces that do not fit) or a lack
/// of memory, never a property of the input.
#[track_caller]
fn done<T>(result: Result<T, LibISLError>, operation: &str) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            // Otherwise the next successful call on this thread reports the old error.
            context().reset_error();
            panic!("isl failed to {operation}: {error}");
        }
    }
}
