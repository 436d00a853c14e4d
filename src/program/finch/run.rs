//! Running a program by the dense interpreter: the oracle.

use indexmap::IndexMap;

use super::lower::{Tree, located};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::program::interpret::{Dense, interpret_typed};

impl Tree {
    /// Runs the program on the tensors that the host gives, by the host's names, and returns what it
    /// returns: of a tensor of tuples, one tensor for each part.
    ///
    /// # Errors
    /// Those of [`interpret_typed`].
    pub fn interpret(&self, tensors: &IndexMap<Name, Dense>) -> Result<IndexMap<Name, Vec<Dense>>> {
        let mut given = IndexMap::new();
        for (own, host) in &self.given {
            let tensor = tensors.get(host).ok_or_else(|| {
                Diagnostic::new(Code::Shape, format!("tensor `{host}` is not given"))
                    .help(format!("pass it: `-t {host}=FILE`"))
            })?;
            given.insert(own.clone(), tensor.clone());
        }
        let results = interpret_typed(&self.program, &given, &self.types, &self.extents)
            .map_err(|e| located(e, &self.name, &self.program.text))?;
        let mut out = IndexMap::new();
        for returned in &self.returned {
            let part = |name: &Name| {
                let result = results.get(name).or_else(|| given.get(name));
                result.cloned().ok_or_else(|| {
                    Diagnostic::defect(format!("the program has not computed `{name}`"))
                })
            };
            let parts: Result<Vec<Dense>> = returned.parts.iter().map(part).collect();
            out.insert(returned.name.clone(), parts?);
        }
        Ok(out)
    }
}
