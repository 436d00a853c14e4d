//! What files hold, for a command that needs it more than once: a program is translated by what it is given, and each
//! of its kernels packs it.
//!
//! In: the place of a tensor, and what is asked of it. Out: what is there, read once.

use std::cell::RefCell;
use std::rc::Rc;

use siskin::diagnostic::Result;
use siskin::operators::Value as Number;
use siskin::tensor::ValueType;

use super::data::{self, Given};
use super::tensor_argument::{FileArgument, Place};

/// The files that were read; nothing is kept of them unless it was asked for. Clones share what they know.
#[derive(Clone, Debug, Default)]
pub struct ReadFiles(Rc<RefCell<Option<Vec<Known>>>>);

#[derive(Debug)]
struct Known {
    file: FileArgument,
    fill: Option<Number>,
    given: Given,
}

impl ReadFiles {
    /// Keeps what is read from now on.
    pub fn keep(&self) {
        self.0.borrow_mut().get_or_insert_default();
    }

    /// As [`data::given`].
    pub fn given(
        &self,
        file: &FileArgument,
        dims: Option<Vec<usize>>,
        value_type: Option<ValueType>,
        fill: Option<Number>,
    ) -> Result<Given> {
        let known = self.0.borrow().as_ref().and_then(|all| {
            let known = all.iter().find(|known| {
                known.is_of(file, fill)
                    && dims.as_ref().is_none_or(|dims| dims == known.given.dims())
                    && value_type.is_none_or(|ty| ty == known.given.value_type())
            });
            known.map(|known| known.given.clone())
        });
        if let Some(given) = known {
            return Ok(given);
        }
        let given = data::given(file, dims, value_type, fill)?;
        if let Some(all) = self.0.borrow_mut().as_mut() {
            all.push(Known { file: file.clone(), fill, given: given.clone() });
        }
        Ok(given)
    }
}

impl Known {
    /// Whether it was read from there in the same way: what an archive holds depends on more than its place.
    fn is_of(&self, file: &FileArgument, fill: Option<Number>) -> bool {
        let by_more = matches!(&file.place, Place::File(path) if data::is_archive(path));
        self.file.place == file.place
            && (!by_more || self.file.layout == file.layout && self.fill == fill)
    }
}
