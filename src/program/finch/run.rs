//! Running a program by the dense interpreter: the oracle.

use indexmap::IndexMap;

use super::lower::{Tree, located};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::formula::Name;
use crate::program::{Dense, Elements, interpret_stored};

/// A tensor, and which of its elements are stored, if that was asked for.
pub type Held = (Dense, Option<Vec<bool>>);

impl Tree {
    /// Runs the program on the tensors that the host gives, by the host's names, and returns what it
    /// returns: of a tensor of tuples, one tensor for each part.
    ///
    /// # Errors
    /// Those of [`interpret_typed`](crate::program::interpret_typed).
    pub fn interpret(&self, tensors: &IndexMap<Name, Dense>) -> Result<IndexMap<Name, Vec<Dense>>> {
        let results = self.interpret_stored(tensors, &Elements::new(), &[])?;
        let values = |parts: Vec<(Dense, _)>| parts.into_iter().map(|(part, _)| part).collect();
        Ok(results.into_iter().map(|(name, parts)| (name, values(parts))).collect())
    }

    /// The same, and which elements are stored of the results that are `asked` for; `stored` are the elements of
    /// operands that do not store all of theirs.
    ///
    /// # Errors
    /// Those of [`interpret_typed`](crate::program::interpret_typed).
    pub fn interpret_stored(
        &self,
        tensors: &IndexMap<Name, Dense>,
        stored: &Elements,
        asked: &[Name],
    ) -> Result<IndexMap<Name, Vec<Held>>> {
        let mut given = IndexMap::new();
        let mut own_stored = Elements::new();
        for (own, host) in &self.given {
            let tensor = tensors.get(host).ok_or_else(|| {
                Diagnostic::new(Code::Shape, format!("tensor `{host}` is not given"))
                    .help(format!("pass it: `-t {host}=FILE`"))
            })?;
            given.insert(own.clone(), tensor.clone());
            own_stored.extend(stored.get(host).map(|elements| (own.clone(), elements.clone())));
        }
        let asked = self.returned.iter().filter(|r| asked.contains(&r.name));
        let asked: Vec<Name> = asked.flat_map(|r| r.parts.clone()).collect();
        let (program, extents) = (&self.program, &self.extents);
        let (results, elements) =
            interpret_stored(program, &given, &self.types, extents, &own_stored, &asked)
                .map_err(|e| located(e, &self.name, &self.program.text))?;
        let mut out = IndexMap::new();
        for returned in &self.returned {
            let part = |name: &Name| {
                let result = results.get(name).or_else(|| given.get(name));
                let result = result.cloned().ok_or_else(|| {
                    Diagnostic::defect(format!("the program has not computed `{name}`"))
                })?;
                Ok((result, elements.get(name).cloned()))
            };
            let parts: Result<Vec<_>> = returned.parts.iter().map(part).collect();
            out.insert(returned.name.clone(), parts?);
        }
        Ok(out)
    }
}
